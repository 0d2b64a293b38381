"""Tell what was planted: for every audit a number of the population, and the same number counted in the sample itself.

Both are worked out here from the plan, in plain Python and without the engine, so that they can judge it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.sample import population, world
from counterbalance.sample.counts import Counts, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.sample.annotate import Label
    from counterbalance.sample.plan import Scene
    from counterbalance.sample.stage import Item

FORMAT: Final = 1
QUOTA: Final = "exact quota"
CHANCE: Final = "drawn by chance"
"""How a quantity was made: a fixed number of images, or a coin for each."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A planted number and the audit that recovers it.

    Args:
        name: Short and unique.
        says: What it is, in a line.
        population: Its value in the population that the sample is drawn from.
        sample: Its value in this sample, counted from the plan; ``None`` when there is nothing to count.
        made: ``QUOTA`` or ``CHANCE``.
        audit: The audit that recovers it.
        parameters: Its parameters.
        where: Which of its rows: column to value.
        column: The column that holds the value.
        low: The column with the lower end of its interval.
        high: The column with the upper end.
    """

    name: str
    says: str
    population: float
    sample: float | None
    made: str
    audit: str
    column: str
    where: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    low: str = "low"
    high: str = "high"


@dataclass(frozen=True, slots=True)
class Planted:
    """Describe all that was planted in a sample."""

    images: int
    seed: int
    quantities: tuple[Quantity, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``planted.json`` holds, numbers with ten digits."""
        return {
            "format": FORMAT,
            "images": self.images,
            "seed": self.seed,
            "quantities": [
                {k: round(v, 10) if isinstance(v, float) else v for k, v in asdict(q).items()} for q in self.quantities
            ],
        }


def planted(scenes: list[Scene], staged: list[list[Item]], labels: Sequence[Label], seed: int) -> Planted:
    """Return what is in this sample."""
    counts = Counts(scenes, staged, labels)
    found = [*_who(counts), *_texts(counts), *_things(counts), *_others(counts)]
    return Planted(len(scenes), seed, tuple(found))


_FIRST: Final = "'first'"
_GROUPS: Final = f"image_labels('perceived_race_ethnicity', annotator := {_FIRST})"
_PERSON_GENDERS: Final = f"person_units('perceived_gender', annotator := {_FIRST})"
_PERSON_GROUPS: Final = f"person_units('perceived_race_ethnicity', annotator := {_FIRST})"
"""Group relations: what the first annotator saw, by image and by figure."""
_RANDOM: Final = {"groups": "caption_gender", "ranker": "random", "k": 5, "seed": 2}
"""Every caption as a query; the ranker has a seed, so this is one draw."""


def _who(counts: Counts) -> list[Quantity]:
    """Return who is shown, and together with what."""
    female = sum(v == "female" for v in counts.gender.values())
    violet = sum(v == "violet" for v in counts.persons["perceived_race_ethnicity"].values())
    return [
        Quantity(
            "female images",
            "share of images whose captions name women only",
            world.KINDS["female"],
            ratio(female, len(counts.scenes)),
            QUOTA,
            "demographics",
            "share",
            {"label": "female"},
            {"groups": "caption_gender"},
        ),
        Quantity(
            "violet figures",
            "share of figures in which the first annotator sees violet",
            population.person_share("violet") * (1 - world.UNCLEAR_RATE),
            ratio(violet, counts.figures),
            CHANCE,
            "demographics",
            "share",
            {"label": "violet"},
            {"groups": _PERSON_GROUPS},
        ),
        Quantity(
            "female and violet",
            "how often the first annotator sees both in one figure, over what independence would give",
            population.person_ratio("female", "violet"),
            counts.together("female", "violet"),
            CHANCE,
            "intersections",
            "ratio",
            {"label": "female", "other": "violet"},
            {"groups": _PERSON_GENDERS, "others": _PERSON_GROUPS},
            "ratio_low",
            "ratio_high",
        ),
    ]


def _texts(counts: Counts) -> list[Quantity]:
    """Return what the texts say of whom."""
    crime = {"level": "pooled"}
    tones = [
        Quantity(
            f"negative texts, {gender}",
            f"share of negative alt-texts among those that are not neutral, images of {gender} figures",
            population.negative_ratio(gender),
            counts.negative_ratio(gender),
            QUOTA,
            "sentiment",
            "negative_ratio",
            {"label": gender},
            {"groups": "caption_gender"},
            "negative_low",
            "negative_high",
        )
        for gender in world.GENDERS
    ]
    deltas = [
        Quantity(
            f"crime words, {group}",
            f"over-representation of {group} figures among images whose alt-text has a crime word",
            population.crime_delta(group),
            counts.delta(counts.group, group, lambda s: s.crime is not None),
            CHANCE,
            "crime_words",
            "delta",
            {**crime, "label": group},
            {"groups": _GROUPS},
            "delta_low",
            "delta_high",
        )
        for group in world.GROUPS
    ]
    places = [
        Quantity(
            f"{country}",
            f"share of the alt-texts that name a country which name {country}",
            share,
            counts.country_share(country),
            QUOTA,
            "geography",
            "share",
            {"country": country, "label": "all"},
            {"groups": "caption_gender"},
            "share_low",
            "share_high",
        )
        for country, share in list(world.COUNTRIES.items())[:3]
    ]
    return [*deltas, *tones, *places]


def _things(counts: Counts) -> list[Quantity]:
    """Return what goes with a gender."""
    tied = [
        Quantity(
            f"{category}, {gender}",
            f"PMI of a {category}'s box and captions that name {gender} figures",
            population.pmi(world.TIED_OBJECTS[category], gender),
            counts.pmi(gender, lambda s, c=category: c in s.objects),  # type: ignore[misc]
            QUOTA,
            "cooccurrence",
            "pmi",
            {"label": gender, "concept": category},
            {"groups": "caption_gender", "concepts": "category_concepts"},
        )
        for category, gender in (("umbrella", "female"), ("laptop", "male"), ("bicycle", "female"))
    ]
    umbrellas, with_umbrella = counts.among(
        (s.number for s in counts.scenes if "umbrella" in s.objects and s.kind in world.GENDERS),
        lambda s: s.kind == "female",
    )
    return [
        *tied,
        Quantity(
            "umbrellas, female",
            "share of female among images with an umbrella whose captions name one gender",
            population.female_share(world.TIED_OBJECTS["umbrella"]),
            ratio(umbrellas, with_umbrella),
            QUOTA,
            "concept_ratio",
            "value",
            {"concept": "umbrella"},
            {"groups": "caption_gender", "concepts": "category_concepts", "min_count": 20},
        ),
        Quantity(
            world.KEYWORD,
            f"log-odds of the word '{world.KEYWORD}' in captions that name women, against those that name men",
            population.log_odds(world.KEYWORD_OF, "female", "male"),
            counts.log_odds("female", "male", lambda s: s.keyword),
            QUOTA,
            "keyword_profile",
            "log_odds",
            {"label": "female", "keyword": world.KEYWORD},
            {"groups": "caption_gender", "without": "lists.gender_words"},
        ),
        Quantity(
            "weight, female",
            "weight that makes images of women as frequent as images of men",
            0.5 / population.gender_share("female"),
            ratio(len(counts.gender), 2 * sum(v == "female" for v in counts.gender.values())),
            QUOTA,
            "balance",
            "weight",
            {"label": "female"},
            {"groups": "caption_gender"},
            "",
            "",
        ),
    ]


def _others(counts: Counts) -> list[Quantity]:
    """Return what models and annotators say."""
    hits, everyone = counts.among((s.number for s in counts.scenes), lambda s: s.hate > world.HATE_THRESHOLD)
    return [
        Quantity(
            "hateful",
            "images whose 'hateful' score is above one half, in percent; one score is exactly one half and does not count",
            100 * world.HATE_RATE,
            ratio(100 * hits, everyone),
            QUOTA,
            "hate_content_rate",
            "percent",
            {"label": "all", "tau": world.HATE_THRESHOLD},
            {"attribute": world.HATE_ATTRIBUTE},
        ),
        *(
            Quantity(
                f"kappa, {attribute.removeprefix('perceived_').replace('_', ' or ')}",
                f"Cohen's kappa of the two annotators on {attribute}",
                kappa,
                counts.kappa(attribute),
                CHANCE,
                "agreement",
                "value",
                {"metric": "cohen_kappa"},
                {"attribute": attribute, "min_count": 1},
            )
            for attribute, kappa in world.KAPPA.items()
        ),
        Quantity(
            "bias of random search",
            "(male - female) / (male + female) among the first 5 captions of a random ranking, mean over queries",
            population.random_bias(5),
            None,
            CHANCE,
            "retrieval_bias",
            "value",
            {"metric": "bias", "k": 5},
            _RANDOM,
        ),
    ]
