"""``counterbalance review``: a sheet on which people review edits beside their sources, and the way back of their answers."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from counterbalance.cli.base import OutputPath, declare
from counterbalance.cli.options import connect
from counterbalance.shell import errors

if TYPE_CHECKING:
    from counterbalance.report.sheet.base import Sheet

EXAMPLES = (
    'counterbalance review coco.lake gensynth_set -n 50 --sensitive "review of edits" -o sheet.html',
    "counterbalance review coco.lake coco_counterfactuals_set --question pair -o sheet.html",
    'counterbalance review coco.lake gensynth_set --answers "answers-*.csv"',
)


@declare("review", examples=EXAMPLES, short_help="Write a sheet on which people review edits beside their sources.")
@click.argument("lake", type=click.Path())
@click.argument("view")
@click.option("-o", "--output", "path", type=OutputPath(dir_okay=False, path_type=Path), help="The page to write.")
@click.option("--answers", metavar="FILES", help="Instead of writing a page, ingest the answers that were saved.")
@click.option(
    "--question",
    default="fit",
    show_default=True,
    metavar="NAME|FILE",
    help="What is asked: fit, gender, tone, fill, objects, colors, pair, or a .json file of your own.",
)
@click.option("-n", "count", type=click.IntRange(min=1), default=100, show_default=True, help="Sources on the sheet.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed, another sample.")
@click.option("--annotators", type=click.IntRange(1, 99), default=2, show_default=True, help="How many will answer.")
@click.option("--image", metavar="COLUMN", help="The edited picture in VIEW.  [default: edited, else image]")
@click.option("--blur", is_flag=True, help="Blur heads in persons' boxes, and whole pictures without boxes.")
@click.option("--sensitive", metavar="PURPOSE", help="Why people are shown; it stands on the sheet and is logged.")
def command(lake: str, view: str, path: Path | None, answers: str | None, **asked: Any) -> int:
    """Draw a sample of sources of VIEW and write one HTML sheet that shows each of their edits beside its source.

    VIEW has a row an edit: edit_id, image_id (the source) and the edited picture. Annotators answer by keys (good, flawed,
    harmful, unclear) and save a CSV file; an answer becomes a label of the source, of attribute review:VIEW, whose
    detection_id is the edit. The sheet needs nothing but a browser. With --question it asks what human studies asked:
    perceived gender or tone of edits and, apart, of their sources; what fills the gap of {sentence}; whether things or
    colours are similar; which of {original} and {counterfactual} fits. Words in braces are columns of VIEW.
    """
    if (path is None) == (answers is None):
        raise click.UsageError("give -o FILE to write a sheet, or --answers FILES to take answers in")
    if path is None:
        return _ingest(lake, view, str(answers))
    from counterbalance.report.sheet.review import review

    made = review(connect(lake), path, view=view, **asked)
    errors.remark(_describe_sheet(lake, view, made, asked))
    return 0


def _ingest(lake: str, view: str, answers: str) -> int:
    from counterbalance.report.sheet.review import take_in
    from counterbalance.shell.text import escape

    done = take_in(connect(lake), view, answers)
    kept = done.written + done.updated
    errors.remark(f"{kept:,} new answers taken in from {escape(answers)}, {done.rejected:,} refused")
    return 0


def _describe_sheet(lake: str, view: str, made: Sheet, asked: dict[str, Any]) -> str:
    """Return what was written, and what to do with it."""
    from counterbalance.report.sheet.questions import load
    from counterbalance.report.sheet.review import attribute_of
    from counterbalance.shell.text import escape

    question = load(asked["question"])
    sql = (
        f"SELECT detection_id AS edit_id FROM labels WHERE attribute = '{attribute_of(view)}' "
        "GROUP BY detection_id HAVING bool_and(value = 'good')"
    )
    goal = ["sql", lake, sql]
    if question is not load("fit"):
        goal = ["audit", lake, "agreement", f"attribute={attribute_of(view, question)}"]
        goal += ["--sensitive", asked["sensitive"], "--min-count", "1"] if asked["sensitive"] else []
    lines = [
        f"sheet {made.sheet} written to {made.path}: {made.drawn[view]:,} of {made.population[view]:,} sources",
        *made.notes,
        "then: " + shlex.join(["counterbalance", "review", lake, view, "--answers", f"answers-*-{made.sheet}.csv"]),
        "and: " + shlex.join(["counterbalance", *goal]),
    ]
    return "\n".join(escape(line) for line in lines)
