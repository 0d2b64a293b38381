"""The datasheet of an export (Gebru et al., Datasheets for Datasets, 2021), written from what the lake knows.

Composition, provenance, models, filters, licences, perceived labels and known limits; nothing in it is a guess, and what
the lake does not know is said to be unknown.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import meta
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.report.svg import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterbalance.engine.session import Session
    from counterbalance.export.origins import Origin

_MOST: Final = 40
_LIMITS: Final = (
    (
        "Labels of people (gender, age, ethnicity, skin tone and the like) are perceived: they say how groups are depicted, "
        "never who a person is. Do not use them to tell anything of a person, to find people, or for surveillance."
    ),
    "Groups are those that the views above name; people outside of them are not there, or not told apart.",
    (
        "A filter keeps what its model scores high. What the model gets wrong more often for one group is missing more often "
        "for that group: see the views above, and measure it with the audits edit_quality and label_validation."
    ),
    "Captions say what was written about a picture, which is not always what it shows.",
)
_SYNTHETIC: Final = (
    (
        "Pictures that a generative model made or edited show no real event. They carry their origin in their own metadata "
        "(IPTC DigitalSourceType) where the function wrote it; keep it when you pass them on."
    ),
    "A generative model was itself trained on data with biases of its own, which its pictures may show.",
)


@dataclass(frozen=True, slots=True)
class ExportFacts:
    """Describe what was asked for, and how many rows came of it."""

    lake: str
    to: str
    what: str
    purpose: str | None
    at: str | None
    rows: int
    skipped: int


def render(
    facts: ExportFacts,
    sources: Sequence[tuple[str, str, int]] | None,
    origin: Origin,
    columns: Mapping[str, tuple[str, int]],
    shards: Sequence[Mapping[str, Any]],
) -> str:
    """Return the datasheet as Markdown.

    Args:
        facts: What was asked for.
        sources: From ``sources_of``.
        origin: Where the rows come from.
        columns: Type and number of NULLs by column.
        shards: Name, rows and bytes of each.
    """
    parts = [
        _head(facts),
        _composition(facts, columns, shards),
        _provenance(origin),
        _models(origin),
        _filters(origin),
        _licences(sources),
        _perceived(facts, origin),
        _limits(origin),
        _again(facts, origin),
    ]
    return plain("\n\n".join(parts)) + "\n"


def _head(facts: ExportFacts) -> str:
    made = meta.now().strftime("%Y-%m-%d %H:%M UTC")
    lines = [
        "# Datasheet",
        (
            f"Written by counterbalance {version('counterbalance')} on {made} for {code(meta.user())}, from the lake "
            f"{code(facts.lake)}, target `{facts.to}`. Sections follow Gebru et al., *Datasheets for Datasets* (2021)."
        ),
    ]
    return "\n\n".join(lines)


def _composition(
    facts: ExportFacts, columns: Mapping[str, tuple[str, int]], shards: Sequence[Mapping[str, Any]]
) -> str:
    lines = ["## Composition", f"{facts.rows:,} rows in {len(shards):,} part{'' if len(shards) == 1 else 's'}."]
    if facts.skipped:
        lines.append(f"{facts.skipped:,} rows were left out, for want of a picture.")
    lines.append(
        _table(("column", "type", "NULL in rows read"), [(code(n), code(k), f"{e:,}") for n, (k, e) in columns.items()])
    )
    shown = [(code(s["name"]), f"{s['rows']:,}", f"{s['bytes']:,}") for s in shards[:_MOST]]
    lines.append(_table(("part", "rows", "bytes"), shown))
    if len(shards) > _MOST:
        lines.append(f"and {len(shards) - _MOST:,} more.")
    return "\n\n".join(lines)


def _provenance(origin: Origin) -> str:
    rows = [
        (code(name), "" if v is None else str(v), "" if n is None else f"{n:,}")
        for name, (v, n) in origin.tables.items()
    ]
    lines = ["## Provenance", "Tables and views that were read, at these versions:"]
    lines += [_table(("relation", "version", "rows"), rows), "The query:", *(fenced(q) for q in origin.queries)]
    return "\n\n".join(lines)


def _models(origin: Origin) -> str:
    if not origin.calls:
        text = "No Python function had a part in these rows."
        return "\n\n".join(["## Models and functions", text, *origin.notes])
    rows = sorted(
        {
            (
                code(c.name),
                code(c.version),
                code(_constants(c.constants)),
                code(c.weights) if c.weights else "none",
                code(c.target),
            )
            for c in origin.calls
        }
    )
    header = ("function", "version", "constants", "digest of weights", "called by")
    lines = ["## Models and functions", _table(header, rows)]
    if origin.is_synthetic:
        lines.append(f"Pictures were made or edited by {', '.join(map(code, origin.makers))}.")
    if origin.lists:
        lines.append(_table(("word list", "digest"), [(code(n), code(d)) for n, d in sorted(origin.lists.items())]))
    return "\n\n".join([*lines, *origin.notes])


def _constants(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{n} = {json.dumps(v, default=str)}" for n, v in given.items()) or "-"


def _filters(origin: Origin) -> str:
    lines = ["## Preprocessing and filters"]
    if not origin.steps:
        lines.append("The rows stand in the lake as they were ingested; no view and no generated column was read.")
    for step in origin.steps:
        if step.kind == "view":
            lines += [f"View {code(step.name)}, keyed by {code(', '.join(step.key))}:", fenced(step.sql)]
        elif step.kind == "column":
            lines += [f"Column {code(step.target)}:", fenced(step.sql)]
    return "\n\n".join(lines)


def sources_of(session: Session, origin: Origin) -> list[tuple[str, str, int]] | None:
    """Return source, licence and number of the images that rows name, most first; ``None`` where they name no image."""
    for query in origin.queries:
        text = (
            "SELECT coalesce(source, 'not stated') AS source, coalesce(license, 'not stated') AS license, count(*) AS n "
            f"FROM images WHERE image_id IN (SELECT exported.image_id FROM ({query}) AS exported) GROUP BY ALL ORDER BY n DESC, 1, 2"
        )
        with contextlib.suppress(CounterbalanceError):  # its rows name no image
            return [(str(source), str(licence), int(n)) for source, licence, n in session.sql(text).fetchall()]
    return None


def _licences(found: Sequence[tuple[str, str, int]] | None) -> str:
    lines = ["## Sources and licences of images"]
    if found is None:
        lines.append("The rows name no image (`image_id`): sources and licences cannot be told.")
        return "\n\n".join(lines)
    rows = [(code(a), code(b), f"{n:,}") for a, b, n in found[:_MOST]]
    lines.append(_table(("source", "licence", "images"), rows))
    if len(found) > _MOST:
        lines.append(f"and {len(found) - _MOST:,} more.")
    lines.append(
        "A licence is what the source said of it; nobody has checked it. An edited picture stands under the terms of "
        "its source and of the model that edited it."
    )
    return "\n\n".join(lines)


def _perceived(facts: ExportFacts, origin: Origin) -> str:
    lines = ["## Perceived labels"]
    if not origin.sensitive:
        lines.append("No column that the lake keeps as sensitive was read.")
    else:
        lines.append("These relations and columns hold perceived labels of people:")
        lines.append("\n".join(f"- {code(n)}" for n in origin.sensitive))
    if facts.purpose is None:
        lines.append("Perceived labels were not readable row by row: the export was made without a purpose.")
    else:
        lines.append(f"Read for the purpose {code(facts.purpose)}, which is in the lake's access log.")
    return "\n\n".join(lines)


def _limits(origin: Origin) -> str:
    known = [*_LIMITS, *(_SYNTHETIC if origin.is_synthetic else ())]
    return "\n\n".join(["## Known limits and uses to avoid", "\n".join(f"- {line}" for line in known)])


def _again(facts: ExportFacts, origin: Origin) -> str:
    at = f" It was read as of {code(facts.at)}." if facts.at else ""
    versions = ", ".join(f"{name} {v}" for name, (v, _) in origin.tables.items() if v is not None)
    return (
        "## Maintenance\n\nThe lake can make this export again while it keeps these versions "
        f"({code(versions)}); `counterbalance tag` keeps them.{at} To have a picture taken out, delete it from the lake, "
        "refresh, and export again."
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def code(text: str) -> str:
    """Return text of any origin as Markdown's code, which nothing in it can end.

    Example:
        >>> code("CC BY"), code("a`b|c"), code("")
        ('`CC BY`', "`a'b¦c`", '`-`')
    """
    clean = " ".join(text.replace("`", "'").replace("|", "¦").split()) or "-"
    return f"`{clean if len(clean) <= 300 else clean[:299] + '…'}`"


def fenced(sql: str) -> str:
    """Return SQL as a block, with a fence that it does not hold."""
    fence = "```"
    while fence in sql:
        fence += "`"
    return f"{fence}sql\n{sql.strip()}\n{fence}"
