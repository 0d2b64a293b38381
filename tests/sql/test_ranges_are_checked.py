"""A parameter with a range (``min``, ``max``, ``above``, ``below``) takes no number outside of it, and its help tells it."""

from __future__ import annotations

import re

import pytest

from counterbalance.engine.errors import SqlError
from counterbalance.engine.recipes import files
from counterbalance.engine.sql import queries, query_files

NUMBERS = [
    (made.name, p)
    for made in (*queries.queries().values(), *files.recipes().values())
    for p in made.parameters
    if p.type.removesuffix("[]") in {"integer", "double"}
]
RANGED = [(name, p) for name, p in NUMBERS if p.range]
COUNTS = {"min_count", "k", "skew_k", "k_r", "k_g", "top", "resamples", "permutations", "steps", "epochs", "size"}


@pytest.mark.parametrize(
    ("ends", "wanted", "inside", "outside"),
    [
        ("min = 1", "at least 1", (1, 2, 10**9), (0, -1)),
        ("max = 1", "at most 1", (1, -7), (1.5, 2)),
        ("above = 0", "above 0", (1e-9, 3), (0, -0.1, float("nan"))),
        ("min = -1, max = 1.5", "from -1 to 1.5", (-1, 0, 1.5), (-1.1, 1.6)),
        ("above = 0, below = 1", "between 0 and 1", (0.5,), (0, 1, 7)),
        ("min = 0, below = 1", "at least 0, below 1", (0, 0.5), (-0.1, 1)),
        ('about = "at least 3 count"', None, (0, 7), ()),
    ],
)
def test_ranges_are_keys_of_the_front_matter(ends, wanted, inside, outside):
    front = f'/*--- toml\nanswers = "Counts."\nparams.x = {{ type = "double", {ends} }}\n---*/\n'
    (made,) = query_files.parse(front + "SELECT $x AS x", "view", "n.sql").parameters
    assert made.range == wanted
    assert all(made.is_within(value) for value in inside)
    assert not any(made.is_within(value) for value in outside)


@pytest.mark.parametrize(("name", "ranged"), RANGED, ids=lambda v: getattr(v, "name", v))
def test_every_range_is_told_and_holds_the_default(name, ranged):
    assert ranged.doc.startswith(f"{ranged.range}; "), f"{name}: {ranged.doc}"
    defaults = re.findall(r"-?[\d.]+(?:e-?\d+)?", ranged.default or "")
    assert all(ranged.is_within(float(text)) for text in defaults), name


def test_every_count_has_a_range():
    counts = {(name, p.name) for name, p in NUMBERS if p.name in COUNTS}
    assert len(counts) > 100
    assert counts <= {(name, p.name) for name, p in RANGED}


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        ("demographics(min_count := -1)", "'min_count' of demographics() cannot be -1", "at least 0"),
        ("retrieval_bias(k := [5, 0])", "'k' of retrieval_bias() cannot be 0", "at least 1"),
        ("cooccurrence(smoothing := -0.5)", "'smoothing' of cooccurrence() cannot be -0.5", "at least 0"),
    ],
)
def test_numbers_outside_are_refused(lake, call, message, hint):
    with pytest.raises(SqlError) as caught:
        lake.sql(f"SELECT * FROM {call}")
    assert (caught.value.code, caught.value.message, caught.value.hint) == ("E3134", message, hint)


def test_numbers_from_outside_the_text_are_checked_too(lake):
    with lake.session() as session, pytest.raises(SqlError, match="'min_count' cannot be -3"):
        session.audit("crime_words", min_count=-3)
    with pytest.raises(SqlError, match="'min_count' of recipe reweight cannot be -1"):
        lake.recipe("reweight", min_count=-1)


def test_nothing_is_suppressed_below_nought(lake):
    counts = dict(lake.sql("SELECT label, count FROM demographics(min_count := 0)").fetchall())
    assert None not in counts.values()


def test_null_is_no_number_where_it_means_nothing(lake):
    with pytest.raises(SqlError, match=r"'min_count' of demographics.* cannot be NULL") as error:
        lake.sql("SELECT * FROM demographics(min_count := NULL)")
    assert error.value.hint == "min_count is 10 where it is left out"
