"""Gendered words of man-made lakes, king crabs, mother giraffes and a dog's ball name nobody; those around them do."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.udfs.gender import gender_label, neutralize, swap_gender
from counterbalance.udfs.persons import named

NOBODY = [
    "a man-made lake", "the Isle of Man", "a gingerbread man", "Father Christmas", "a mother giraffe", "king crab legs",
    "a chinchilla with his feet up", "a queen-size bed", "the ladies' toilet", "men\u2019s shoes", "a female giraffe", "A male and female lion",
    "mother polar bear and her cub", "a dog with his ball", "an elephant holding his trunk with himself", "Mother's Day",
    "women 's fashions", "a cowboy hat", "sorry guys", "a horse that grooms itself", "dolphins looking for a female",
    "A baby cow gets milk from its mother", "An adult black bear lets his tongue hang out", "men's wear", "a women's watch",
    "don\u2019t miss the bus", "a swing and a miss", "MS Word", "a bachelor's degree", "Madame Tussauds", "the Flying Scotsman",
    "gentlemen\u2019s club", "the gentleman's club", "king of spades", "Queen of Hearts", "a she-wolf", "two he-goats", "drag queens",
    "a lady beetle", "man caves", "a girl scout cookie", "king salmon", "an emperor penguin", "a monk seal", "king beds", "Brooklyn and Queens",
    "a grandfather clock", "Granny Smith apples", "a Craftsman house", "Fisherman's Wharf", "guy wires", "a 5 gal bucket", "the mother of all battles",
    "bridesmaid dresses", "princess cut diamond", "cowgirl boots", "his and hers towels", "male and female connectors", "female flowers",
    "lady\u2019s slipper orchid", "a widow's peak", "old wives' tales", "man in the moon", "oh boy", "a brother sewing machine",
    "a mother lioness", "a ewe and her kid", "a female kingfisher", "a labrador with his ball", "male and female mosquitoes",
]  # fmt: skip
SOMEBODY = {
    "A man by a man-made lake with his dog": ["man", "his"],
    "a women's tennis match": ["women"],
    "Her cat sits on the laptop": ["Her"],
    "A person holding a bear as she writes": ["she"],
    "a girl with her horse": ["girl", "her"],
    "a father bear with his cub and a boy": ["boy"],
    "a dog next to a female rider": ["female"],
    "two guys, a mom and dad, a bride and a policewoman": ["guys", "mom", "dad", "bride", "policewoman"],
    "He did it himself": ["He", "himself"],
    "Two men wear hats": ["men"],
    "women watch as the men dress": ["women", "men"],
    "A baby with her dog": ["her"],
    "Several male horse riders by a stall": ["male"],
    "Ms. Lee, Miss Universe and Mrs. Day": ["Miss", "Mrs"],
    "I miss her": ["her"],
    "the landlady, a masseuse and a seamstress": ["landlady", "masseuse", "seamstress"],
    "a gunman, two stuntwomen, an Englishman and a busboy": ["gunman", "stuntwomen", "Englishman", "busboy"],
    "a baroness, an abbess, a governess": ["baroness", "abbess", "governess"],
    "the maid of honor and a bachelor": ["maid", "bachelor"],
    "The drag queen lifts her hat to a beauty queen": ["her", "queen"],
    "A gentleman, the king of the party, with a boy band and a girl group": ["gentleman", "king", "boy", "girl"],
    "The lady of the house and her club of men": ["lady", "her", "men"],
    "a female steers the boat": ["female"],
    "A guy ropes a steer as a man bags leaves": ["guy", "man"],
    "The bride and groom each hold a candle": ["bride", "groom"],
    "a first baseman, a statesman, a goddess, a mermaid": [],
}


@pytest.mark.parametrize("text", NOBODY)
def test_they_name_nobody(text):
    texts = pa.array([text])
    assert named(text) == []
    assert gender_label(texts).to_pylist() == [None]
    for mode in ("replace", "delete", "mask"):
        assert neutralize(texts, mode).to_pylist() == [text]
    assert swap_gender(texts, "male").to_pylist() == swap_gender(texts, "female").to_pylist() == [text]


@pytest.mark.parametrize("text", SOMEBODY)
def test_others_beside_them_do(text):
    assert [match[0] for match in named(text)] == SOMEBODY[text]


@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ("a male nurse", "a nurse"),
        ("A male athlete and a female surfer", "An athlete and a surfer"),
        ("A female holds a bat", "A person holds a bat"),
        ("A female riding a horse", "A person riding a horse"),
        ("a male and a female", "a person and a person"),
        ("Female tennis player", "Tennis player"),
        ("with his/her bag", "with their bag"),
        ("his or her dog, he/she", "their dog, they"),
        ("Men and women", "People"),
        ("Businessmen and businesswomen", "Businesspeople"),
        ("godsons or goddaughters", "godchildren"),
        ("They saw her dancing", "They saw them dancing"),
        ("Help her breathe", "Help them breathe"),
        ("Watching her dog", "Watching their dog"),
    ],
)
def test_neutral_texts_are_english(text, neutral):
    assert neutralize(pa.array([text])).to_pylist() == [neutral]
