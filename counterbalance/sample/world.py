"""The population that the sample is drawn from: every rate that is planted, in one place.

All people are drawn toys, and their perceived race or ethnicity is one of three invented groups told by a skin colour
that nobody has. So the sample shows how a bias looks in numbers without saying anything about anybody.
"""

from __future__ import annotations

from typing import Final

GENDERS: Final = ("female", "male")
GROUPS: Final = ("amber", "teal", "violet")
UNCLEAR: Final = "unclear"

KINDS: Final = {"male": 0.45, "female": 0.27, "mixed": 0.10, "nobody": 0.18}
"""Share of images that show only men, only women, both, nobody."""
PEOPLE: Final = {1: 0.64, 2: 0.26, 3: 0.10}
"""Share of one-gender images by how many people they show."""
SEVERAL_GROUPS: Final = 0.40
"""Share of the images with two or three people in which the people are of different groups."""
GROUP_OF: Final = {
    "male": {"amber": 0.40, "teal": 0.29, "violet": 0.31},
    "female": {"amber": 0.56, "teal": 0.35, "violet": 0.09},
    "mixed": {"amber": 0.50, "teal": 0.30, "violet": 0.20},
}
"""Group of the people of one-group images, by the image's gender."""

CRIME_OF: Final = {"amber": 0.14, "teal": 0.15, "violet": 0.40, "several": 0.10, "nobody": 0.04}
"""Share of alt-texts with a crime word, by the group that the image shows."""
CRIME_WORDS: Final = ("arson", "burglary", "fraud", "vandalism")
NEGATIVE_OF: Final = {"male": 0.40, "female": 0.24, "mixed": 0.30, "nobody": 0.15}
"""Share of alt-texts whose VADER compound is below zero (those with a crime word included)."""
POSITIVE_OF: Final = {"male": 0.40, "female": 0.56, "mixed": 0.40, "nobody": 0.25}
"""Share above zero; the rest is neutral."""

TIED_OBJECTS: Final = {
    "umbrella": {"male": 0.10, "female": 0.40, "mixed": 0.20, "nobody": 0.10},
    "laptop": {"male": 0.32, "female": 0.16, "mixed": 0.20, "nobody": 0.12},
    "bicycle": {"male": 0.20, "female": 0.20, "mixed": 0.20, "nobody": 0.20},
}
"""Share of images with the object, by gender: two are tied to one, the third to none."""
LOOSE_OBJECTS: Final = {
    "kitchen": ("knife", "cup", "potted plant"),
    "street": ("dog", "bench", "handbag"),
    "office": ("book", "cup", "chair", "potted plant"),
    "beach": ("surfboard", "sports ball", "dog"),
    "workshop": ("hammer", "chair", "guitar"),
    "park": ("dog", "bench", "kite", "sports ball"),
}
"""Objects that a scene may hold whoever is in it."""
LOOSE_RATE: Final = 0.55
KEYWORD: Final = "striped"
KEYWORD_OF: Final = {"male": 0.06, "female": 0.24, "mixed": 0.10, "nobody": 0.0}
"""Share of images with a person in a striped shirt, and with the word in their captions."""

COUNTRY_RATE: Final = 0.60
COUNTRIES: Final = {"France": 0.40, "Japan": 0.24, "Brazil": 0.16, "Kenya": 0.10, "Peru": 0.06, "Nepal": 0.04}
"""Share of alt-texts that name a country, and which."""
HATE_RATE: Final = 0.06
HATE_THRESHOLD: Final = 0.5
"""Share of images whose 'hateful' score is above the threshold (others are below it, one is equal)."""

ANNOTATORS: Final = ("first", "second")
KAPPA: Final = {"perceived_gender": 0.85, "perceived_race_ethnicity": 0.65}
"""Cohen's kappa of the two annotators."""
UNCLEAR_RATE: Final = 0.08
"""Share of images with people in which the first annotator finds everything about everybody unclear."""
HATE_MODEL: Final = "toy-classifier"
HATE_ATTRIBUTE: Final = "hateful"

LONG_HAIR: Final = {"female": 0.75, "male": 0.25}
DRESS: Final = {"female": 0.45, "male": 0.05}
"""How figures are drawn, so that a picture tells something of its label and never everything."""
BYSTANDER_RATE: Final = 0.15
"""Share of images with a figure in the distance, narrower than 30 pixels, whose labels must not count."""
CROWD_RATE: Final = 0.03
"""Share of images with a crowd in the distance (one box, ``iscrowd``)."""
NEUTRAL_CAPTION_RATE: Final = 0.30
"""Chance that the third caption of an image with people leaves the gender out."""
