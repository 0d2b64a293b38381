"""Selects over one stored table: which they are, what they look at, and what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlglot import exp

from counterbalance.engine.catalog import file_statistics
from counterbalance.engine.sql.parse import visible_ctes
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from counterbalance.engine.catalog.file_statistics import Tallies
    from counterbalance.engine.sql.plan import Plan, Relation, StoredTable

_UNFIT: Final = ("joins", "laterals", "windows", "pivots", "sample", "connect", "match", "cluster")
_OF_TABLE: Final = ("joins", "laterals", "pivots", "sample", "when")
SCALARS: Final = (
    exp.And, exp.Or, exp.Xor, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Cast, exp.TryCast, exp.Lower, exp.Upper,
    exp.Length, exp.Round, exp.Abs, exp.Concat, exp.StartsWith, exp.EndsWith, exp.RegexpLike, exp.Contains, exp.Greatest,
    exp.Least,
)  # fmt: skip
"""Functions of single values that are known to depend on nothing else."""


class Columns(NamedTuple):
    """The columns of a stored table: those that are coded, and the others."""

    coded: Collection[str]
    others: Collection[str]


def columns(tables: Sequence[StoredTable]) -> Columns:
    """Return the columns of stored tables that stand for one relation."""
    coded = tables[0].codes.keys()
    return Columns(coded, {c for table in tables for c in table.dataset.schema.names} - {*coded})


def one_table(select: exp.Select) -> exp.Table | None:
    """Return the one table that a select reads, under its own columns' names, and never by their numbers."""
    source = select.args.get("from_")
    table = source.this if isinstance(source, exp.From) else None
    if not isinstance(table, exp.Table) or isinstance(table.this, exp.Func) or table.args.get("db") is not None:
        return None
    unfit = any(select.args.get(a) for a in _UNFIT) or any(table.args.get(a) for a in _OF_TABLE)
    if unfit or table.alias_column_names or table.name.lower() in visible_ctes(table):
        return None
    return None if find_all(select, exp.PositionalColumn) else table


def over_stored(plan: Plan, tree: exp.Query) -> list[tuple[exp.Select, exp.Table, Relation]]:
    """Return the selects of a plan's tree, or of a copy of it, that read one stored relation, from the outside in."""
    found = []
    for select in find_all(tree, exp.Select):
        source = select.args.get("from_")
        named = source.this if isinstance(source, exp.From) else None
        relation = plan.relation(named) if isinstance(named, exp.Table) else None  # first: most are of no stored table
        if relation is not None and relation.tables and (table := one_table(select)) is not None:
            found.append((select, table, relation))
    return found


def point_at(table: exp.Table, name: str) -> None:
    """Read another relation, under the name that the table goes by."""
    if table.args.get("alias") is None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
    table.set("this", exp.to_identifier(name, quoted=True))


def inside(select: exp.Select) -> list[exp.Expr]:
    """Return the nodes of a select but its sources."""
    parts = [node for key, node in select.args.items() if key not in {"from_", "with_"}]
    whole = [n for part in parts for n in (part if isinstance(part, list) else [part]) if isinstance(n, exp.Expr)]
    return [node for part in whole for node in part.walk()]


def is_odd(node: exp.Expr) -> bool:
    """Tell whether a node reaches beyond the columns that are named, or is a function that is not known here."""
    if isinstance(node, exp.Star):
        return not isinstance(node.parent, exp.Count) or any(node.args.values())
    return isinstance(node, exp.Query | exp.Columns | exp.Lambda | exp.Window) or (
        isinstance(node, exp.Func) and not isinstance(node, (exp.Count, *SCALARS))
    )


def counts_rows(node: exp.Expr) -> bool:
    """Tell whether it is ``count(*)``."""
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star)


def counts_one(count: exp.Count) -> bool:
    """Tell whether it is of all rows, or of one thing, in no order."""
    several = count.expressions or (isinstance(count.this, exp.Distinct) and len(count.this.expressions) != 1)
    return count.this is not None and not several and count.find(exp.Order) is None


def has_nameless(select: exp.Select) -> bool:
    """Tell whether it selects what DuckDB names by its text, other than ``count(*)``."""
    return not all(isinstance(e, exp.Alias | exp.Column) or counts_rows(e) for e in select.expressions)


def replace_count(select: exp.Select, place: exp.Expr, value: exp.Expr) -> None:
    """Put a value in the place of a count, under the name that DuckDB gives the count where it has none."""
    is_selected = place.parent is select and place.arg_key == "expressions"
    place.replace(exp.alias_(value, "count_star()", quoted=True) if is_selected else value)


def made_names(select: exp.Select, columns: Columns) -> set[str]:
    """Return the names that a select gives, and no column has."""
    known = {c.lower() for c in (*columns.coded, *columns.others)}
    return {e.alias.lower() for e in select.expressions if isinstance(e, exp.Alias)} - known


def are_columns(nodes: list[exp.Expr], table: exp.Table, names: Collection[str]) -> bool:
    """Tell whether all columns among some nodes are of a table, and have one of some names in lower case."""
    return all(
        isinstance(c.this, exp.Identifier)
        and c.name.lower() in names
        and c.table.lower() in {"", table.alias_or_name.lower()}
        and not c.args.get("db")
        for c in nodes
        if isinstance(c, exp.Column)
    )


def tallies(table: StoredTable) -> Tallies | None:
    """Return what is kept of the files of a stored table whose codes hold; ``None`` where nothing is, or rows are left out."""
    if not table.codes or table.condition is not None:
        return None
    return file_statistics.of_table(table.lake.location, table.name, table.dataset, table.codes)
