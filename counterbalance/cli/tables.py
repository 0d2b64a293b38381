"""``counterbalance tables``: what a lake holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import SessionOptions, output_options, purpose_option

if TYPE_CHECKING:
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance tables coco.lake",
    "counterbalance tables coco.lake --all --json",
    "counterbalance tables coco.lake --at 2026-11-01",
    "counterbalance tables coco.lake --croissant > croissant.json",
)


@declare("tables", examples=EXAMPLES, short_help="List what a lake holds.")
@click.argument("lake", type=click.Path())
@click.option("--at", metavar="TAG|TIME", help="As it was at a tag or moment.")
@click.option(
    "--all", "all_", is_flag=True, help="Also built-in views, audits, system tables, word lists and table functions."
)
@click.option("--croissant", is_flag=True, help="As a description in Croissant (JSON-LD), for catalogues of datasets.")
@purpose_option
@output_options
def command(
    lake: str, *, at: str | None, all_: bool, croissant: bool, sensitive: str | None, output: OutputOptions
) -> int:
    """List the tables and materialized views of LAKE with their rows, versions and columns."""
    if croissant:
        from counterbalance.export.croissant import render_lake

        with SessionOptions(at=at, sensitive=sensitive).open(lake) as session:
            click.echo(render_lake(lake, session).decode(), nl=False)
        return 0
    import pyarrow as pa

    from counterbalance.engine.information_schema import STORED
    from counterbalance.shell import describe, errors, present

    with SessionOptions(at=at, sensitive=sensitive).open(lake) as session:
        stored = {
            row["name"]: row
            for row in session.sql("SELECT name, rows, version FROM meta.tables").to_arrow().to_pylist()
        }
        rows = [
            {
                "name": describe.full_name(r),
                "kind": r.kind,
                "rows": stored.get(r.name, {}).get("rows") if r.kind in STORED else None,
                "version": stored.get(r.name, {}).get("version") if r.kind in STORED else None,
                "columns": ", ".join(name for name, _ in r.columns) or r.signature or r.doc,
            }
            for r in session.relations()
            if r.kind in STORED or (all_ and r.kind != "function")
        ]
    schema = pa.schema(
        [
            ("name", pa.string()),
            ("kind", pa.string()),
            ("rows", pa.int64()),
            ("version", pa.int64()),
            ("columns", pa.string()),
        ]
    )
    present.rows(rows, schema, replace(output, rows=len(rows)))
    if not all_:
        errors.note("--all lists built-in views, audits, system tables and word lists, too")
    return 0
