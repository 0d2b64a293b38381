"""bench/printed.toml has what the papers print, and docs/reproduction.md what bench/reproduction.py makes of it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
PRINTED = tomllib.loads((BENCH / "printed.toml").read_text(encoding="utf-8"))
TEXTS = {
    "gensynth": "gensynth-2023.txt",
    "hirota": "hirota-resampled-2024.txt",
    "coco_counterfactuals": "coco-counterfactuals-2023.txt",
    "girrbach": "laion400m-persons-2025.txt",
    "gelda": "gelda-2024.txt",
}
VALUES = [(paper, name, value) for paper in TEXTS for name, value in PRINTED[paper].items()]
BLOCKS = [(paper, name) for paper, name, value in VALUES if isinstance(value, str) and name != "human"]
NUMBERS = [(paper, name) for paper, name, value in VALUES if isinstance(value, list)]
QUESTIONS = [name for _, name, value in VALUES if isinstance(value, dict)]


@pytest.fixture(scope="module")
def texts(data_dir):
    folder = data_dir.parent / "papers"
    if not folder.is_dir():
        pytest.skip(f"no texts of the papers at {folder}")
    return {paper: (folder / file).read_text(encoding="utf-8") for paper, file in TEXTS.items()}


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import printed
    import printed_sums
    import reproduction

    return {"printed": printed, "sums": printed_sums, "reproduction": reproduction}


def plain(text):
    """Words with one space between them; the text parts a hyphen from what it ties now and then."""
    return " ".join(text.split()).replace("- $K", "-$K")


@pytest.mark.parametrize(("paper", "name"), BLOCKS)
def test_a_table_is_whole_lines_of_the_text(texts, paper, name):
    """From an empty line to an empty line, so that no row is lost; options stand between a question and how to answer."""
    begins, ends = (r"\n```\n\n|visible'\.\n", r"\n ?Answer with") if name.startswith("options") else (r"\n\n", r"\n\n")
    assert len(re.findall(f"(?:{begins}){re.escape(PRINTED[paper][name])}{ends}", texts[paper])) == 1


@pytest.mark.parametrize(("paper", "name"), NUMBERS)
def test_typed_numbers_stand_around_their_caption(texts, paper, name):
    number = re.search(r"\d+", name)[0]
    lines = texts[paper].splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith(f"Table {number}:"))
    near = " ".join(lines[at - 16 : at + 4]).replace("{", " ").replace("}", " ")
    found = Counter(
        float(one) for one in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\d)", re.sub(r"_ *[\d.]+", "", near))
    )
    wanted = Counter(float(one) for row in PRINTED[paper][name] for one in row if not isinstance(one, str))
    assert wanted - found == Counter()


def test_the_words_of_table_10_stand_in_it(texts):
    arrows = re.sub(r"[$|]", "", texts["coco_counterfactuals"]).replace(r"\rightarrow", "→")
    for before, after, count in PRINTED["coco_counterfactuals"]["table_10"]:
        assert re.search(rf"\b{before}\s*→\s*{after}\s+{count}\b", arrows), before


def test_words_for_people(texts):
    assert f"which consists of {PRINTED['coco_counterfactuals']['human']}." in texts["coco_counterfactuals"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_held_by_its_digest(texts, bench, name):
    given = PRINTED["girrbach"][name]
    found = re.findall(re.escape(given["begins"]) + ".*?" + re.escape(given["ends"]), texts["girrbach"], re.DOTALL)
    assert [bench["printed"].digest(one) for one in found] == [(given["words"], given["sha256"])]


@pytest.mark.parametrize("one", PRINTED["setting"], ids=lambda one: f"{one['of'][0]} {one['says'][:20]}")
def test_a_setting_is_said_so(texts, bench, one):
    assert one["says"] in plain(texts[one["paper"]])
    parts = one["is"] if isinstance(one["is"], list) else [one["is"]]
    if all(isinstance(part, str) for part in parts):
        return
    said = re.sub(
        r"(\d+).10\^\{-(\d)\}|10\^\{-(\d)\}", lambda at: f"{at[1] or 1}e-{at[2] or at[3]}", one["says"].replace(",", "")
    )
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", said)]
    words = {"five": 5, "two": 2, "excluding": 0, "80%": 0.8, "95%": 0.95}
    numbers += [number for word, number in words.items() if word in said]
    assert {float(part) for part in parts} <= set(numbers)


def test_every_setting_of_a_paper_is_held_or_said_in_words(bench):
    """A preset that is new has its printed value in printed.toml, or stands among those that are words."""
    ours = bench["printed"].presets()
    printed = [name for one in PRINTED["setting"] for name in one["of"]]
    assert sorted(printed + PRINTED["in_words"]["of"]) == sorted(ours)
    wrong = {
        name for one in PRINTED["setting"] for name in one["of"] if not bench["printed"].agree(one["is"], ours[name])
    }
    assert wrong == set()


def test_every_list_is_the_printed_one(bench):
    for (paper, where), (_, theirs, ours) in bench["printed"].LISTS.items():
        told = bench["printed"].held(theirs(), ours())
        assert told == f"{theirs().total():,} of them; none besides", (paper, where)


def test_every_question_is_the_printed_one(bench):
    for name, ours in bench["printed"].asked().items():
        given = PRINTED["girrbach"][name]
        assert {bench["printed"].digest(text) for text in ours} == {(given["words"], given["sha256"])}


def test_what_differs_is_named(bench):
    theirs, ours = Counter([("man", "male"), ("men", "male")]), Counter([("man", "male"), ("guy", "male")])
    told = bench["printed"].held(theirs, ours)
    assert told == "1 of them; not: *men / male*; besides: *guy / male*"
    assert bench["printed"].held(theirs, Counter([("man",), ("men",)])) == "2 of them; none besides"


@pytest.mark.parametrize(
    ("printed", "ours", "same"),
    [
        ("InternVL3-2B", "'OpenGVLab/InternVL3-2B-hf'", True),
        ("LLaVA-1.6-7B", "'llava-hf/llava-v1.6-vicuna-7b-hf'", True),
        ("A picture of a {category}", "'A picture of {category}'", False),
        ([9.5, 15], "[9.5, 15]", True),
        ([9.5, 15], "[9.5]", False),
        (5e-6, "5e-06", True),
        (0.08, "0.8", False),
    ],
)
def test_when_a_setting_is_the_same(bench, printed, ours, same):
    assert bench["printed"].agree(printed, ours) is same


def lines(rows):
    return [f"| {' | '.join(row)} |" for row in rows]


def test_the_page_has_what_is_held_and_added_up(bench, project_root):
    page = (project_root / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    tables = bench["printed"]
    sums = bench["sums"].sums(17_410, lambda t, df: pytest.importorskip("scipy.stats").t.sf(t, df) * 2)
    for rows in (tables.lists(), tables.questions(), tables.settings(), sums):
        made = lines(rows)
        at = page.index(made[0])
        assert page[at : at + len(made)] == made
        assert page[at + len(made)] == ""


def test_the_page_has_what_is_counted_in_pairs(bench, project_root, data_dir):
    page = (project_root / "docs" / "reproduction.md").read_text(encoding="utf-8")
    pairs = data_dir / "coco-counterfactuals" / "captions.jsonl"
    rows = bench["reproduction"].counterfactuals(pairs, data_dir / "coco" / "captions_val2017.json")
    assert "\n".join(lines(rows)) + "\n" in page


def numbers_of(text):
    return {float(one) for one in re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text))}


@pytest.mark.parametrize("heading", ["Numbers from captions", "Sums of what they print"])
def test_every_number_in_the_column_of_the_paper_stands_in_it(texts, bench, project_root, heading):
    page = (project_root / "docs" / "reproduction.md").read_text(encoding="utf-8")
    papers = {name: paper for paper, name in bench["printed"].NAMES.items()}
    rows = [
        line.strip("| ").split(" | ")
        for line in page.split(f"## {heading}")[1].split("\n## ")[0].splitlines()
        if line[:1] == "|"
    ]
    known = {paper: numbers_of(text) for paper, text in texts.items()}
    assert len(rows) > 30
    for where, what, theirs, _ in rows[2:]:
        spoken = theirs.replace("more than 2", "").replace("twice", "")
        assert numbers_of(spoken) <= known[papers[where.split(",")[0]]], (where, what)
