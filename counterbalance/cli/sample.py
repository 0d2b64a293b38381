"""``counterbalance sample``: a drawn data set with known biases."""

from __future__ import annotations

from pathlib import Path

import click

from counterbalance.cli.base import OutputPath, declare
from counterbalance.cli.options import progress_option

EXAMPLES = (
    "counterbalance sample drawn/ --images 500",
    "counterbalance sample drawn/ --images 2000 --seed 7",
)


@declare("sample", examples=EXAMPLES, short_help="Draw a small dataset with known biases.")
@click.argument("directory", type=OutputPath(file_okay=False, path_type=Path))
@click.option("--images", type=click.IntRange(min=1), default=500, show_default=True, metavar="N", help="How many.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="The same seed draws the same set.")
@progress_option
def command(directory: Path, images: int, seed: int, progress: str) -> int:
    """Draw N scenes with captions, boxes, masks and labels into DIRECTORY, with biases that are known.

    The files are laid out as COCO and as webdataset.
    """
    from counterbalance.sample import generate
    from counterbalance.shell.progress import StepDone, reporter

    with reporter(progress) as report:
        generate(
            directory, images=images, seed=seed, progress=lambda n, of: report(StepDone("drawing", n, of, "images", n))
        )
    click.echo(f"{images:,} images in {directory}")
    return 0
