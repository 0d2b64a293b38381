"""The card of a dataset of Hugging Face: which files there are, and what a few audits of the lake show.

The figures leave the house with the card. So they are those of a session without a purpose, whatever the purpose of the
export, and cells that are hidden there are hidden here.
"""

from __future__ import annotations

import json
import shlex
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql import parse, queries, requirements
from counterbalance.export.datasheet import code
from counterbalance.report.association import PLAIN_WORDS
from counterbalance.report.figures import cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

NAME: Final = "README.md"
FILES: Final = "data/*-*.parquet"
"""The shards."""
_HEAD: Final = """\
---
configs:
- config_name: default
  data_files:
{files}
---

Exported by counterbalance; what this is, where it comes from and what it must not be used for stands in
[DATASHEET.md](DATASHEET.md).
"""
_PAIRS: Final = ("label", "concept", "count", "n_label", "n_concept", "pmi", "low", "high", "q")
_AUDITS: Final[Sequence[tuple[str, str, str, Sequence[str]]]] = (
    ("demographics", "demographics", "", ("label", "count", "n", "share", "low", "high")),
    ("cooccurrence of words that name no gender", "cooccurrence", PLAIN_WORDS, _PAIRS),
    ("cooccurrence of category_concepts", "cooccurrence", "category_concepts", _PAIRS),
)
"""Headings, names of audits that no model has a part in, the concepts to ask for, and the columns to show."""
_MOST: Final = 10


def render(lake: Lake, at: str | None, shards: Sequence[str]) -> str:
    """Return the card.

    Args:
        lake: That the rows come from.
        at: Tag or moment that they were read at.
        shards: Names of the files of rows, ``data/SPLIT-NUMBER.parquet``.
    """
    splits = dict.fromkeys(name.removeprefix("data/").rpartition("-")[0] for name in shards)
    head = _HEAD.format(files="\n".join(f"  - split: {s}\n    path: data/{s}-*.parquet" for s in splits))
    with lake.session(at=at, isolated=False) as session:
        counts = dict(session.sql("SELECT name, rows FROM meta.tables").fetchall())
        there = session.filled()
        parts = [
            _audit(session, heading, name, concepts, columns, at)
            for heading, name, concepts, columns in _AUDITS
            if not requirements.missing(_needs(name, concepts), there)
        ]
        if not parts:
            return head
        versions = ", ".join(
            f"{name} {v}" for name, v in session.versions.items() if name in BASE_TABLES and counts.get(name)
        )
    about = (
        f"Of the whole lake that these rows come from, by counterbalance {version('counterbalance')} over {code(versions)}. "
        "Labels are perceived, by words in captions: they say how groups are depicted, never who a person is. "
        "low and high are 95 % intervals. Counts of few images are hidden, and others that would tell them."
    )
    return "\n\n".join([head + "\n## Audit", about, *parts]) + "\n"


def _needs(name: str, concepts: str) -> requirements.Needs:
    call = f"concepts := {concepts}" if concepts else ""
    return requirements.of_query(parse.parse(f"SELECT * FROM {name}({call})").tree)


def _audit(session: Session, heading: str, name: str, concepts: str, columns: Sequence[str], at: str | None) -> str:
    """Return what an audit answers, how to ask it again, and its rows."""
    given: dict[str, Any] = {"concepts": concepts} if concepts else {}
    words = [shlex.quote(f"{key}={value}") for key, value in given.items()]
    words += [f"--at {shlex.quote(at)}"] if at else []
    lines = [
        f"### {heading}",
        queries.queries()[name].doc,
        code(" ".join(["counterbalance audit LAKE", name, *words])),
    ]
    try:
        found = session.audit(name, **given).to_arrow().to_pylist()
    except CounterbalanceError as error:  # of an audit that takes too much, the rows are there nevertheless
        return "\n\n".join([*lines, f"It could not be computed: {code(error.message)}"])
    rows = sorted(found, key=_place) if concepts else found
    if rows:
        others = {k: v for k, v in json.loads(rows[0]["params"]).items() if k not in given}
        lines += [f"Other parameters: {code(json.dumps(others))}", _table(rows, columns)]
    left = [f"{_MOST} of {len(rows):,} rows, those of the smallest q."] if len(rows) > _MOST else []
    hidden = rows[0].get("n_suppressed") if rows else None
    left += [f"{hidden:,} pairs are hidden."] if hidden else []
    left += [] if rows else ["No count of it is large enough to be shown."]
    return "\n\n".join([*lines, " ".join(left)] if left else lines)


def _place(row: Mapping[str, Any]) -> tuple[float, float, str, str]:
    return (row["q"] if row["q"] is not None else 1.0, -abs(row["pmi"] or 0.0), row["label"], row["concept"])


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    lines = [list(columns), ["---"] * len(columns)]
    for row in rows[:_MOST]:
        empty = "hidden" if row["suppressed"] else "-"
        texts = (
            empty if row[c] is None else code(row[c]) if isinstance(row[c], str) else cell(row[c]) for c in columns
        )
        lines.append(list(texts))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
