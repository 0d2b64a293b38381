"""Declarations without a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import ddl
from counterbalance.engine.sql import statements

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake

_DO: Final[dict[type, Any]] = {
    statements.AddColumn: ddl.add_column,
    statements.CreateView: ddl.create_view,
    statements.CreateIndex: ddl.create_index,
    statements.DropColumn: ddl.drop_column,
    statements.DropView: ddl.drop_view,
    statements.DropIndex: ddl.drop_index,
}


def declare(lake: Lake, statement: str | statements.Declaration, **options: Any) -> Any:
    """Run a statement that declares or drops something, and nothing around it."""
    if isinstance(statement, str):
        statement = statements.read(statement)
    return _DO[type(statement)](lake.location, statement, **options)
