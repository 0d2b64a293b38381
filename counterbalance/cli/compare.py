"""``counterbalance compare``: the distributions of two data sets side by side, with tests of their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import output_options, session_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.cli.options import SessionOptions
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance compare laion.lake cc12m.lake",
    'counterbalance compare laion.lake cc12m.lake --groups image_gender --groups image_race --sensitive "comparison of depiction"',
    "counterbalance compare laion.lake cc12m.lake --attribute scene --format csv -o compared.csv",
)
OTHER: Final = "b"
"""What the second lake is called in the queries."""


@declare("compare", examples=EXAMPLES, short_help="Compare the distributions of two lakes, with tests.")
@click.argument("lake_a", metavar="LAKE_A", type=click.Path())
@click.argument("lake_b", metavar="LAKE_B", type=click.Path())
@click.option(
    "--groups",
    multiple=True,
    metavar="NAME",
    help="Group relation that both lakes have: a view or a call.  [default: caption_gender]",
)
@click.option(
    "--attribute", "attributes", multiple=True, metavar="NAME", help="Short for --groups image_labels('NAME')."
)
@click.option(
    "--min-count",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Suppress cells with fewer than N.",
)
@session_options
@output_options
def command(
    lake_a: str,
    lake_b: str,
    groups: tuple[str, ...],
    attributes: tuple[str, ...],
    min_count: int,
    limits: SessionOptions,
    output: OutputOptions,
) -> int:
    """Put the distributions of LAKE_A and LAKE_B side by side.

    For every group relation: shares of labels, sentiment of texts, over-representation among texts with crime words; for
    every two of them, how often their labels meet. Each row has the value in A and in B, their difference with a 95 %
    interval, a test and its q-value. Perceived labels of two lakes are compared with --sensitive PURPOSE. Attributes that gelda found:
    counterbalance audit LAKE_A compare_attributes attributes=attributes others=b.attributes --attach b=LAKE_B.
    """
    from dataclasses import replace

    from counterbalance.cli.asking import ask
    from counterbalance.engine.sql.parse import as_text

    chosen = [*groups, *(f"image_labels({as_text(a)})" for a in attributes)] or ["caption_gender"]
    if OTHER in {name.lower() for name in limits.attach}:
        raise click.UsageError(f"--attach: {OTHER!r} is the name of LAKE_B here; take another one")
    limits = replace(limits, attach={**limits.attach, OTHER: lake_b})
    text = "\nUNION ALL BY NAME\n".join(_queries(chosen, min_count))
    ask(lake_a, lambda session: session.sql(text, max_rows=limits.max_rows), limits, output)
    return 0


def _queries(chosen: list[str], min_count: int) -> Iterator[str]:
    texts = f"texts := captions, other_texts := {OTHER}.captions"
    for groups in chosen:
        both = f"{groups}, {OTHER}.{groups}"
        yield _query("demographics", groups, f"compare_demographics({both}, min_count := {min_count})")
        yield _query("sentiment", groups, f"compare_sentiment({both}, {texts}, min_count := {min_count})")
        yield _query("crime_words", groups, f"compare_crime_words({both}, {texts}, min_count := {min_count})")
    for number, first in enumerate(chosen):
        for second in chosen[number + 1 :]:
            both = f"{first}, {OTHER}.{first}, crossed := {second}, others_crossed := {OTHER}.{second}"
            call = f"compare_intersections({both}, min_count := {min_count})"
            yield _query("intersections", f"{first}, {second}", call)


def _query(measure: str, groups: str, call: str) -> str:
    from counterbalance.engine.sql.parse import as_text

    return f"SELECT {as_text(measure)} AS measure, {as_text(groups)} AS groups, * FROM {call}"
