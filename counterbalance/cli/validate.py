"""``counterbalance validate``: a sheet on which people check a model's labels."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from counterbalance.cli.base import OutputPath, declare
from counterbalance.cli.options import connect
from counterbalance.shell import errors

if TYPE_CHECKING:
    from counterbalance.report.sheet.validation import Sheet

EXAMPLES = (
    "counterbalance validate coco.lake --attribute scene --labels \"image_labels('scene', annotator := 'siglip')\" -o sheet.html",
    (
        "counterbalance validate laion.lake --attribute perceived_gender --unit person "
        "--labels \"person_units('perceived_gender', annotator := 'siglip')\" -n 50 --per-label "
        '--sensitive "validation of the labels" -o sheet.html'
    ),
)


@declare("validate", examples=EXAMPLES, short_help="Write a sheet on which people check a model's labels.")
@click.argument("lake", type=click.Path())
@click.option("--attribute", required=True, metavar="NAME", help="What is asked: an attribute of labels.")
@click.option(
    "--labels", required=True, metavar="RELATION", help="The model's labels: a group relation (image_id, label)."
)
@click.option(
    "--unit",
    type=click.Choice(["image", "person"]),
    default="image",
    show_default=True,
    help="What is shown; for person, image_id of RELATION is a box, as person_units gives it.",
)
@click.option("-n", "count", type=click.IntRange(min=1), default=200, show_default=True, help="Size of the sample.")
@click.option("--per-label", is_flag=True, help="Draw N of each label.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed, another sample.")
@click.option("--annotators", type=click.IntRange(1, 99), default=3, show_default=True, help="How many will answer.")
@click.option("--blur", is_flag=True, help="Blur heads in persons' boxes, and whole pictures without boxes.")
@click.option("--sensitive", metavar="PURPOSE", help="Why people are shown; it stands on the sheet and is logged.")
@click.option(
    "-o", "--output", "path", type=OutputPath(dir_okay=False, path_type=Path), required=True, help="The page to write."
)
def command(lake: str, path: Path, **asked: Any) -> int:
    """Draw a sample within each label of RELATION and write one HTML sheet for annotators.

    The sheet needs nothing but a browser and shows no label of the model. Annotators answer by keys and save a CSV file;
    ingest those files with --format labels, then run the audit label_validation. Labels are perceived: statistics about how
    groups are depicted, never claims about a person.
    """
    from counterbalance.report.sheet.validation import validate_labels

    made = validate_labels(connect(lake), path, **asked)
    errors.remark(_describe_sheet(lake, made, asked))
    return 0


def _describe_sheet(lake: str, made: Sheet, asked: dict[str, Any]) -> str:
    """Return what was written, and what to do with it."""
    from counterbalance.shell.text import escape

    drawn = ", ".join(f"{n} of {made.population[label]:,} {label}" for label, n in made.drawn.items())
    audit = ["counterbalance", "audit", lake, "label_validation", f"model={asked['labels']}"]
    audit += [f"attribute={asked['attribute']}", f"unit={asked['unit']}", f"sheet={made.sheet}"]
    audit += ["--sensitive", asked["sensitive"], "--min-count", "1"] if asked["sensitive"] else []
    lines = [
        f"sheet {made.sheet} written to {made.path}: {drawn}",
        *made.notes,
        "then: " + shlex.join(["counterbalance", "ingest", lake, f"answers-*-{made.sheet}.csv", "--format", "labels"]),
        "and: " + shlex.join(audit),
    ]
    return "\n".join(escape(line) for line in lines)
