"""``counterbalance train``: make a model from what a lake holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from counterbalance.cli.base import Command, WithExamples
from counterbalance.cli.options import connect, download_option, json_option, print_json, progress_option, shown
from counterbalance.udfs.models.settings import DEFAULTS, MODEL, PRESETS

if TYPE_CHECKING:
    from counterbalance.udfs.models.training import Trained

EXAMPLES = (
    'counterbalance train classifier laion.lake --labels consensus --attribute gender --output gender/ --sensitive "an audit"',
    "counterbalance train classifier coco.lake --labels labels --attribute posture --output posture/ --epochs 20 --json",
    "counterbalance train classifier coco.lake --labels labels --attribute posture --output posture/ --epochs 2,5,10 --batch-size 16,32",
    "counterbalance train classifier coco.lake --labels labels --attribute posture --output posture/ --preset paper_gender_grid",
)


class _Several(click.ParamType[list[Any]]):
    """One value, or several between commas."""

    def __init__(self, each: click.ParamType[Any]) -> None:
        self._each, self.name = each, each.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        if isinstance(value, list):
            return value
        return [self._each.convert(part, param, ctx) for part in value.split(",")]


class TrainGroup(WithExamples, click.Group):
    """Commands under one word, with the examples of all."""

    examples = EXAMPLES


@click.group("train", cls=TrainGroup, short_help="Train a classifier from labels of a lake.")
def command() -> None:
    """Train a model from what a lake holds."""


@command.command(
    "classifier", cls=Command, examples=EXAMPLES, short_help="Fine-tune a vision model on labels of persons."
)
@click.argument("lake", type=click.Path())
@click.option("--labels", required=True, metavar="RELATION", help="Rows of (detection_id, value), one label a box.")
@click.option("--attribute", required=True, metavar="NAME", help="What is labelled, such as perceived_gender.")
@click.option("--output", required=True, type=click.Path(), metavar="FOLDER", help="The folder to make.")
@click.option(
    "--images", metavar="RELATION", help="Rows of (detection_id, image).  [default: crops of the boxes of persons]"
)
@click.option(
    "--preset",
    type=click.Choice(tuple(PRESETS)),
    metavar="NAME",
    help="Settings of Girrbach et al. (2025), D and E.2: " + ", ".join(PRESETS) + "; what you give beside it wins.",
)
@click.option(
    "--model",
    metavar="NAME",
    help=f"open_clip's name/pretrained, hf-hub:…, or a folder.  [default: {MODEL}]",
)
@click.option(
    "--epochs",
    type=_Several(click.IntRange(min=1)),
    metavar="N[,N]...",
    help=f"In all; the first trains the head alone.  [default: {DEFAULTS.epochs}]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=DEFAULTS.seed,
    show_default=True,
    metavar="S",
    help="Of split, head and order.",
)
@click.option(
    "--batch-size",
    type=_Several(click.IntRange(min=1)),
    metavar="N[,N]...",
    help=f"Pictures a step.  [default: {DEFAULTS.batch_size}]",
)
@click.option("--lr", type=float, metavar="R", help=f"Learning rate of the head alone.  [default: {DEFAULTS.lr}]")
@click.option(
    "--tower-lr",
    type=_Several(click.FLOAT),
    metavar="R[,R]...",
    help=f"Highest rate of all weights after it.  [default: {DEFAULTS.tower_lr}]",
)
@click.option("--device", default="auto", show_default=True, metavar="NAME", help="auto, cpu, cuda, cuda:0 …")
@click.option("--sensitive", metavar="PURPOSE", help="Read sensitive labels; PURPOSE goes into the access log.")
@download_option
@json_option("what was done")
@progress_option
def classifier(lake: str, *, as_json: bool, progress: str, **options: Any) -> int:
    """Fine-tune the vision tower of an open_clip model with a linear head on labels of LAKE, and write it to FOLDER.

    The first epoch trains the head alone, the others everything; the best epoch on the validation split is kept. Of several
    epochs, batch sizes or rates every combination is trained, and the best one on the validation split taken. Labels are
    split 80/10/10 by image. FOLDER gets model.safetensors, config.json and a model card; label_person('NAME', 'FOLDER')
    asks it. A FOLDER that holds this very classifier is left as it is. Perceived labels tell how groups are depicted,
    never who a person is.
    """
    from counterbalance.udfs.models.training import train

    with shown(progress, "nothing was written; the same command starts again") as report:
        done = train(connect(lake), progress=report, **options)
    if as_json:
        print_json(done.to_dict())
    else:
        _print_text(done)
    return 0


def _print_text(done: Trained) -> None:
    from counterbalance.shell.text import escape

    where = escape(done.output)
    if not done.trained:
        click.echo(f"{where} holds this classifier already: same labels, pictures and settings")
        return
    classes = ", ".join(escape(c) for c in done.classes)
    click.echo(f"{where}: {escape(done.attribute)} ({classes}), epoch {done.best_epoch}, in {done.seconds:.1f} s")
    for name, label in (("accuracy", "accuracy"), ("macro_f1", "macro F1"), ("ece", "calibration error")):
        value = done.test[name]
        click.echo(f"{label} on the test split: {'too few pictures to tell' if value is None else f'{value:.3f}'}")
    click.echo("perceived labels tell how groups are depicted, never who a person is; see README.md there")
