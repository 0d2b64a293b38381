"""Run an export: one snapshot of the lake, its rows batch by batch into a target, a datasheet, and the mark that it is whole."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.exporting import Exported
from counterbalance.engine.progress import Progress
from counterbalance.engine.sql import statements
from counterbalance.engine.store.location import local_path
from counterbalance.engine.write.journal import require_lake
from counterbalance.export import card, croissant, datasheet, hub, origins, rows
from counterbalance.export.folder import Folder
from counterbalance.export.shards import Output, parse_limit

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.result import Result
    from counterbalance.engine.session import Session
    from counterbalance.export.shards import Form

MEMORY: Final = "2GB"


def export(
    form: type[Form],
    lake: Lake,
    what: str,
    folder: str | os.PathLike[str],
    *,
    shard_size: str | int | None = None,
    overwrite: bool = False,
    sensitive: str | None = None,
    at: str | None = None,
    key: str | None = None,
    image: str | None = None,
    text: str | None = None,
    push: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Exported:
    """Write the rows of a query or a table to a folder.

    Args:
        form: How.
        lake: The lake; it is only read.
        what: A query, or the name of a table or view.
        folder: A path or ``file://`` URI; made where it is not there; refused where it is not empty.
        shard_size: Rows (``10000``) or bytes (``500MB``) of a shard.
        overwrite: Replace an earlier export.
        sensitive: Purpose for which sensitive columns are read; it stands in the datasheet and is logged.
        at: Tag or moment to read.
        key: Column that names samples.
        image: Column of the pictures, where there are several.
        text: Column of the captions.
        push: Repository of the Hugging Face Hub that an export ``--to hf`` is uploaded to; without it nothing is.
        progress: Called after every batch.

    Raises:
        RequestError: The folder, the rows or their keys do not fit; see the codes E3670 to E3678, E3681 to E3683.
        SensitiveError: A relation needs a purpose.
    """
    began = time.monotonic()
    place = local_path(folder)
    if push is not None:
        hub.check(form, push)
    require_lake(lake.location)
    wanted = form.limit if shard_size is None else parse_limit(shard_size)
    asked = {"key": key, "image": image, "text": text}
    with lake.session(at=at, sensitive=sensitive, memory=MEMORY, with_bytes=True, isolated=False) as session:
        results = [_asked(session, s) for s in form.statements(what)]
        origin = origins.trace(lake.location, session, [s for s, _ in results])
        given = [
            rows.columns_of(r.schema, asked if n == 0 else {}, mark=origin.is_synthetic)
            for n, (_, r) in enumerate(results)
        ]
        form.check(given, wanted)
        with Folder(place, overwrite=overwrite) as out:
            output = Output(out, wanted)
            counted = _Counted(form.name, progress)
            writer = form(output)
            for (_, result), columns in zip(results, given, strict=True):
                writer.add(
                    pa.RecordBatch.from_pylist([], schema=result.schema), columns, 0
                )  # its columns, without a row
                for batch in result.to_batches():
                    writer.add(batch, columns, counted.rows)
                    counted.add(batch)
            writer.close()
            facts = datasheet.ExportFacts(lake.uri, form.name, what, sensitive, at, output.rows, output.skipped)
            sources = datasheet.sources_of(session, origin)
            page = datasheet.render(facts, sources, origin, counted.nulls, output.shards)
            with out.file("DATASHEET.md") as sheet:
                sheet.write(page.encode())
            if form.has_card:
                with out.file(card.NAME) as about_it:
                    about_it.write(card.render(lake, at, [s["name"] for s in output.shards]).encode())
            licences = {licence for _, licence, _ in sources or ()}
            about = croissant.render(facts, out.path, writer.records(given[0]), licences)
            with out.file(croissant.NAME) as description:
                description.write(about)
            out.finish(_manifest(facts, output, session))
    notes = [n for _, r in results for n in r.notes]
    pictures = [c.picture for c in given if c.picture is not None]
    blank = counted.rows and any(counted.nulls[name][1] == counted.rows for name in pictures)
    if blank or (output.skipped and not output.rows):
        notes.append(
            "no picture of these rows is in the lake or where their uri says; ingest once more with --images FOLDER"
        )
    if output.unread_masks:
        notes.append(f"{output.unread_masks:,} masks cannot be read; their boxes or images are written without one")
    pushed = None
    if push is not None:
        pushed = hub.push(place, push, quiet=progress is None)
        if origin.sensitive and sensitive is not None:
            notes.append(f"{pushed} holds perceived labels of people: keep it private")
    size = sum(s["bytes"] for s in output.shards)
    seconds = time.monotonic() - began
    return Exported(
        str(folder),
        form.name,
        output.rows,
        output.skipped,
        len(output.shards),
        size,
        seconds,
        notes + origin.notes,
        pushed,
    )


def _asked(session: Session, text: str) -> tuple[str, Result]:
    if statements.read(text) is not None:
        raise RequestError("an export only reads", code="E3678", hint="give a SELECT, or the name of a table or view")
    return text, session.sql(text)


def _manifest(facts: datasheet.ExportFacts, output: Output, session: Session) -> dict[str, Any]:
    return {
        "to": facts.to,
        "lake": facts.lake,
        "what": facts.what,
        "versions": session.versions,
        "rows": output.rows,
        "skipped": output.skipped,
        "shards": output.shards,
    }


class _Counted:
    """Rows so far, and how many of each column are NULL."""

    def __init__(self, name: str, progress: Callable[[Progress], None] | None) -> None:
        self._name, self._progress = name, progress
        self.rows = 0
        self.nulls: dict[str, tuple[str, int]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        for kind, array in zip(batch.schema, batch.columns, strict=True):
            before = self.nulls.get(kind.name, ("", 0))[1]
            self.nulls[kind.name] = (str(kind.type), before + array.null_count)
        if self._progress is not None:
            self._progress(Progress(f"export to {self._name}", self.rows, None, "rows", self.rows))
