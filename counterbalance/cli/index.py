"""``counterbalance index``: what indexes cover, and how much a vector index finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import location_of, output_options

if TYPE_CHECKING:
    import pyarrow as pa

    from counterbalance.engine.store.location import Location
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance index coco.lake",
    "counterbalance index coco.lake by_look --recall",
    "counterbalance index coco.lake by_look --recall -k 25 --queries 500 --json",
)


@declare("index", examples=EXAMPLES, short_help="List what indexes cover, or measure the recall of one.")
@click.argument("lake", type=click.Path())
@click.argument("name", required=False)
@click.option("--recall", is_flag=True, help="Compare the vector index NAME with exact search.")
@click.option("-k", "k", type=click.IntRange(min=1), default=10, show_default=True, help="Neighbours, for --recall.")
@click.option("--queries", type=click.IntRange(min=1), default=100, show_default=True, help="Queries, for --recall.")
@output_options
def command(lake: str, name: str | None, *, recall: bool, k: int, queries: int, output: OutputOptions) -> int:
    """List the indexes of LAKE, or the one called NAME: kind, rows covered and not covered, size.

    With --recall: which share of the true K nearest rows a vector index finds at several settings, and how long a query
    takes with it and without. The queries are rows of the table itself, drawn with a fixed seed.
    """
    from counterbalance.shell import present

    if recall and name is None:
        raise click.UsageError("name the index: counterbalance index LAKE NAME --recall")
    location = location_of(lake)
    found = _recall(location, str(name), k, queries) if recall else _covered(location, name)
    if not len(found) and output.for_eyes:
        click.echo("no index is declared")
        return 0
    present.table(found, output)
    return 0


def _covered(location: Location, name: str | None) -> pa.Table:
    import pyarrow as pa

    from counterbalance.engine.catalog import closed, definitions, snapshot
    from counterbalance.engine.search import indexes
    from counterbalance.engine.store import tables

    rows, hidden = [], closed.load(location, snapshot.newest(location))
    for definition in sorted(definitions.load(location).indexes().values(), key=lambda d: (d.table, d.name)):
        dataset = tables.open_table(location, definition.table)
        there: Any = next((c for c in _coverages(indexes, dataset) if c.name == definition.name), None)
        rows.append(
            {
                "name": definition.name,
                "table_name": definition.table,
                "column": definition.sql,
                "kind": definition.options["kind"],
                "state": "built" if there is not None else "not built",
                "indexed": 0 if there is None else there.indexed,
                "unindexed": dataset.count_rows()
                if there is None and dataset is not None
                else getattr(there, "unindexed", 0),
                "bytes": None if there is None else there.bytes,
            }
        )
        if hidden.holds(definition):
            rows[-1] |= dict.fromkeys(("state", "indexed", "unindexed", "bytes"))
    if name is not None:
        rows = [r for r in rows if r["name"] == name] or _missing(name, [r["name"] for r in rows])
    text, number = pa.string(), pa.int64()
    texts = ("name", "table_name", "column", "kind", "state")
    numbers = ("indexed", "unindexed", "bytes")
    return pa.Table.from_pylist(rows, schema=pa.schema([*((n, text) for n in texts), *((n, number) for n in numbers)]))


def _coverages(indexes: Any, dataset: Any) -> list[Any]:
    return [] if dataset is None else list(indexes.coverages(dataset))


def _missing(name: str, known: list[str]) -> list[dict[str, Any]]:
    from counterbalance.engine.errors import NotFoundError, did_you_mean

    hint = "indexes: " + (", ".join(known) or "none is declared")
    raise NotFoundError(f"no index {name!r}{did_you_mean(name, known)}", code="E1034", hint=hint)


def _recall(location: Location, name: str, k: int, queries: int) -> pa.Table:
    from counterbalance.engine.catalog import closed, definitions, snapshot
    from counterbalance.engine.refresh.indexes import spec_of
    from counterbalance.engine.search.recall import recall
    from counterbalance.engine.sql.resolver import closed_to_all
    from counterbalance.engine.store import tables

    known = definitions.load(location).indexes()
    if name not in known:
        _missing(name, sorted(known))
    if closed.load(location, snapshot.newest(location)).holds(known[name]):
        raise closed_to_all(f"what index {name} covers", hint="measure an index over open rows")
    dataset: Any = tables.open_table(location, known[name].table)
    return recall(dataset, spec_of(known[name]), k=k, queries=queries)
