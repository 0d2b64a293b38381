"""``counterbalance lineage``: where something comes from, and what is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import location_of, output_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterbalance.engine.catalog.lineage import Graph, Thing
    from counterbalance.shell.output import OutputOptions

    Following = Callable[[Thing], list[tuple[Thing, str]]]

EXAMPLES = (
    "counterbalance lineage coco.lake captions.sentiment",
    "counterbalance lineage coco.lake mood_by_group --mermaid",
    "counterbalance lineage coco.lake captions.text --json",
)
_SQL_SHOWN = 60


@declare("lineage", examples=EXAMPLES, short_help="Show where something comes from, and what is made of it.")
@click.argument("lake", type=click.Path())
@click.argument("name")
@click.option("--mermaid", is_flag=True, help="Print a Mermaid flowchart.")
@output_options
def command(lake: str, name: str, *, mermaid: bool, output: OutputOptions) -> int:
    """Show what NAME is made of and what is made of it, step by step, down to columns, each with the SQL that makes it.

    NAME is a table, a column (captions.text), a view or an index. As rows (--json, --csv …) there is one for each thing
    that is reached, with its direction and distance.
    """
    from counterbalance.engine.catalog import lineage
    from counterbalance.engine.catalog.planning import Catalog
    from counterbalance.shell import present
    from counterbalance.shell.text import escape

    location = location_of(lake)
    if mermaid:
        click.echo(lineage.mermaid(location, name), nl=False)
    elif output.for_eyes:
        graph = lineage.Graph(Catalog(location))
        for line in _tree(graph, graph.find(name)):
            click.echo(escape(line))
    else:
        present.table(lineage.lineage(location, name), output)
    return 0


def _tree(graph: Graph, start: Thing) -> Iterator[str]:
    yield _line(graph, start, " ".join(graph.sql(start).split()))
    for title, following in (("made of", graph.parents), ("read by", graph.children)):
        seen = {start}
        lines = list(_branches(graph, start, following, seen, "  "))
        yield f"{title}{':' if lines else ': nothing'}"
        yield from lines


def _branches(graph: Graph, thing: Thing, following: Following, seen: set[Thing], indent: str) -> Iterator[str]:
    """Yield a line for each thing, below the one that leads to it; what was shown before is not followed again."""
    steps = following(thing)
    for number, (other, _) in enumerate(steps):
        last = number == len(steps) - 1
        again = other in seen
        seen.add(other)
        how = " ".join(graph.sql(other).split())
        how = how if len(how) <= _SQL_SHOWN else how[: _SQL_SHOWN - 1] + "…"
        told = f"{other.name} ({graph.kind(other)}) (see above)" if again and how else _line(graph, other, how)
        yield f"{indent}{'└── ' if last else '├── '}{told}"
        if not again:
            yield from _branches(graph, other, following, seen, indent + ("    " if last else "│   "))


def _line(graph: Graph, thing: Thing, sql: str) -> str:
    return f"{thing.name} ({graph.kind(thing)})" + (f"  {sql}" if sql else "")
