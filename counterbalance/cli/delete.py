"""``counterbalance delete``: take images out of a lake."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import connect, durable_option, json_option, print_json, progress_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.engine.refresh.deleting import DeleteReport

EXAMPLES = (
    "counterbalance delete coco.lake --where \"license = 'CC BY-NC'\"",
    "counterbalance delete coco.lake --ids optout.txt --apply --purge",
    "counterbalance delete laion.lake --ids optout.parquet --column url --apply",
    "counterbalance delete coco.lake --purge --apply --drop-tag paper",
)
_BY: Final = {"image_id": "image_id", "key": "key", "uri": "uri", "url": "uri", "sha256": "sha256"}
"""Columns of a file whose name says what is in them."""
_BUSY: Final = 75


@declare("delete", examples=EXAMPLES, short_help="Delete images from a lake for good.")
@click.argument("lake", type=click.Path())
@click.option("--where", metavar="SQL", help="The images for which this condition holds.")
@click.option(
    "--ids",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="The images with these ids, keys, uris or SHA-256 digests: one a line, or a column of CSV or Parquet; - is stdin.",
)
@click.option("--column", metavar="NAME", help="Column of FILE; image_id, key, uri (url) and sha256 say what it holds.")
@click.option("--purge", is_flag=True, help="Leave no byte in old versions, indexes and computed results either.")
@click.option(
    "--drop-tag", "drop_tags", multiple=True, metavar="TAG", help="With --purge: give up a tag that holds some."
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Wait so long for other writers and for readers of old versions.",
)
@click.option("--apply", is_flag=True, help="Do it; without this, only show what would be deleted.")
@durable_option
@json_option("the report")
@progress_option
def command(
    lake: str,
    *,
    where: str | None,
    file: str | None,
    column: str | None,
    purge: bool,
    drop_tags: tuple[str, ...],
    wait: float,
    apply: bool,
    durable: bool,
    as_json: bool,
    progress: str,
) -> int:
    """Tell what would go of LAKE with some images, and with --apply take it out.

    That is: their rows, captions, boxes and labels, open and closed, what was computed of them, and what is said of
    them in meta.errors. They do not come back: the next ingest refuses them. Old versions keep them until gc takes these
    away; --purge does it at once, refreshes views and makes indexes anew, and says what still holds something.
    Exit codes: 0 done; 1 a tag or a view still holds something after --purge; 75 somebody else is writing or reading.
    """
    from counterbalance.shell.progress import reporter

    if column is not None and file is None:
        raise click.UsageError("--column is a column of --ids FILE")
    if drop_tags and not purge:
        raise click.UsageError("--drop-tag goes with --purge")
    names, by = (None, None) if file is None else read_names(file, column)
    with reporter(progress) as report:
        opened = connect(lake, durable=durable)
        done = opened.delete(
            where, names, by=by, apply=apply, purge=purge, drop_tags=drop_tags, wait=wait, progress=report
        )
    if done.applied:
        from counterbalance.ui import kept

        kept.forget(opened.location.root)
    if as_json:
        print_json(done.to_dict())
    else:
        _print(done, lake)
    if not done.applied or not done.held:
        return 0
    return _BUSY if done.busy else 1


def read_names(file: str, column: str | None) -> tuple[list[str], str | None]:
    """Return the names of images in a file, and what they are where its column says so.

    Raises:
        click.UsageError: There is no such column, or several could be meant.
        SourceError: The file is not what its name says.
    """
    from counterbalance.engine.errors import NotFoundError, SourceError

    suffix = Path(file).suffix.lower()
    if file != "-" and not Path(file).is_file():
        raise NotFoundError.source(file)
    try:
        if suffix == ".parquet":
            return _of_parquet(file, column)
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8-sig")
        if suffix in {".csv", ".tsv"} or column is not None:
            return _of_csv(text, "\t" if suffix == ".tsv" else ",", file, column)
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise SourceError(f"{file} cannot be read: {error}", code="E4054", hint="UTF-8, one name a line") from error
    return [line.strip() for line in text.splitlines() if line.strip()], None


def _of_csv(text: str, delimiter: str, file: str, column: str | None) -> tuple[list[str], str | None]:
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    name = _chosen(rows.fieldnames or (), file, column)
    return [value.strip() for row in rows if (value := row[name]) and value.strip()], _BY.get(name.lower())


def _of_parquet(file: str, column: str | None) -> tuple[list[str], str | None]:
    import pyarrow as pa
    from pyarrow import parquet

    from counterbalance.engine.errors import SourceError, first_line

    try:
        name = _chosen(parquet.read_schema(file).names, file, column)
        values = parquet.read_table(file, columns=[name])[name].cast(pa.string()).to_pylist()
    except pa.ArrowInvalid as error:
        raise SourceError(
            f"{file} cannot be read: {first_line(error)}", code="E4054", hint="a column of numbers or texts"
        ) from error
    return [value for value in values if value], _BY.get(name.lower())


def _chosen(columns: Sequence[str], file: str, column: str | None) -> str:
    """Return the column that was named, the only one, or the only one whose name says what it holds."""
    if column is not None and column in columns:
        return column
    telling = [c for c in columns if c.lower() in _BY]
    if column is None and (len(columns) == 1 or len(telling) == 1):
        return (telling or list(columns))[0]
    what = "which column of" if column is None else f"there is no column {column!r} in"
    raise click.UsageError(f"{what} {file}{'?' if column is None else '.'} Its columns: {', '.join(columns) or 'none'}")


def _print(done: DeleteReport, lake: str) -> None:
    from counterbalance.engine.write.removal import said
    from counterbalance.shell import errors
    from counterbalance.shell.progress import amount

    found = "none of them is in the lake" if done.asked and not done.images else said(done.rows)
    if done.asked:
        click.echo(f"{'removed' if done.applied else 'would remove'} {found}" if done.images else found)
    if done.unknown and done.images:
        click.echo(f"{done.unknown:,} of {done.asked:,} names are of no image in the lake")
    if done.purged:
        size = amount(done.bytes, "bytes")
        click.echo(f"freed {size}; " + ("nothing is left" if done.complete else "not complete"))
    elif not done.applied:
        click.echo("nothing was removed: add --apply")
    for text in done.held:
        errors.note(f"{'still held' if done.applied else 'will be held'} by {text}")
    for text in done.notes:
        errors.note(text)
    if done.views and done.applied:
        errors.note(f"{', '.join(done.views)} may still tell of them: counterbalance refresh {lake}")
    if done.applied and done.images and not done.purged:
        errors.note(f"old versions still hold them: counterbalance delete {lake} --purge --apply")
