"""``counterbalance compare``: the distributions of two data sets side by side, with tests of their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.gate import fail_if_option
from counterbalance.cli.options import output_options, session_options

if TYPE_CHECKING:
    from counterbalance.cli.options import SessionOptions
    from counterbalance.engine.result import Result
    from counterbalance.engine.session import Session
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance compare laion.lake cc12m.lake",
    'counterbalance compare laion.lake cc12m.lake --groups image_gender --groups image_race --sensitive "comparison of depiction"',
    "counterbalance compare laion.lake cc12m.lake --attribute scene --format csv -o compared.csv",
    "counterbalance compare laion.lake@paper-v1 laion.lake",
)


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
@fail_if_option
@session_options
@output_options
def command(
    lake_a: str,
    lake_b: str,
    groups: tuple[str, ...],
    attributes: tuple[str, ...],
    min_count: int,
    fail_if: str | None,
    limits: SessionOptions,
    output: OutputOptions,
) -> int:
    """Put the distributions of LAKE_A and LAKE_B side by side; LAKE@TAG and LAKE@2026-11-01 are a lake as it was.

    For every group relation: shares of labels, sentiment of texts, over-representation among texts with crime words; for
    every two of them, how often their labels meet. Each row has the value in A and in B, their difference with a 95 %
    interval, a test and its q-value. Perceived labels of two lakes are compared with --sensitive PURPOSE. Attributes that gelda found:
    counterbalance audit LAKE_A compare_attributes attributes=attributes others=b.attributes --attach b=LAKE_B.

    Intervals and tests are those of two independent samples. Two states of one lake share images: there they find less than
    a comparison image by image would.
    """
    from dataclasses import replace

    from counterbalance.cli.asking import ask
    from counterbalance.engine.sql.parse import as_text
    from counterbalance.engine.store.location import Location, at_moment
    from counterbalance.report import comparison
    from counterbalance.shell import errors

    lake_a, at = at_moment(lake_a)
    if at is not None and limits.at is not None:
        raise click.UsageError(f"--at {limits.at} and {lake_a}@{at} are of the same lake; take one of them")
    chosen = [*groups, *(f"image_labels({as_text(a)})" for a in attributes)]
    if comparison.OTHER in {name.lower() for name in limits.attach}:
        raise click.UsageError(f"--attach: {comparison.OTHER!r} is the name of LAKE_B here; take another one")
    limits = replace(limits, at=at or limits.at, attach={**limits.attach, comparison.OTHER: lake_b})
    text = comparison.query(chosen, min_count)
    empty: list[str] = []

    def compared(session: Session) -> Result:
        captions = session.sql(
            f"SELECT (SELECT count(*) FROM captions), (SELECT count(*) FROM {comparison.OTHER}.captions)"
        )
        empty.extend(lake for lake, count in zip((lake_a, lake_b), captions.fetchall()[0], strict=True) if not count)
        return session.sql(text, max_rows=limits.max_rows)

    asked = ask(lake_a, compared, limits, output, fail_if)
    for lake in empty:
        errors.note(f"{lake} has no captions: what is made of them, such as caption_gender, is empty there")
    if Location(lake_a).root == Location(at_moment(lake_b)[0]).root:
        errors.note(
            "two states of one lake share images; intervals and tests take them for independent samples, and find less than there is"
        )
    return asked.exit_code
