"""Which columns of which relations a query reads, and where the columns of its result come from."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope

from counterbalance.engine import lists
from counterbalance.engine.catalog.snapshot import SENSITIVE_LABELS
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql.parse import DIALECT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from sqlglot.lineage import Node

    from counterbalance.engine.catalog.planning import Catalog
    from counterbalance.engine.query_engine import QueryEngine

Pair = tuple[str, str]
"""A relation and a column of it; ``*`` for the whole relation."""
_SLIPS: Final = (SqlglotError, AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)
"""What sqlglot's optimizer raises on queries that it does not follow."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A query as it was expanded.

    Args:
        tree: Plain SQL over stored relations by their own names.
        reads: Columns it reads, sorted.
        columns: Names of its own columns as they are written; fewer where a ``*`` could not be told.
        reads_labels: Whether rows of perceived labels are within its reach.
        schema: Columns of the relations that it reads.
    """

    tree: exp.Query
    reads: tuple[Pair, ...]
    columns: tuple[str, ...]
    reads_labels: bool
    schema: Mapping[str, list[str]]


def read(catalog: Catalog, engine: QueryEngine, select: str) -> Reading:
    """Return what a query reads; whole relations where columns cannot be told apart.

    Args:
        catalog: The lake.
        engine: Where its names are looked up.
        select: The query.

    Raises:
        NotFoundError: A relation is not there.
    """
    plan, facts = engine.bound(select)
    relations = {relation.shown for relation in facts.used.values()}
    _plain_names(plan.tree, relations)
    schema = _schema_of(catalog, engine, relations, plan.tree)
    pairs = set(columns_read(plan.tree, schema))
    seen = {relation for relation, _ in pairs}
    pairs |= {(relation, "*") for relation in relations if relation not in seen}
    if facts.reads_labels:
        pairs.add((SENSITIVE_LABELS, "*"))
    return Reading(plan.tree, tuple(sorted(pairs)), _names(plan.tree, schema), facts.reads_sensitive, schema)


def _names(tree: exp.Query, schema: Mapping[str, list[str]]) -> tuple[str, ...]:
    try:
        found = _qualified(tree, schema).named_selects
    except _SLIPS:
        return ()
    return tuple(n for n in found if n and n != "*")


def _plain_names(tree: exp.Query, relations: Collection[str]) -> None:
    """Name every stored relation as the lake does, in one part."""
    for table in tree.find_all(exp.Table):
        name = f"{table.db}.{table.name}" if table.db else table.name
        if name in relations and not isinstance(table.this, exp.Func):
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("db", None)


def _schema_of(
    catalog: Catalog, engine: QueryEngine, relations: Iterable[str], tree: exp.Query
) -> dict[str, list[str]]:
    """Return columns of relations, as they are shown; of bytes, which no star stands for, those that the query names."""
    found: dict[str, list[str]] = {}
    named = {c.name.lower() for c in tree.find_all(exp.Column)}
    for relation in relations:
        if relation.startswith("lists."):
            found[relation] = lists.wordlist(relation.removeprefix("lists.")).column_names
            continue
        hidden = set() if engine.resolver.sensitive else catalog.sensitive_columns(relation)
        blobs = set(BASE_TABLES[relation].blobs if relation in BASE_TABLES else ()) - named
        found[relation] = [c for c in _columns(catalog, engine, relation) if c not in hidden and c not in blobs]
    return found


def _columns(catalog: Catalog, engine: QueryEngine, relation: str) -> list[str]:
    if relation in catalog.definitions.views() or relation in BASE_TABLES:
        return list(catalog.types(relation))
    return list(engine.sql(f'SELECT * FROM "{relation}"').columns)


def _qualified(tree: exp.Query, schema: Mapping[str, list[str]]) -> exp.Query:
    kinds: dict[str, object] = {r: dict.fromkeys(columns, "varchar") for r, columns in schema.items()}
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return qualify(tree.copy(), schema=kinds, dialect=DIALECT, validate_qualify_columns=False)


def columns_read(tree: exp.Query, schema: Mapping[str, list[str]]) -> Iterator[Pair]:
    """Yield pairs that a plain query reads.

    Example:
        >>> from sqlglot import parse_one
        >>> query = parse_one("SELECT upper(text) FROM captions WHERE origin = 'human'")
        >>> sorted(columns_read(query, {"captions": ["caption_id", "text", "origin"]}))
        [('captions', 'origin'), ('captions', 'text')]
    """
    scopes: list[Scope] = []
    if not _is_opaque(tree):
        with contextlib.suppress(*_SLIPS):
            root = build_scope(_qualified(tree, schema))
            scopes = [] if root is None else list(root.traverse())
    if not scopes:
        yield from ((t.name, "*") for t in tree.find_all(exp.Table) if t.name in schema)
        return
    for scope in scopes:
        yield from _of_scope(scope, schema)


def _is_opaque(tree: exp.Query) -> bool:
    """Tell whether it reads columns that it does not name: what a table function or PIVOT takes, what NATURAL joins by."""
    for node in tree.find_all(exp.Columns, exp.Pivot, exp.Join, exp.Table):
        if isinstance(node, exp.Columns | exp.Pivot):
            return True
        if isinstance(node, exp.Join) and str(node.args.get("method") or "").upper() in {"NATURAL", "POSITIONAL"}:
            return True
        if isinstance(node, exp.Table) and (node.name.removesuffix("__bound") in SIGNATURES or _renames(node)):
            return True
    return False


def _renames(table: exp.Table) -> bool:
    alias = table.args.get("alias")
    return isinstance(alias, exp.TableAlias) and bool(alias.columns) and not isinstance(table.this, exp.Func)


def _of_scope(scope: Scope, schema: Mapping[str, list[str]]) -> Iterator[Pair]:
    sources = {a: s.name for a, s in scope.sources.items() if isinstance(s, exp.Table) and s.name in schema}
    unread = set(sources)
    for column in scope.columns:
        if column.table in sources:
            relation = sources[column.table]
            name = _known(column.name, schema[relation])
            unread.discard(column.table)
            yield relation, name or "*"
            continue
        for alias, relation in sources.items() if column.table not in scope.sources else ():
            name = _known(column.parts[0].name, schema[relation])
            if name is not None:
                unread.discard(alias)
                yield relation, name
    for row in scope.find_all(exp.TableColumn):  # the whole row as one value
        if row.name in sources:
            yield sources[row.name], "*"
    stars = scope.expression.expressions if isinstance(scope.expression, exp.Select) else ()
    whole = any(isinstance(s, exp.Star) for s in stars)
    for alias in sources if whole else unread:
        relation = sources[alias]
        yield relation, "*" if whole or relation not in BASE_TABLES else BASE_TABLES[relation].key


def _known(name: str, columns: Iterable[str]) -> str | None:
    return next((c for c in columns if c.lower() == name.lower()), None)


def origins(tree: exp.Query, schema: Mapping[str, list[str]]) -> dict[str, tuple[Pair, ...]]:
    """Return for every column of a query's result the stored columns that its value is made of; empty where it cannot be told.

    Example:
        >>> from sqlglot import parse_one
        >>> query = parse_one("WITH a AS (SELECT text || origin AS t FROM captions) SELECT upper(t) AS u FROM a")
        >>> origins(query, {"captions": ["text", "origin"]})
        {'u': (('captions', 'origin'), ('captions', 'text'))}
    """
    kinds: dict[str, object] = {r: dict.fromkeys(columns, "varchar") for r, columns in schema.items()}
    try:
        qualified = _qualified(tree, schema)
        scope = build_scope(qualified)
        found = lineage(None, qualified, schema=kinds, scope=scope, dialect=DIALECT, trim_selects=False, copy=False)
    except _SLIPS:
        return {}
    nodes = found if isinstance(found, dict) else {}
    return {name: tuple(sorted(set(_leaves(node, schema)))) for name, node in nodes.items()}


def _leaves(node: Node, schema: Mapping[str, list[str]]) -> Iterator[Pair]:
    for one in node.walk():
        source = one.expression
        if isinstance(source, exp.Table) and source.name in schema:
            yield source.name, _known(one.name.rsplit(".", 1)[-1].strip('"'), schema[source.name]) or "*"
