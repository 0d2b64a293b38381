"""What views say was skipped, as rows of ``meta.errors``: a view declared ``WITH (key = …, errors = 'reason')``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.engine.catalog.definitions import ERRORS
from counterbalance.engine.sql import parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from counterbalance.engine.catalog.definitions import Definition

CODE: Final = "skipped"


def views(declared: Mapping[str, Definition]) -> Iterator[Definition]:
    """Yield the views that tell what was skipped, by name."""
    yield from (view for _, view in sorted(declared.items()) if ERRORS in view.options)


def is_told(view: Definition, columns: Collection[str]) -> bool:
    """Tell whether stored rows with these columns tell it: those from before the view was replaced may not."""
    return {*view.key, view.options[ERRORS]} <= {*columns}


def select(view: Definition, relation: str, run: Mapping[str, object] | None) -> str:
    """Return SQL that gives the rows of such a view the columns of ``meta.errors``; those without a reason are none.

    Args:
        view: The view.
        relation: Name under which it is registered.
        run: Its last refresh, in the journal.

    Example:
        >>> from counterbalance.engine.catalog.definitions import Definition
        >>> view = Definition("view", "v", "v", "…", key=("image_id",), options={"errors": "reason"})
        >>> 'FROM "v"' in select(view, "v", None)
        True
    """
    keys = [parse.quoted(name) for name in view.key]
    listed = ", ', ', ".join(f"CAST(to_json({k}) AS VARCHAR)" for k in keys)
    key = f"CAST({keys[0]} AS VARCHAR)" if len(keys) == 1 else f"concat('[', {listed}, ']')"
    ran, at = ("NULL", "NULL") if run is None else (parse.as_text(run["run_id"]), parse.as_text(run["at"]))
    reason, name = parse.quoted(view.options[ERRORS]), parse.as_text(view.name)
    return f"""
        SELECT
          CAST(md5_number_lower(concat({name}, chr(31), {key})) >> 1 AS BIGINT) AS error_id,
          CAST({ran} AS VARCHAR) AS run_id,
          CAST({at} AS TIMESTAMPTZ) AS "at",
          {name} AS table_name,
          {key} AS key,
          '{CODE}' AS code,
          {reason} AS message,
          CAST(1 AS INTEGER) AS attempts
        FROM {parse.quoted(relation)}
        WHERE {reason} IS NOT NULL
    """
