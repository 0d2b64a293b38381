"""``--fail-if CONDITION``: exit with code 4 where a row of a result meets a condition, or none is there, for checks in continuous integration."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    import pyarrow as pa

FAILED: Final = 4
"""Exit code where a row meets the condition, as ``verify`` has it where it finds something."""
_INSTEAD: Final = "where no rows are as they should be, count them: SELECT count(*) AS n FROM …, to fail if n > 0"
_OF_NULL: Final = "where NULL is as it should be, say so: coalesce(CONDITION, false)"
_SHOWN: Final = 20


fail_if_option: Final = click.option(
    "--fail-if",
    metavar="CONDITION",
    help="Exit with code 4 if CONDITION (SQL, such as 'high > 0.2') holds for any row, or if there are no rows of which it tells anything.",
)
"""Declare ``--fail-if``, as the argument ``fail_if``."""


def judge(rows: pa.Table, condition: str) -> tuple[pa.Table, int]:
    """Return the rows that meet a condition, and how many it tells nothing of.

    Args:
        rows: A whole result.
        condition: SQL over its columns.

    Raises:
        SqlError: It is no condition on these columns (E3150).

    Example:
        >>> import pyarrow as pa
        >>> failing, untold = judge(pa.table({"label": ["a", "b", "c"], "high": [0.1, 0.3, None]}), "high > 0.2")
        >>> failing.to_pylist(), untold
        ([{'label': 'b', 'high': 0.3}], 1)
    """
    import duckdb

    from counterbalance.engine.backends.duckdb.connection import scratch
    from counterbalance.engine.errors import SqlError, first_line

    with scratch() as connection:
        connection.register("result", rows)
        try:
            asked = connection.sql(f"SELECT (\n{condition}\n)::BOOLEAN AS meets, * FROM result").to_arrow_table()
        except duckdb.Error as error:
            raise SqlError(
                f"--fail-if {condition!r}: {first_line(error)}",
                code="E3150",
                hint="a condition in SQL on the columns: " + ", ".join(rows.column_names),
            ) from error
        finally:
            connection.unregister("result")
    meets = asked.column(0)  # the result may have a column of that name, too
    return rows.filter(meets), meets.null_count


def nothing_checked(all_rows: int, untold: int) -> str:
    """Return why nothing was checked, which does not pass: an attribute that no label has would pass for good; ``""`` where something was.

    Example:
        >>> nothing_checked(3, 3), nothing_checked(3, 2)
        ('the condition is NULL in every row: nothing was checked', '')
    """
    if not all_rows:
        return "no rows: nothing was checked"
    return "the condition is NULL in every row: nothing was checked" if untold == all_rows else ""


def instead(all_rows: int) -> str:
    """Return what to do where nothing was checked and that is right."""
    return _OF_NULL if all_rows else _INSTEAD


def tell(failing: pa.Table, untold: int, condition: str, all_rows: int) -> int:
    """Write the rows that meet a condition to stderr, or that there are none; returns the exit code."""
    from counterbalance.shell import errors, table
    from counterbalance.shell.output import OutputOptions, Sink

    if nothing := nothing_checked(all_rows, untold):
        errors.note(f"--fail-if: {nothing}, which fails; {instead(all_rows)}")
        return FAILED
    if untold:
        errors.note(f"--fail-if: the condition is NULL in {untold:,} of {all_rows:,} rows, which do not fail")
    if not len(failing):
        return 0
    table.write(failing.slice(0, _SHOWN).to_reader(), Sink(sys.stderr.buffer, OutputOptions()))
    sys.stderr.flush()
    more = f", {_SHOWN} shown" if len(failing) > _SHOWN else ""
    errors.note(f"{len(failing):,} of {all_rows:,} rows fail ({condition}){more}")
    return FAILED
