"""Bytes as arguments of functions: the relation that shows them stands in where a call asks for them.

Pictures are never part of ``SELECT *``. A query that hands such a column to a Python function reads the same table under
another registered name, which has the bytes; its stars leave them out. An export selects them: there a name or a star is
enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def show_bytes(
    tree: exp.Query,
    bytes_of: Callable[[str], Sequence[str]],
    bytes_source: Callable[[str], str],
    *,
    selected: bool = False,
) -> exp.Query:
    """The query with every relation whose bytes a function wants under the name that shows them.

    Args:
        tree: An expanded query; a copy is changed.
        bytes_of: Columns of bytes of a registered relation.
        bytes_source: Registered name under which a relation shows them.
        selected: Whether the query may select them too; its stars then have them.

    Returns:
        ``tree`` itself when no function asks for bytes.
    """
    wanted = _named if selected else _asked

    def found(tree: exp.Query) -> Iterator[tuple[exp.Select, exp.Table, set[str]]]:
        for select in list(tree.find_all(exp.Select)):
            for table in _tables(select):
                columns = set(bytes_of(table.name))
                if columns and wanted(select, table, columns):
                    yield select, table, columns

    if next(found(tree), None) is None:
        return tree
    tree = tree.copy()
    for select, table, columns in found(tree):
        if not selected:
            _stars(select, table, columns)
        if table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        table.set("this", exp.to_identifier(bytes_source(table.name), quoted=True))
    return tree


def _tables(select: exp.Select) -> list[exp.Table]:
    clause = select.args.get("from_")
    sources = [clause.this] if isinstance(clause, exp.From) else []
    sources += [join.this for join in select.args.get("joins") or []]
    return [s for s in sources if isinstance(s, exp.Table) and not isinstance(s.this, exp.Func)]


def _asked(select: exp.Select, table: exp.Table, columns: set[str]) -> bool:
    """Whether a call in this very query reads one of the columns."""
    for call in select.find_all(exp.Anonymous):
        if call.find_ancestor(exp.Select) is not select:
            continue
        for column in call.find_all(exp.Column):
            if column.name in columns and column.table.lower() in {"", table.alias_or_name.lower()}:
                return True
    return False


def _named(select: exp.Select, table: exp.Table, columns: set[str]) -> bool:
    """Whether this very query names one of the columns, or has a star that stands for them."""
    own = {"", table.alias_or_name.lower()}
    for node in select.find_all(exp.Column, exp.Star):
        if node.find_ancestor(exp.Select) is not select or isinstance(node.parent, exp.Count | exp.Column):
            continue
        named = isinstance(node, exp.Column) and (node.is_star or node.name in columns) and node.table.lower() in own
        if named or isinstance(node, exp.Star):
            return True
    return False


def _stars(select: exp.Select, table: exp.Table, columns: set[str]) -> None:
    own = {"", table.alias_or_name.lower()}
    for star in list(select.find_all(exp.Star)):
        if isinstance(star.parent, exp.Column) and star.parent.table.lower() not in own:
            continue
        if star.find_ancestor(exp.Select) is select and not isinstance(star.parent, exp.Count):
            known = list(star.args.get("except_") or [])
            star.set("except_", [*known, *(exp.to_identifier(c) for c in sorted(columns))])
