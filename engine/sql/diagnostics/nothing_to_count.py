"""Say of a query without rows, and of an audit that has nothing to count, what is missing, what the lake holds, and what to type next."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql import arguments, parse, queries, requirements
from counterbalance.engine.sql.call_syntax import arguments_of, call_name

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
_NARROWS: Final = ("where", "having", "qualify", "joins", "group", "limit", "offset", "with_")
"""Parts of a query that may leave out what an audit counts."""


def notes(resolver: Resolver, facts: Facts) -> list[str]:
    """Return notes on a query where a base table without rows leaves it, or its audits, nothing; none otherwise."""
    statement = parse.parse(facts.text)
    there = filled(resolver)
    lacking = [*filter(requirements.is_stored, requirements.missing(requirements.of_query(statement.tree), there))]
    if statement.kind != "query" or not lacking or not (facts.audits or BASE_TABLES.keys() & lacking):
        return []
    counts = _counts(resolver)
    lake, missing = resolver.main.location.uri, " and ".join(lacking)
    held = holdings(counts, resolver.sensitive_attributes())
    adding = [f"{command(lake, name)} adds {name}; {_source(name)[1]}" for name in lacking]
    if not facts.audits:
        return [f"{missing} {'has' if len(lacking) < 2 else 'have'} no rows; the lake holds {held}", *adding]
    named = [f"{name}()" for name in dict.fromkeys(facts.audits)]
    return [
        f"{' and '.join(named)} need{'s' * (len(named) < 2)} {missing}; the lake holds {held}",
        *by_labels(lake, facts.audits, there, resolver.sensitive_attributes()),
        *adding,
        _what_runs(lake, there),
    ]


def unfound(resolver: Resolver, facts: Facts, rows: int) -> list[str]:
    """Return notes on one audit that measures nothing though it has all it needs, such as texts, none of which has its words.

    Args:
        resolver: What names of the query mean.
        facts: What was found while it was bound.
        rows: How many it has, all of their measures NULL; where there are some, none is told of but all columns.
    """
    tree = parse.parse(facts.text).tree
    source = tree.args.get("from_") if isinstance(tree, exp.Select) else None
    call = source.this.this if source is not None and isinstance(source.this, exp.Table) else None
    if rows and not tree.is_star:
        return []
    if not isinstance(call, exp.Func) or call_name(call) not in queries.audits() or any(map(tree.args.get, _NARROWS)):
        return []
    audit = queries.audits()[call_name(call)]
    given = arguments.bind(audit.name, [p.name for p in audit.parameters], arguments_of(call)).get("min_count")
    least = given or next((p.default for p in audit.parameters if p.name == "min_count"), None)
    few = f", or fewer than {least}, which are left out: min_count sets that number" if str(least or 0) != "0" else ""
    there, lake = filled(resolver), resolver.main.location.uri
    return [
        f"{audit.name}() finds nothing to count in what it reads{few}",
        f"the lake holds {holdings(_counts(resolver), resolver.sensitive_attributes())}",
        *by_labels(lake, [audit.name], there, resolver.sensitive_attributes()),
        _what_runs(lake, there),
    ]


def _what_runs(lake: str, there: Collection[str]) -> str:
    ready, given = runnable(there)
    runs = f"{ready} audits run" if ready > 1 else f"{ready or 'no'} audit runs"
    return f"{runs} on this lake as it is, {given} on rows that you give: counterbalance doctor {shlex.quote(lake)} lists them"


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


def filled(resolver: Resolver) -> set[str]:
    """Return the base tables of the lake that have rows, labels also where some are perceived ones, and where its captions come from."""
    tables = {name for name, rows in _counts(resolver).items() if rows}
    origins = {f"{requirements.ORIGIN}{value}" for value in resolver.main.codes.get(("captions", "origin"), ())}
    labels = {"labels"} if resolver.sensitive_attributes() else set()
    return tables | labels | (origins if "captions" in tables else set())


def holdings(counts: Mapping[str, int], closed: Iterable[str]) -> str:
    """Return what the base tables hold, in one line.

    Example:
        >>> holdings({"images": 5, "captions": 1, "detections": 0, "labels": 0}, ["perceived_gender"])
        '5 images, 1 caption, no detections, labels of perceived_gender'
    """
    kept = ", ".join(sorted(closed))
    rows = [
        f"{n:,} {name.removesuffix('s') if n == 1 else name}" if n else f"no {name}"
        for name, n in counts.items()
        if n or not (kept and name == "labels")
    ]
    return ", ".join([*rows, *([f"labels of {kept}"] if kept else [])])


def command(lake: str, name: str) -> str:
    """Return what is typed to fill a base table, or to add captions of an origin.

    Example:
        >>> command("my lake", "labels")
        "counterbalance ingest 'my lake' labels.csv"
    """
    return f"counterbalance ingest {shlex.quote(lake)} {_source(name)[0]}"


def _source(name: str) -> tuple[str, str]:
    """Return what is typed after the lake, and what it may be."""
    if not name.startswith(requirements.ORIGIN):
        return _SOURCES[name]
    origin = shlex.quote(name.removeprefix(requirements.ORIGIN))
    return f"SOURCE --origin {origin}", "SOURCE is a table, or lines of JSON: the name of a picture, and its text"


def runnable(there: Collection[str]) -> tuple[int, int]:
    """Return how many audits have all that they need, and how many would with rows or values of the caller's."""
    lacks = [requirements.missing(requirements.of_audit(query), there) for query in queries.audits().values()]
    given = sum(bool(names) and all(n.endswith(requirements.GIVEN) for n in names) for names in lacks)
    return sum(not names for names in lacks), given


def _counts(resolver: Resolver) -> dict[str, int]:
    """Return how many rows the base tables have, perceived labels not among them."""
    found = {name: resolver.relation(None, name, trusted=False) for name in BASE_TABLES}
    return {name: sum(t.dataset.count_rows() for t in r.tables) if r is not None else 0 for name, r in found.items()}
