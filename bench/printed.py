"""Hold lists, questions and presets of ours against what the five papers print (printed.toml), word by word."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterbalance.engine.recipes.files import recipe, recipes
from counterbalance.engine.sql.queries import queries
from counterbalance.udfs.wordlists import wordlist

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Row = tuple[str, ...]
    """Where it stands, what it is, theirs and ours."""
    Words = Counter[tuple[str, ...]]

PRINTED: dict[str, Any] = tomllib.loads((Path(__file__).parent / "printed.toml").read_text(encoding="utf-8"))
NAMES = {
    "gensynth": "GenSynth",
    "hirota": "Hirota et al.",
    "coco_counterfactuals": "COCO-Counterfactuals",
    "girrbach": "Girrbach et al.",
    "gelda": "GELDA",
}
CRIMES = {
    "General Crime Terms": "general",
    "Crimes Against Persons": "persons",
    "Crimes Against Property": "property",
    "Financial & White-Collar Crimes": "financial",
    "Cybercrimes": "cyber",
    "Legal & Procedural Terms": "legal",
}
"""Classes of crime as the paper has them, and as crime_words has them."""
SHORTER = {"Middle Eastern / North African": "Middle Eastern"}
_ELSEWHERE = re.compile(r"\.(?:py|ipynb|sh)\b")


def table(paper: str, name: str) -> list[list[str]]:
    """Return the cells of a table, its head first."""
    lines = PRINTED[paper][name].splitlines()
    split = [line.strip("|").split("|") if line.startswith("|") else line.split("\t") for line in lines]
    return [[cell.strip() for cell in cells] for cells in split if not re.fullmatch(r"[-\s]*", "".join(cells))]


def _rows(name: str, *columns: str) -> Words:
    return Counter(tuple(row[column] for column in columns) for row in wordlist(name).to_pylist())


def _gendered() -> Words:
    pairs = table("gensynth", "table_3")[1:]
    return Counter(one for m, f, neutral in pairs for one in ((m, "male", neutral), (f, "female", neutral)))


def _instructions() -> Words:
    forms = table("gensynth", "table_6")[2:]
    words = [
        (form, form.replace("{ }", word), label)
        for form, *both in forms
        for word, label in zip(both, ("female", "male"), strict=True)
    ]
    return Counter((term, label) for _, term, label in words)


def _objects(name: str) -> Words:
    _, _, inside = PRINTED["hirota"][name].partition(": {")
    return Counter((term,) for term in inside.rstrip("}.").split(", "))


def _kept(of: str) -> Words:
    return Counter(
        {(term,): n for (term, source), n in _rows("hirota_objects", "term", "class").items() if source == of}
    )


def _crimes() -> Words:
    return Counter(
        (word, CRIMES[kind]) for kind, words in table("girrbach", "table_2")[1:] for word in words.split(", ")
    )


def _keywords(name: str) -> Words:
    rows = table("girrbach", name)[1:]
    return Counter((term, SHORTER.get(row[0], row[0])) for row in rows for term in re.split("[;,] ", row[-1]))


def _retrieved(kind: str) -> Words:
    rows = _rows("race_keywords", "term", "class", "kind")
    return Counter({row[:2]: n for row, n in rows.items() if row[2] == kind})


def _options(name: str) -> Words:
    return Counter(
        (line.partition(". ")[2], str(place)) for place, line in enumerate(PRINTED["girrbach"][name].splitlines(), 1)
    )


def _asked(attribute: str) -> Words:
    rows = _rows("label_options", "term", "position", "class")
    return Counter({row[:2]: n for row, n in rows.items() if row[2] == attribute})


def _forms() -> Words:
    return Counter((verb, form) for verb, form in table("gelda", "table_s1")[1:])


def _templates() -> Words:
    short = {"{attribute}": "attr", "{noun}": "noun", "{category}": "category"}
    rows = _rows("gelda_templates", "class", "term")
    return Counter({(verb, re.sub(r"\{\w+\}", lambda at: short[at[0]], form)): n for (verb, form), n in rows.items()})


def _attributes(name: str) -> Words:
    found: Words = Counter()
    dataset = caption = ""
    for cells in table("gelda", name)[1:]:
        filled = [cell for cell in cells if cell]  # one line of Table S3 has its empty cell at the end
        if len(filled) > 3:
            dataset, caption = re.fullmatch(r'(.+) "(.+)"', filled[0]).groups()
        category, template, listed = filled[-3:]
        category = re.sub("</?u>", "", category).lower()
        for term in re.findall('"([^"]+)"', listed):
            found[term, category, dataset, caption, template.strip("-")] += 1
    return found


def _proposed(datasets: set[str]) -> Words:
    rows = _rows("gelda_attributes", "term", "class", "dataset", "caption", "template")
    return Counter({tuple(cell or "" for cell in row): n for row, n in rows.items() if row[2] in datasets})


LISTS: dict[tuple[str, str], tuple[str, Callable[[], Words], Callable[[], Words]]] = {
    ("gensynth", "Table 3"): (
        "gendered words, with class and neutral word",
        _gendered,
        lambda: _rows("gender_gensynth_paper", "term", "class", "neutral"),
    ),
    ("gensynth", "Table 6"): (
        "instructions, with class",
        _instructions,
        lambda: _rows("edit_instructions", "term", "class"),
    ),
    ("hirota", "B.1, COCO"): ("objects", lambda: _objects("coco"), lambda: _kept("COCO")),
    ("hirota", "B.1, Open Images"): ("objects", lambda: _objects("open_images"), lambda: _kept("OpenImages")),
    ("girrbach", "Table 2"): (
        "words of crime, with class (the text says 63 words)",
        _crimes,
        lambda: _rows("crime_words", "term", "class"),
    ),
    ("girrbach", "Table 8"): (
        "countries, with class (the text leaves Israel out)",
        lambda: _keywords("table_8"),
        lambda: _retrieved("country"),
    ),
    ("girrbach", "Table 9"): (
        "expressions, with class",
        lambda: _keywords("table_9"),
        lambda: _retrieved("expression"),
    ),
    ("girrbach", "Tables 8 and 9"): (
        "keywords of race and ethnicity",
        lambda: _keywords("table_8") + _keywords("table_9"),
        lambda: _rows("race_keywords", "term", "class"),
    ),
    ("girrbach", "D"): (
        "options of the question of gender, in order",
        lambda: _options("options_of_gender"),
        lambda: _asked("perceived_gender"),
    ),
    ("girrbach", "E.1"): (
        "options of the question of race, in order",
        lambda: _options("options_of_race"),
        lambda: _asked("perceived_race_ethnicity"),
    ),
    ("gelda", "Table S1"): ("templates, with verb", _forms, _templates),
    ("gelda", "Table S2"): (
        "attributes, with category, template and dataset",
        lambda: _attributes("table_s2"),
        lambda: _proposed({"DeepFashion", "CUB-200", "Stanford Cars"}),
    ),
    ("gelda", "Table S3"): (
        "attributes, with category, template and dataset",
        lambda: _attributes("table_s3"),
        lambda: _proposed({"SD Living Rooms", "SG2 Faces", "SG2 Dogs"}),
    ),
    ("gelda", "Tables S2 and S3"): (
        "attributes",
        lambda: _attributes("table_s2") + _attributes("table_s3"),
        lambda: _rows("gelda_attributes", "term"),
    ),
}
"""Lists: the contents of each, what the paper prints of it, and what ours has, by paper and place."""


def held(theirs: Words, ours: Words) -> str:
    """Tell how many of theirs are ours, and what differs."""
    if not next(iter(ours), ("",))[1:]:  # compared by the word alone
        theirs = Counter(row[0] for row in theirs.elements())
        ours = Counter(row[0] for row in ours.elements())
    shared = (theirs & ours).total()
    differ = {"not": theirs - ours, "besides": ours - theirs}
    named = [f"{word}: {', '.join(_named(one) for one in sorted(rows))}" for word, rows in differ.items() if rows]
    return "; ".join([f"{shared:,} of them", *(named or ["none besides"])])


def _named(row: str | tuple[str, ...]) -> str:
    return f"*{row}*" if isinstance(row, str) else f"*{' / '.join(row)}*"


def lists() -> Iterator[Row]:
    """Yield lists, word by word."""
    for (paper, where), (what, theirs, ours) in LISTS.items():
        printed = theirs()
        yield f"{NAMES[paper]}, {where}", what, f"{printed.total():,}", held(printed, ours())


def digest(text: str) -> tuple[int, str]:
    """Return how many words a text has, and its SHA-256, whatever space and marks of lists are between them."""
    words = re.sub(r"\s+\.", ".", " ".join(word for word in text.split() if word != "-")).split()
    return len(words), hashlib.sha256(" ".join(words).encode()).hexdigest()


def _preset(name: str, parameter: str) -> str:
    given = {p.name: p for p in recipe(name).parameters}[parameter]
    (value,) = (preset.value for preset in given.presets if preset.name == "paper")
    return value[1:-1].replace("''", "'")


def asked() -> dict[str, list[str]]:
    """Return the questions of ours that are the paper's, by theirs."""
    questions = {row["class"]: row["term"] for row in wordlist("label_prompts").to_pylist()}
    return {
        "question_of_gender": [questions["perceived_gender"]],
        "question_of_race": [questions["perceived_race_ethnicity"]],
        "question_of_captions": [_preset(name, "describe") for name in ("laion400m", "judge_captions")],
        "question_of_judges": [_preset("judge_captions", "compare")],
    }


def questions() -> Iterator[Row]:
    """Yield questions to models, compared by the digest of their words."""
    places = {"gender": "D", "race": "E.1", "captions": "F", "judges": "F"}
    for name, ours in asked().items():
        theirs, kind = PRINTED["girrbach"][name], name.removeprefix("question_of_")
        same = {digest(text) for text in ours} == {(theirs["words"], theirs["sha256"])}
        here = f"{digest(ours[0])[0]} words, {'the same' if same else 'others'}"
        yield f"Girrbach et al., {places[kind]}", f"question of {kind}", f"{theirs['words']} words", here


def presets() -> dict[str, str]:
    """Return what presets named after papers set, as SQL; not what they take of released code."""
    found = {}
    for every in (queries(), recipes()):
        for name in every:
            for parameter in every[name].parameters:
                for preset in parameter.presets:
                    if preset.name.startswith("paper") and not _ELSEWHERE.search(preset.source):
                        suffix = "" if preset.name == "paper" else f":{preset.name}"
                        found[f"{name}.{parameter.name}{suffix}"] = preset.value
    return found


def _parts(name: str) -> Counter[str]:
    return Counter(re.sub(r"\bv(?=\d)", "", part) for part in re.findall(r"\w+", name.casefold().replace(".", " ")))


def agree(printed: float | str | list[float], ours: str) -> bool:
    """Tell whether SQL has the value that is printed; a model's name there has every part of the printed one."""
    if isinstance(printed, str):
        return _parts(printed) <= _parts(ours)
    numbers = [float(number) for number in re.findall(r"[\d.]+(?:e-?\d+)?", ours)]
    return numbers == [float(number) for number in (printed if isinstance(printed, list) else [printed])]


def settings() -> Iterator[Row]:
    """Yield settings that papers print as numbers or names, and those of our presets."""
    ours = presets()
    for one in PRINTED["setting"]:
        wrong = [f"{ours[name]} ({name})" for name in one["of"] if not agree(one["is"], ours[name])]
        shown = one["is"] if isinstance(one["is"], list) else [one["is"]]
        printed = ", ".join(part if isinstance(part, str) else f"{part:,}" for part in shown)
        yield f"{NAMES[one['paper']]}, {one['where']}", ", ".join(one["of"]), printed, ", ".join(wrong) or "the same"
