"""Add up again what the five papers print: sums, means, shares and scores whose terms are printed, too (printed.toml)."""

from __future__ import annotations

import math
import re
from collections import Counter
from statistics import correlation, fmean
from typing import TYPE_CHECKING

from printed import NAMES, PRINTED, presets, table

from counterbalance.udfs.wordlists import wordlist

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from printed import Row

    Student = Callable[[float, int], float]

CF = PRINTED["coco_counterfactuals"]
GIRRBACH = PRINTED["girrbach"]


def _number(text: str) -> float:
    return float(text.replace(",", "").rstrip("%"))


def _line(values: Iterable[float], digits: int) -> str:
    return ", ".join(f"{round(value, 9):.{digits}f}" for value in values)


def _set(name: str) -> list[str]:
    """Return the values of a preset that is a list, or its one."""
    return re.findall(r"[\w.]+", presets()[name])


def gensynth() -> Iterator[Row]:
    """Yield sums of GenSynth."""
    instructions = wordlist("edit_instructions").num_rows
    yield "section 5.1", "images edited to both genders: 3,973 of COCO", "7,946", f"{2 * 3973:,}"
    yield "section 5.1", "male of 3,973, where 2,970 are balanced", "62.6 %", f"{100 * (3973 - 2970 // 2) / 3973:.1f} %"
    edits = instructions * len(_set("gensynth.guidance"))
    yield "Table 7", "edits of an image: instructions and guidances of preset paper", "16", f"{edits}"
    yield "H", "images edited to both genders: 571 of COCO", "1,142", f"{2 * 571:,}"
    least = next(n for n in range(5001) if n / 5000 > 0.0002)
    yield "H", "real neighbours of K = 5,000 that pass τ_R = 0.0002 by Eq. 2 (>)", "1", f"{least}"


def hirota() -> Iterator[Row]:
    """Yield sums of Hirota et al."""
    printed = PRINTED["hirota"]
    for what, name, theirs in (("leakage, Table 1", "table_1_leakage", 46.1), ("LIC, Table 2", "table_2_lic", 74.8)):
        ours = fmean(100 * (1 - after / before) for before, after in printed[name])
        yield "abstract", f"mean reduction of {what}, of three models", f"{theirs} %", f"{ours:.1f} %"
    ours = [100 * abs(first - second) / first for first, second, _ in printed["table_3"]]
    yield "Table 3", "Δ of the printed ratios", _line((row[2] for row in printed["table_3"]), 1), _line(ours, 1)
    drawn = len(_set("inpaint.guidances")) * int(presets()["inpaint.edits"])
    yield "section 3", "pictures of each group (m): guidances and edits of preset paper", "30", f"{drawn}"


def counterfactuals(student_p: Student) -> Iterator[Row]:
    """Yield sums of COCO-Counterfactuals."""
    yield (
        "section 3.3",
        "pairs of pictures, 100 of each of 24,508 pairs of captions",
        "2.45 million",
        f"{100 * 24508:,}",
    )
    first, second, every = ([_number(cell) for cell in row[1:]] for row in table("coco_counterfactuals", "table_1")[1:])
    ours = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    yield "Table 1", "all images, percent: means of the rows above", _line(every, 2), _line(ours, 3)
    yield "section 4.1", "incorrect captions, counterfactual over original", "10 %", f"{second[1] - first[1]:.1f} %"
    yield "section 5.1", "not labelled correctly", "26.82 %", f"{100 - every[0]:.2f} %"
    for number in (3, 4, 5, 11, 12):
        rows = CF[f"table_{number}"]
        means = [fmean(row[:-1]) for row in rows]
        yield f"Table {number}", "means of six columns", _line((row[-1] for row in rows), 2), _line(means, 2)
    gained = [row[-1] - CF["table_3"][0][-1] for row in CF["table_3"][2:]]
    yield "section 5.1", "points gained over CLIP as it was, mean of Table 3", "5", f"{fmean(gained):.1f}"
    before, real, base, *_ = (row[-1] for row in CF["table_4"])
    times = (base - before) / (real - before)
    yield "section 5.3", "gain of Table 4 over that of as much of MS-COCO", "twice", f"{times:.1f} times"
    models = [[fmean(row[:-1]) for row in CF["table_5"][at : at + 3]] for at in (0, 3, 6)]
    gains = [after - before for before, _, after in models]
    yield "A.1", "gains over CLIP, BridgeTower and Flava as they were", "11.83, 21.55, 11.47", _line(gains, 2)
    share = fmean(after / before for before, _, after in models)
    yield "A.1", "mean of these gains in percent", "24.3 %", f"{100 * (share - 1):.1f} %"
    yield "A.1", "gains over training on MS-COCO", "6.06, 10.08, 5.28", _line((c - b for _, b, c in models), 2)
    yield from _transfer(student_p)
    found = {row[0]: _number(row[1]) for row in table("coco_counterfactuals", "table_7")[1:]}
    limits = sum(share for name, share in found.items() if name.startswith("Failure"))
    yield "A.3.1", "errors by limits of diffusion models (Table 7)", "66 %", f"{limits:.0f} %"
    human = human_words()
    of_humans = sum(bool({before, after} & human) for before, after, _ in CF["table_10"])
    yield "A.3.2", "altered subjects of Table 10 that are human", "19 of 20", f"{of_humans} of {len(CF['table_10'])}"
    yield "A.3.2", "1,864 errors of 4,117 human subjects", "44.3 %", f"{100 * 1864 / 4117:.1f} %"


def human_words() -> set[str]:
    """Return the words for people of A.3.2."""
    return set(re.findall(r"'(\w+)'", CF["human"]))


def _transfer(student_p: Student) -> Iterator[Row]:
    names = ("CIFAR10", "CIFAR100", "Food101", "Caltech101", "Caltech256", "ImageNet")
    before, _, *after = (dict(zip(names, row, strict=False)) for row in CF["table_4"])
    rows = table("coco_counterfactuals", "table_6")[1:]
    theirs = {row[0]: [_number(cell) for cell in row[2:]] for row in rows}
    ours = {name: [row[name] - before[name] for row in after] for name in theirs}
    wanted, made = ([one for values in of.values() for one in values] for of in (theirs, ours))
    yield "Table 6", "Δ: differences in Table 4", _line(wanted, 2), _line(made, 2)
    often = [_number(row[1]) for row in rows for _ in row[2:]]
    rho = correlation(often, wanted)
    df = len(wanted) - 2
    p = student_p(rho * math.sqrt(df / (1 - rho * rho)), df)
    yield "A.2", "Pearson's correlation of frequencies and Δ in Table 6, and p", "0.522, 0.026", f"{rho:.3f}, {p:.3f}"


def mixes(pairs: int) -> Iterator[Row]:
    """Yield sizes of the sets that COCO-Counterfactuals trains on, of so many pairs."""
    half, quarter = pairs // 2, 2 * math.ceil(pairs / 4)
    sets = {"base": (half, quarter), "medium": (pairs, 3 * pairs // 2), "all": (pairs, 2 * pairs)}
    of = {name: sum(sizes) for name, sizes in sets.items()}
    yield "B.3.1", "samples of base, medium and all", "17,411, 43,525, 52,230", _counts(of.values())
    trained = [4 * n // 5 for n in (pairs, *of.values())]
    theirs = "13,928, 13,928, 34,820, 41,784"
    yield "Table 3", "trained on: 80 % of MS-COCO, base, medium and all", theirs, _counts(trained)
    shares = [100 * made / (real + made) for real, made in sets.values()]
    yield "Table 3", "counterfactuals among these, percent", "50, 60, 67", _line(shares, 0)
    expected = [round(0.8 * made) for _, made in sets.values()]
    yield "Table 12", "counterfactuals of a random 80 % (ours are expected)", "6,939, 20,894, 27,853", _counts(expected)
    correct = pairs * sum(_number(row[1]) / 100 for row in table("coco_counterfactuals", "table_1")[1:3])
    told = _counts((int(0.8 * (pairs + correct)), int(0.8 * correct)))
    yield "Table 11", "80 % of MS-COCO and what Table 1 has as correct, and of the latter", "34,313, 20,385", told


def _counts(numbers: Iterable[int]) -> str:
    return ", ".join(f"{n:,}" for n in numbers)


def girrbach() -> Iterator[Row]:
    """Yield sums of Girrbach et al."""
    options = Counter(
        row["class"] for row in wordlist("label_options").to_pylist() if row["label"] not in {"mixed", "unclear"}
    )
    yield "section 4.3", "identities: clear labels of gender and of race", "14", f"{math.prod(options.values())}"
    made_of = math.prod(len(_set(f"sae_topics.{name}")) for name in ("kinds", "lr", "expansion", "k"))
    yield "B.2", "autoencoders: settings of preset paper", "24", f"{made_of}"
    yield "section 5", "pictures of 3,710 categories, 100 of two models", "742,000", f"{2 * 3710 * 100:,}"
    yield (
        "C.1",
        "images with a person that show one: 64,507,400 of 112,400,461",
        "over 50 %",
        f"{64507400 / 1124004.61:.1f} %",
    )
    yield "C.2", "the smallest box, 30 by 30 of 256 by 256 pixels", "1.4 %", f"{100 * (30 / 256) ** 2:.1f} %"
    yield "D", "mixed images: 18,997 and 6,003", "25,000", f"{18997 + 6003:,}"
    yield (
        "E.1",
        "agreement about Black and Latino, of 1,000,000",
        "33.5 %, 2.7 %",
        f"{335004 / 1e4:.1f} %, {26809 / 1e4:.1f} %",
    )
    yield (
        "E.1",
        "images: 25,000 of seven classes and unclear, 16,676 disagreements",
        "216,676",
        f"{8 * 25000 + 16676:,}",
    )
    boxes = (12367045 / 4159826, 199931986 / 107545236)
    yield "G.4", "people an image in CC12M and in LAION-400M", "about 3, about 2", _line(boxes, 2)
    yield from _genders()
    yield from _races()
    yield from _countries()


def _genders() -> Iterator[Row]:
    rows = {row[0]: [_number(cell) for cell in row[1:] if cell] for row in table("girrbach", "table_7")[1:]}
    classes = ("Female", "Male", "Mixed", "Unclear")
    scores = [2 * p * r / (p + r) for p, r, *_ in (rows[name] for name in classes)]
    yield (
        "Table 7",
        "F1 of precision and recall, by class",
        _line((rows[name][2] for name in classes), 2),
        _line(scores, 2),
    )
    means = [fmean(rows[name][at] for name in classes) for at in range(3)]
    yield "Table 7", "macro averages", _line(rows["Macro Avg"][:3], 2), _line(means, 2)
    yield (
        "Table 7",
        "images of the test",
        f"{rows['Accuracy'][1]:,.0f}",
        f"{sum(rows[name][3] for name in classes):,.0f}",
    )


def _races() -> Iterator[Row]:
    *rows, (_, *columns) = table("girrbach", "figure_18")
    counts = {row[0]: dict(zip(columns, map(int, row[1:]), strict=True)) for row in rows}
    printed = {row[0]: [_number(cell) for cell in row[1:] if cell] for row in table("girrbach", "table_10")[1:]}
    sizes = {name: sum(row.values()) for name, row in counts.items()}
    made = {}
    for name in columns:
        precision = counts[name][name] / sum(row[name] for row in counts.values())
        recall = counts[name][name] / sizes[name]
        made[name] = [precision, recall, 2 * precision * recall / (precision + recall)]
    n = sum(sizes.values())
    made["Macro avg"] = [fmean(made[name][at] for name in columns) for at in range(3)]
    made["Weighted avg"] = [sum(sizes[name] * made[name][at] for name in columns) / n for at in range(3)]
    right = sum(counts[name][name] for name in columns)
    for name, theirs in printed.items():
        ours = [right / n] if name == "Accuracy" else made[name]
        what = "accuracy" if name == "Accuracy" else f"{name}: precision, recall, F1"
        yield "Table 10", f"{what}, of the counts of Figure 18", _line(theirs, 2), _line(ours, 2)
    yield "E.2", "accuracy of the test", "87.3 %", f"{100 * right / n:.1f} %"
    yield "Table 10", "images of the test: 2,500 a class, but 4,169 unclear in Figure 18", "20,000", f"{n:,}"


def _countries() -> Iterator[Row]:
    rows = table("girrbach", "table_12")[2:]
    persons = [_number(row[3]) for row in rows]
    ranks = [1 + sum(other > one for other in persons) for one in persons]
    yield "Table 12", "ranks by images with a person", ", ".join(row[4] for row in rows), ", ".join(map(str, ranks))
    order = sorted(range(len(rows)), key=lambda at: -_number(rows[at][1]))
    theirs = sorted(range(len(rows)), key=lambda at: _number(rows[at][2]))
    same = sum(a == b for a, b in zip(order, theirs, strict=True))
    yield "Table 12", "countries in the order of their images", f"{len(rows)}", f"{same} in the same place"
    (china,) = (row for row in rows if row[0] == "China")
    yield "G.1", "images of China that show a person", "23 %", f"{100 * _number(china[3]) / _number(china[1]):.1f} %"


def gelda() -> Iterator[Row]:
    """Yield sums of GELDA."""
    attributes = wordlist("gelda_attributes").to_pylist()
    sizes = Counter((row["dataset"], row["class"]) for row in attributes)
    categories = Counter(dataset for dataset, _ in sizes)
    yield "section 4.1", "attributes of each category (M)", "5", ", ".join(map(str, sorted(set(sizes.values()))))
    yield "section 4.1", "categories of each dataset (N)", "10", ", ".join(map(str, sorted(set(categories.values()))))
    scores: dict[str, list[list[float]]] = {"DeepFashion": [], "CelebA": [], "CUB-200": []}
    dataset = ""
    for cells in table("gelda", "table_s4")[1:]:
        filled = [cell for cell in cells if cell]
        dataset = filled[0] if filled[0] in scores else dataset
        scores[dataset].append([float(cell) for cell in filled[-2:]])
    scores["CUB-200"] = [[float(cell) for cell in row[1:]] for row in table("gelda", "table_s5")[1:]]
    places = {"DeepFashion": "Table S4", "CelebA": "Table S4", "CUB-200": "Table S5, by category"}
    printed = table("gelda", "table_1")
    for at, name in enumerate(printed[0][1:], 1):
        theirs = ", ".join(row[at] for row in printed[1:])
        ours = [fmean(row[model] for row in scores[name]) for model in (0, 1)]
        yield "Table 1", f"AUC of BLIP and OWLv2 on {name}: means of {places[name]}", theirs, _line(ours, 2)


def sums(pairs: int, student_p: Student) -> Iterator[Row]:
    """Yield all sums; pairs are those of COCO-Counterfactuals."""
    of = {
        "gensynth": gensynth(),
        "hirota": hirota(),
        "coco_counterfactuals": (*counterfactuals(student_p), *mixes(pairs)),
        "girrbach": girrbach(),
        "gelda": gelda(),
    }
    for paper, rows in of.items():
        for where, *rest in rows:
            yield f"{NAMES[paper]}, {where}", *rest
