"""``counterbalance ingest``: a source into a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from counterbalance.cli import values
from counterbalance.cli.base import declare, names_in
from counterbalance.cli.options import connect, durable_option, json_option, print_json, progress_option, shown
from counterbalance.shell import errors

if TYPE_CHECKING:
    import pyarrow as pa

    from counterbalance.engine.write.ingest import IngestReport

EXAMPLES = (
    "counterbalance ingest coco.lake annotations/captions_val2017.json --images val2017/",
    'counterbalance ingest laion.lake "shards/{00000..00041}.tar" --no-store-images',
    "counterbalance ingest cc.lake train.tsv --limit 100000",
    "counterbalance ingest laion.lake part.parquet --map caption=alt --dry-run",
    "counterbalance ingest coco.lake labels.csv --annotator alice --strict",
)

_FORMATS = (
    "coco, laion, captions, karpathy, webdataset, imagefolder, yolo, voc, cvat, openimages, visualgenome, phase, "
    "huggingface, detections, labels or counterfactuals"
)


@declare("ingest", examples=EXAMPLES, short_help="Read images, captions, boxes or labels into a lake.")
@click.argument("lake", type=click.Path())
@click.argument("source", type=click.Path())
@click.option(
    "--format",
    "format_",
    default="auto",
    metavar="FORMAT",
    shell_complete=names_in("counterbalance.formats"),
    help=f"{_FORMATS}.  [default: what the content tells]",
)
@click.option("--split", metavar="NAME", help="Name of the split; else read from file names.")
@click.option(
    "--images", type=click.Path(), metavar="DIR|URI", help="Where the pictures are, when not beside the source."
)
@click.option(
    "--store-images/--no-store-images",
    default=None,
    help="Keep the pictures' bytes in the lake, for functions over image; default: webdataset and huggingface keep them, others do not.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N items.")
@click.option("--dry-run", is_flag=True, help="Count, write nothing.")
@click.option("--map", "mapping", multiple=True, metavar="A=B", help="Column A of the lake is column B of the source.")
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME",
    help="Store a column or member that has no place as labels of its images or boxes; may be repeated.",
)
@click.option("--annotator", metavar="NAME", help="Who made the labels, where the source does not say.")
@click.option("--origin", metavar="NAME", help="Origin of captions or boxes: human, alt_text, generated, a detector.")
@click.option("--strict", is_flag=True, help="Exit with 1 when any item was refused, not only when all were.")
@durable_option
@json_option("the counts")
@progress_option
def command(
    lake: str,
    source: str,
    format_: str,
    *,
    mapping: tuple[str, ...],
    strict: bool,
    as_json: bool,
    progress: str,
    dry_run: bool,
    durable: bool,
    **options: Any,
) -> int:
    """Read SOURCE into LAKE.

    SOURCE is a path, glob, brace range or fsspec URI. The same source again changes nothing; after an interruption the
    same command goes on. What cannot be read is kept in meta.errors and does not stop the rest.
    """
    renamed = values.pairs(mapping, "A=B")
    with shown(progress, "run the same command again to go on") as report:
        done = connect(lake, durable=durable).ingest(
            source, format=format_, mapping=renamed, dry_run=dry_run, strict=False, progress=report, **options
        )
    if as_json:
        print_json(done.to_dict())
    else:
        _print_text(done, lake)
    for text in done.notes:
        errors.note(text)
    if done.reasons.get("unknown_image") and "images" not in done.by_table:
        errors.note("rows name images that the lake has not: ingest the pictures before, or with --images FOLDER")
    if done.known:
        errors.note(f"{done.known:,} perceived labels were there already; whether they changed is not told")
    if done.changed and not done.dry_run and _has_declared(lake):
        errors.note(f"what is declared does not know of this yet: counterbalance refresh {lake}")
    return 1 if done.rejected and (strict or not done.kept) else 0


def _has_declared(lake: str) -> bool:
    from counterbalance.engine.catalog import definitions

    return bool(definitions.load(connect(lake).location).by_target)


def _print_text(done: IngestReport, lake: str) -> None:
    from counterbalance.shell.text import escape

    verb = "would read" if done.dry_run else "read"
    click.echo(f"{verb} {done.rows_read:,} rows of {escape(done.source)} ({done.format}) in {done.seconds:.1f} s")
    if done.by_table:
        _print_counts(done)
    for table, rows in done.first.items():
        _print_first(table, rows)
    if not done.rows_read:
        click.echo("the source has no rows")
    elif not done.changed:
        click.echo("nothing changed: all of it was there already" if done.unchanged else "nothing changed")
    if done.rejected:
        reasons = ", ".join(f"{escape(code)} {count:,}" for code, count in sorted(done.reasons.items()))
        where = f": {reasons}" if done.dry_run else f"; see: counterbalance errors {lake}"
        unread = done.rejected - sum(c.rejected for c in done.by_table.values())
        some = f" ({unread:,} of them as they were read, before any table)" if unread else ""
        all_ = "" if done.kept else ", all that was read"
        click.echo(f"{done.rejected:,} refused{all_}{where}{some}")


def _print_first(table: str, rows: pa.Table) -> None:
    """Print rows as a dry run read them, without columns that say nothing."""
    from counterbalance.shell import output

    said = rows.select([c for c in rows.column_names if rows[c].null_count < rows.num_rows])
    click.echo(f"first rows of {table}:")
    output.write(said.to_reader(), output.OutputOptions())


def _print_counts(done: IngestReport) -> None:
    from counterbalance.shell.describe import columns

    heads = ("", "written", "updated", "unchanged", "rejected", *(("known",) if done.known else ()))
    counts = [(t, *(getattr(c, head) for head in heads[1:])) for t, c in done.by_table.items()]
    cells = [heads, *((t, *(f"{n:,}" for n in numbers)) for t, *numbers in counts)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    click.echo(
        columns([tuple(c.rjust(w) if i else c for i, (c, w) in enumerate(zip(r, widths, strict=True))) for r in cells])
    )
