"""``counterbalance report``: one page about a lake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import OutputPath, declare
from counterbalance.cli.options import connect, engine_option, load, load_queries, queries_option, udfs_option
from counterbalance.shell import errors

if TYPE_CHECKING:
    from counterbalance.engine.backends import Engine

EXAMPLES = (
    "counterbalance report coco.lake -o report.html",
    "counterbalance report coco.lake -o report.html --blur",
    "counterbalance report coco.lake -o report.html --examples 4 --blur",
    'counterbalance report coco.lake -o report.html --pin "cooccurrence(caption_gender, word_concepts, min_count := 20)"',
    "counterbalance report coco.lake -o report.html --model-bias clip_bias",
    'counterbalance report coco.lake -o report.html --queries . --pin "my_audit()"',
)


@declare("report", examples=EXAMPLES, short_help="Write a report of a lake as one HTML page.")
@click.argument("lake", type=click.Path())
@click.option(
    "-o", "--output", "path", type=OutputPath(dir_okay=False, path_type=Path), required=True, help="The page to write."
)
@click.option("--blur", is_flag=True, help="Blur faces in images.")
@click.option(
    "--examples",
    type=click.IntRange(0, 12),
    default=0,
    show_default=True,
    help="Pictures of each row of a figure, of the images that it counts.",
)
@click.option(
    "--pin",
    "pinned",
    multiple=True,
    metavar="AUDIT(…)",
    help="An audit to show at the top, as SQL calls it; may be repeated.",
)
@click.option(
    "--dataset-bias", default="dataset_bias", show_default=True, help="Relation (concept, value) for bias transfer."
)
@click.option(
    "--model-bias", default="model_bias", show_default=True, help="Relation (category, value) for bias transfer."
)
@udfs_option
@queries_option
@engine_option
def command(
    lake: str,
    path: Path,
    blur: bool,
    examples: int,
    pinned: tuple[str, ...],
    dataset_bias: str,
    model_bias: str,
    udfs: tuple[str, ...],
    queries: tuple[str, ...],
    engine: Engine,
) -> int:
    """Write one self-contained HTML page about LAKE: tables, charts with intervals, sample images, and the SQL of each."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise click.UsageError(f"a report is an HTML page, which {path.name} does not say; -o {path.stem}.html")
    from counterbalance.report import build

    load(udfs)
    load_queries(queries)
    from counterbalance.shell.progress import StepDone, reporter

    with reporter("auto") as report:
        build.write(
            connect(lake),
            path,
            blur=blur,
            examples=examples,
            pinned=pinned,
            dataset_bias=dataset_bias,
            model_bias=model_bias,
            engine=engine,
            progress=lambda made: report(StepDone("report", made, None, "figures", made)),
        )
    errors.remark(f"report written to {path}")
    return 0
