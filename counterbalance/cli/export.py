"""``counterbalance export``: the rows of a query or table as files for training, with a datasheet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from counterbalance.cli.base import OutputPath, declare, names_in
from counterbalance.cli.options import (
    connect,
    download_option,
    json_option,
    load,
    print_json,
    progress_option,
    shown,
    udfs_option,
)

if TYPE_CHECKING:
    from counterbalance.engine.exporting import Exported

EXAMPLES = (
    "counterbalance export coco.lake images --to coco coco_again/",
    (
        'counterbalance export coco.lake "SELECT caption_id, text, image FROM captions JOIN images USING (image_id)" '
        "--to webdataset shards/ --shard-size 500MB"
    ),
    'counterbalance export coco.lake gensynth_set --to hf contrast/ --sensitive "training without gender bias"',
    "counterbalance export coco.lake images --to hf pictures/ --push me/pictures",
)


@declare("export", examples=EXAMPLES, short_help="Write rows with their pictures as files for training.")
@click.argument("lake", type=click.Path())
@click.argument("what", metavar="QUERY|TABLE")
@click.argument("folder", metavar="DIR", type=OutputPath(path_type=Path))
@click.option(
    "--to",
    required=True,
    metavar="TARGET",
    shell_complete=names_in("counterbalance.exports"),
    help="webdataset, coco, imagefolder, parquet or hf.",
)
@click.option("--shard-size", metavar="N|SIZE", help="Rows or bytes of a shard, e.g. 10000 or 500MB.  [default: 500MB]")
@click.option("--overwrite", is_flag=True, help="Replace an earlier export in DIR.")
@click.option("--key", metavar="COLUMN", help="What names samples.  [default: edit_id, key, image_id …]")
@click.option("--image", metavar="COLUMN", help="The picture, where there are several.  [default: image]")
@click.option("--text", metavar="COLUMN", help="The caption, or a list of them.  [default: text, caption …]")
@click.option("--at", metavar="TAG|TIME", help="Read the lake as it was at a tag or moment (ISO 8601, UTC).")
@click.option(
    "--sensitive", metavar="PURPOSE", help="Read sensitive columns too; PURPOSE is logged and in the datasheet."
)
@click.option(
    "--push", metavar="OWNER/NAME", help="Upload an export --to hf to the Hugging Face Hub; a new one is private."
)
@udfs_option
@download_option
@json_option("what was done")
@progress_option
def command(
    lake: str,
    what: str,
    folder: Path,
    *,
    to: str,
    udfs: tuple[str, ...],
    as_json: bool,
    progress: str,
    **options: Any,
) -> int:
    """Write the rows of QUERY or TABLE to DIR, pictures and captions included, with DATASHEET.md beside them.

    Here a query may select pictures (SELECT image …), and pictures keep their bytes. webdataset, imagefolder and coco can be
    ingested again; hf is read by datasets.load_dataset("DIR"). A DIR that is not empty is refused. Files appear whole,
    shard by shard; after an interruption the same command starts again. Of imagefolder, shards are folders and made only
    with --shard-size; coco has none. Nothing is uploaded without --push.
    """
    load(udfs)
    with shown(progress, "the export is not whole; the same command starts it again") as report:
        done = connect(lake).export(what, folder, to, progress=report, **options)
    _print(done, as_json=as_json)
    return 0


def _print(done: Exported, *, as_json: bool) -> None:
    from counterbalance.shell import errors
    from counterbalance.shell.progress import amount
    from counterbalance.shell.text import escape

    if as_json:
        print_json(done.to_dict())
        return
    for text in done.notes:
        errors.note(text)
    left = f", {done.skipped:,} left out because they have no picture" if done.skipped else ""
    parts = f"{done.shards:,} part{'' if done.shards == 1 else 's'}"
    size = amount(done.bytes, "bytes")
    click.echo(f"{done.rows:,} rows written to {escape(done.folder)} ({done.to}, {parts}, {size}){left}")
    if done.pushed is not None:
        click.echo(f"pushed to {escape(done.pushed)}")
