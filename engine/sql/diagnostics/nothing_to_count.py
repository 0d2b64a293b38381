"""Say of a query without rows, and of an audit that has nothing to count, what is missing, what the lake holds, and what to type next."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql import parse, queries, requirements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from counterbalance.engine.sql.plan import Facts
    from counterbalance.engine.sql.query_model import QueryParameter
    from counterbalance.engine.sql.resolver import Resolver

_SOURCES: Final = {
    "images": (
        "SOURCE",
        "SOURCE is a folder of pictures, a COCO file, shards, a dataset of Hugging Face or a list of URLs",
    ),
    "captions": (
        "SOURCE",
        "SOURCE is a COCO file, shards, a list of URLs and captions, or any table of captions",
    ),
    "detections": ("boxes.csv", "a row per box: key, category, x, y, width, height"),
    "labels": ("labels.csv", "a row per label: key, attribute, value"),
}
"""By base table what is typed after the lake to fill it, and what that may be."""


def notes(resolver: Resolver, facts: Facts) -> list[str]:
    """Return notes on a query where a base table without rows leaves it, or its audits, nothing; none otherwise."""
    statement = parse.parse(facts.text)
    counts = {name: _count(resolver, name) for name in BASE_TABLES}
    there = filled(counts, resolver.sensitive_attributes())
    lacking = [n for n in requirements.missing(requirements.of_query(statement.tree), there) if n in BASE_TABLES]
    if statement.kind != "query" or not lacking:
        return []
    lake, missing = resolver.main.location.uri, " and ".join(lacking)
    held = holdings(counts, resolver.sensitive_attributes())
    adding = [f"{command(lake, table)} adds {table}; {_SOURCES[table][1]}" for table in lacking]
    if not facts.audits:
        return [f"{missing} {'has' if len(lacking) < 2 else 'have'} no rows; the lake holds {held}", *adding]
    named = [f"{name}()" for name in dict.fromkeys(facts.audits)]
    ready, given = runnable(there)
    runs = f"{ready} audits run" if ready > 1 else f"{ready or 'no'} audit runs"
    return [
        f"{' and '.join(named)} need{'s' * (len(named) < 2)} {missing}; the lake holds {held}",
        *by_labels(lake, facts.audits, there, resolver.sensitive_attributes()),
        *adding,
        f"{runs} on this lake as it is, {given} on rows that you give: counterbalance doctor {shlex.quote(lake)} lists them",
    ]


def by_labels(lake: str, audits: Iterable[str], there: Collection[str], closed: Iterable[str]) -> list[str]:
    """Return what is typed for audits that lack nothing where their groups are perceived labels, those of gender if there are some.

    Example:
        >>> print(*by_labels("a.lake", ["demographics", "sentiment"], ["images", "labels"], ["age", "gender"]))
        counterbalance audit a.lake demographics "groups=image_labels('gender')" counts the labels of gender
    """
    attribute = min(closed, key=lambda name: ("gender" not in name, name), default=None)
    if attribute is None or "'" in attribute:
        return []
    groups = f"image_labels('{attribute}')"
    typed = f"counterbalance audit {shlex.quote(lake)}"
    return [
        f'{typed} {name} "groups={groups}" counts the labels of {attribute}'
        for name in dict.fromkeys(audits)
        if any(p.name == "groups" for p in queries.audits()[name].parameters)
        and not _lacks(f"{name}(groups := {groups})", there)
        and not any(_lacks(p.default, there) for p in queries.audits()[name].parameters if _is_read_too(p))
    ]


def _is_read_too(parameter: QueryParameter) -> bool:
    """Tell whether an audit reads a relation beside its groups, such as texts: without rows of it there is nothing to count."""
    return parameter.is_relation and parameter.name != "groups" and isinstance(parameter.default, str)


def _lacks(relation: object, there: Collection[str]) -> list[str]:
    return requirements.missing(requirements.of_query(parse.parse(f"FROM {relation}").tree), there)


def filled(counts: Mapping[str, int], closed: Collection[str]) -> set[str]:
    """Return the base tables that have rows; labels also where some are perceived ones, whether or not these are shown."""
    return {name for name, rows in counts.items() if rows} | ({"labels"} if closed else set())


def holdings(counts: Mapping[str, int], closed: Iterable[str]) -> str:
    """Return what the base tables hold, in one line.

    Example:
        >>> holdings({"images": 5, "captions": 0, "labels": 0}, ["perceived_gender"])
        '5 images, no captions, labels of perceived_gender'
    """
    kept = ", ".join(sorted(closed))
    rows = [
        f"{n:,} {name}" if n else f"no {name}" for name, n in counts.items() if n or not (kept and name == "labels")
    ]
    return ", ".join([*rows, *([f"labels of {kept}"] if kept else [])])


def command(lake: str, table: str) -> str:
    """Return what is typed to fill a base table.

    Example:
        >>> command("my lake", "labels")
        "counterbalance ingest 'my lake' labels.csv"
    """
    return f"counterbalance ingest {shlex.quote(lake)} {_SOURCES[table][0]}"


def runnable(there: Collection[str]) -> tuple[int, int]:
    """Return how many audits have all that they need, and how many would with rows or values of the caller's."""
    lacks = [requirements.missing(requirements.of_audit(query), there) for query in queries.audits().values()]
    given = sum(bool(names) and all(n.endswith(requirements.GIVEN) for n in names) for names in lacks)
    return sum(not names for names in lacks), given


def _count(resolver: Resolver, name: str) -> int:
    relation = resolver.relation(None, name, trusted=False)
    return sum(table.dataset.count_rows() for table in relation.tables) if relation is not None else 0
