"""``counterbalance report``: one page about a lake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import OutputPath, declare
from counterbalance.cli.options import connect, engine_option

if TYPE_CHECKING:
    from counterbalance.engine.backends import Engine

EXAMPLES = (
    "counterbalance report coco.lake -o report.html",
    "counterbalance report coco.lake -o report.html --blur",
    "counterbalance report coco.lake -o report.html --model-bias clip_bias",
)


@declare("report", examples=EXAMPLES, short_help="Write a report of a lake as one HTML page.")
@click.argument("lake", type=click.Path())
@click.option(
    "-o", "--output", "path", type=OutputPath(dir_okay=False, path_type=Path), required=True, help="The page to write."
)
@click.option("--blur", is_flag=True, help="Blur faces in images.")
@click.option(
    "--dataset-bias", default="dataset_bias", show_default=True, help="Relation (concept, value) for bias transfer."
)
@click.option(
    "--model-bias", default="model_bias", show_default=True, help="Relation (category, value) for bias transfer."
)
@engine_option
def command(lake: str, path: Path, blur: bool, dataset_bias: str, model_bias: str, engine: Engine) -> int:
    """Write one self-contained HTML page about LAKE: tables, charts with intervals, sample images, and the SQL of each."""
    if path.suffix.lower() not in {".html", ".htm"}:
        raise click.UsageError(f"a report is an HTML page, which {path.name} does not say; -o {path.stem}.html")
    from counterbalance.report import build
    from counterbalance.shell.progress import StepDone, reporter

    with reporter("auto") as report:
        build.write(
            connect(lake),
            path,
            blur=blur,
            dataset_bias=dataset_bias,
            model_bias=model_bias,
            engine=engine,
            progress=lambda made: report(StepDone("report", made, None, "figures", made)),
        )
    click.echo(f"report written to {path}", err=True)
    return 0
