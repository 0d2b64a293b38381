"""The lake: what users hold in their hands. It delegates everything."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, overload

from counterbalance.engine.errors import NotFoundError, RequestError, SourceError, did_you_mean, is_ctrl_c
from counterbalance.engine.ingest_types import GROUP, Chunk, ReadOptions, Source
from counterbalance.engine.plugins import by_name, called
from counterbalance.engine.sql import statements
from counterbalance.engine.store import tables
from counterbalance.engine.store.location import Location, at_moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import lancedb
    import pyarrow as pa

    from counterbalance.engine.backends import Engine
    from counterbalance.engine.catalog.snapshot import Snapshot
    from counterbalance.engine.catalog.verify import Verified
    from counterbalance.engine.exporting import Exported
    from counterbalance.engine.functions import OpenFunctions
    from counterbalance.engine.progress import Progress
    from counterbalance.engine.recipes.model import RecipeReport, StepReport
    from counterbalance.engine.refresh.deleting import DeleteReport
    from counterbalance.engine.refresh.gc import GcReport
    from counterbalance.engine.refresh.model import RefreshReport
    from counterbalance.engine.result import Result
    from counterbalance.engine.session import Session
    from counterbalance.engine.write.ingest import IngestReport

F = TypeVar("F", bound="Callable[..., Any]")


def _readable(method: F) -> F:
    """Decorate a method so that damaged files and Ctrl-C are what they are (``StorageError``, ``KeyboardInterrupt``), whatever Lance and DuckDB raise."""

    @functools.wraps(method)
    def wrapper(self: Lake, *args: Any, **kwargs: Any) -> Any:
        try:
            with tables.reading(self.location):
                return method(self, *args, **kwargs)
        except Exception as error:
            if is_ctrl_c(error):
                raise KeyboardInterrupt from error
            raise

    return cast("F", wrapper)


class Lake:
    """A dataset as a folder of Lance tables, asked in SQL.

    Opening it touches nothing. A lake is made by its first ingest. In a ``with`` block its sessions are closed at the end.

    Args:
        uri: A path, or an fsspec URI (``file://``, ``s3://``, ``memory://`` …).
        storage_options: For Lance's object store; the environment's credentials are used without them.
        durable: Have what is written on the disk before a call returns; else it survives a kill of the process, not a
            loss of power.

    Example:
        >>> import pyarrow as pa
        >>> lake = Lake("memory://doc")
        >>> images = pa.table({"image_id": [1, 2], "key": ["1", "2"]})
        >>> report = lake.ingest({"images": images})
        >>> lake.sql("SELECT count(*) AS n FROM images WHERE image_id > $x", x=1).fetchall()
        [(1,)]
        >>> lake.ingest({"images": images}).changed
        False
    """

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None, *, durable: bool = False) -> None:
        self.location = Location(str(uri), storage_options or {}, durable)
        if self.location.is_local and self.location.path.is_file():
            raise NotFoundError.lake(str(uri))
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        self._models: OpenFunctions | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Self], tuple[str, dict[str, str]]]:
        """Open it anew in another process, as workers of a data loader do: its place and storage options go there.

        Raises:
            RequestError: It is in memory (E3013).
        """
        if self.location.is_memory:
            hint = "a lake in a folder, or on an object store, can be opened by several processes"
            raise RequestError(f"{self.uri} lives in this process only", code="E3013", hint=hint)
        return type(self), (self.uri, dict(self.location.storage_options))

    def close(self) -> None:
        """Close every session that it opened, and let models go; what was not read yet cannot be read any more."""
        self._models = None
        for session in list(self._sessions):
            session.close()

    @property
    def uri(self) -> str:
        """Return where it lies, as given."""
        return self.location.uri

    def __repr__(self) -> str:
        return f"Lake({self.uri!r})"

    @_readable
    def ingest(
        self,
        source: str | Mapping[str, Any],
        format: str = "auto",  # noqa: A002 - the word of the command line
        *,
        dry_run: bool = False,
        strict: bool = False,
        sensitive: frozenset[str] = frozenset(),
        wait: float = 1.0,
        progress: Callable[[Progress], None] | None = None,
        **options: Any,
    ) -> IngestReport:
        """Read a source into the lake; the same source again changes nothing.

        Args:
            source: Path, glob or URI for the format's reader; a ``Dataset`` or ``DatasetDict`` of Hugging Face; or a
                mapping from base table to rows (anything with ``__arrow_c_stream__``).
            format: ``coco``, ``laion``, ``captions``, ``karpathy``, ``webdataset``, ``imagefolder``, ``yolo``, ``voc``, ``cvat``,
                ``openimages``, ``visualgenome``, ``phase``, ``huggingface``, ``detections``, ``labels``, ``counterfactuals``, or
                ``arrow`` for a mapping; without it the content tells.
            dry_run: Count, write nothing.
            strict: Raise when an item was refused, after everything else was kept.
            sensitive: Further attributes of ``labels`` to keep apart.
            wait: Seconds to wait for another writer.
            progress: Called after every chunk.
            options: Fields of ``ReadOptions``: split, images, store_images, limit, mapping, keep, annotator, origin.

        Returns:
            Counts by table: written, updated, unchanged, rejected, and of perceived labels known (updated or unchanged).

        Raises:
            SourceError: A file is not what it says (the lake is untouched), or ``strict`` and something was refused.
            BusyError: Somebody else is writing.
        """
        from counterbalance.engine.write.ingest import ingest

        source = os.fspath(source) if isinstance(source, os.PathLike) else source
        format = format if format == "auto" else called(format, GROUP)  # noqa: A001
        format = format if isinstance(source, str) else _format_in_memory(source, format)  # noqa: A001
        read: Callable[[Any, ReadOptions], Source] = _read_arrow if format == "arrow" else reader(format)
        known = [f.name for f in dataclasses.fields(ReadOptions)]
        if unknown := [name for name in options if name not in known]:
            message = f"ingest() has no option {unknown[0]!r}{did_you_mean(unknown[0], known)}"
            raise RequestError(message, code="E3046", hint="options: " + ", ".join(known))
        asked = ReadOptions(**options)
        report = ingest(
            self.location,
            read(source, asked),
            format,
            dry_run=dry_run,
            limited=asked.limit is not None,
            sensitive=sensitive,
            wait=wait,
            progress=progress,
        )
        if strict and report.rejected:
            raise SourceError(
                f"{report.rejected} items of {report.source} were refused",
                code="E4009",
                hint="everything else was kept; the reasons are in meta.errors",
            )
        return report

    @_readable
    def session(
        self,
        *,
        attach: Mapping[str, str | Lake] | None = None,
        isolated: bool | None = None,
        queries: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Session:
        """Open a session on one snapshot; see ``Session`` for its settings.

        Args:
            attach: Other lakes by name; ``LAKE@v1`` and ``LAKE@2026-11-01`` are a lake at a tag or moment.
            isolated: Queries run in a worker process, which is held to the limits and may crash; by default where ``timeout``
                or ``memory`` is given. A lake in memory is read in this process.
            queries: A folder of audits, views and functions of one's own, which this process knows from then on.
            settings: Of ``Session``.
        """
        from counterbalance.engine.session import Session
        from counterbalance.engine.sql.queries import load

        if queries is not None:
            load(os.fspath(queries))
        told = {
            name: (lake, None) if isinstance(lake, Lake) else at_moment(lake) for name, lake in (attach or {}).items()
        }
        places = {n: (lake if isinstance(lake, Lake) else Lake(lake)).location for n, (lake, _) in told.items()}
        moments = {name: at for name, (_, at) in told.items() if at is not None}
        settings["attached_at"] = {**(settings.get("attached_at") or {}), **moments}
        limited = any(settings.get(limit) is not None for limit in ("timeout", "memory"))
        limited &= settings.get("engine") != "spark"
        apart = _is_apart(self.location, *places.values(), isolated=isolated, limited=limited)
        opened = Session(self.location, attach=places, isolated=isolated is True if apart else None, **settings)
        self._sessions.add(opened)
        return opened

    def sql(
        self,
        text: str,
        values: Mapping[str, Any] | Sequence[Any] | None = None,
        /,
        *,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        at: str | None = None,
        attach: Mapping[str, str | Lake] | None = None,
        sensitive: str | None = None,
        timeout: float | None = None,
        memory: str | None = None,
        threads: int | None = None,
        engine: Engine = "duckdb",
        isolated: bool | None = None,
        max_rows: int | None = None,
        queries: str | os.PathLike[str] | None = None,
        **named: Any,
    ) -> Result:
        """Return a query's result, on the newest versions (or those of ``at``), lazy until it is read.

        Values of ``$name`` are keywords or, where a keyword has another meaning, a mapping: ``sql("SELECT $at", {"at": 1})``;
        those of ``?`` are a list: ``sql("SELECT ?", params=[1])``.
        Tables of your own are given likewise, and read by name: ``sql("SELECT * FROM mine JOIN images USING (key)", mine=df)``.
        Models that it loads stay for the next query, until one names others; ``close``, ``refresh`` and ``recipe`` let them go.
        Audits, views and functions of your own in the folder ``queries`` can be named, there and from then on.
        With ``timeout`` or ``memory`` it runs in a worker process, which is ended where it does not keep to them (``isolated``).
        """
        from counterbalance.engine.sql import arguments
        from counterbalance.engine.sql import queries as query_files

        settings: dict[str, Any] = {
            "at": at,
            "sensitive": sensitive,
            "timeout": timeout,
            "memory": memory,
            "threads": threads,
            "engine": engine,
        }
        arguments.not_settings(
            attach=attach, isolated=isolated, max_rows=max_rows, params=params, queries=queries, **settings
        )
        session = self.session(attach=attach, isolated=isolated, queries=queries, **settings)
        result = session.sql(text, values, params=params, max_rows=max_rows, **named)
        if queries is not None:
            left = query_files.broken().items()
            result.notes += [f"{name} was left out: {error.message}" for name, error in left]
        self._keep_models(session)
        return result

    def _keep_models(self, session: Session) -> None:
        """Keep the models of the last query that had any until another has some: they need not be loaded again for the next."""
        if session.functions:
            self._models = session.functions

    def audit(
        self,
        name: str,
        *,
        at: str | None = None,
        sensitive: str | None = None,
        max_rows: int | None = None,
        threads: int | None = None,
        engine: Engine = "duckdb",
        **params: Any,
    ) -> Result:
        """Return an audit's result; ``counterbalance audit --list`` or ``cb.audits()`` name them."""
        session = self.session(at=at, sensitive=sensitive, threads=threads, engine=engine)
        result = session.audit(name, max_rows=max_rows, **params)
        self._keep_models(session)
        return result

    def recipe(
        self,
        name: str,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        dry_run: bool = False,
        until: str | None = None,
        sensitive: str | None = None,
        measure: bool = False,
        replace: bool = False,
        udfs: str | Sequence[str] = (),
        progress: Callable[[Progress], None] | None = None,
        tell: Callable[[StepReport], None] | None = None,
        refresh: Mapping[str, Any] | None = None,
        **params: Any,
    ) -> RecipeReport:
        """Run a recipe: declare, compute and ask, step by step; what is done already is left alone.

        Args:
            name: A recipe, or the path of a file with one.
            values: Values of its parameters; ``params`` win over them.
            dry_run: Tell what would be done and how long it would take; change nothing.
            until: The last step.
            sensitive: Purpose for which perceived labels are read, if a step reads them.
            measure: In a dry run, run functions on a few rows where no run tells how fast they are.
            replace: Put a view in the place of one of its name that has another query, such as one for more requests;
                rows whose key stays are kept with their generated columns, and others are removed.
            udfs: Files of your own functions and actions.
            progress: Called as rows are done.
            tell: Called when a step begins and when it ended.
            refresh: Options of its refreshes: executor, workers, device, batch_size, retry_errors.
            params: Values of its parameters.

        Raises:
            StepError: A step failed; those before it stay done, and the same call goes on.
        """
        from counterbalance.engine.recipes import runner
        from counterbalance.engine.recipes.model import Running

        files = (udfs,) if isinstance(udfs, str) else tuple(udfs)
        how = Running(until, sensitive, refresh or {}, files, measure, progress, tell, replace)
        self._models = None
        return runner.run(self, name, {**(values or {}), **params}, how, dry_run=dry_run)

    def export(self, what: str, folder: str | os.PathLike[str], to: str, **options: Any) -> Exported:
        """Write the rows of a query or table as files for training, with a datasheet; pictures keep their bytes.

        Args:
            what: A query, which may select pictures here, or the name of a table or view.
            folder: Where; refused where it is not empty.
            to: ``webdataset``, ``coco``, ``imagefolder``, ``parquet`` or ``hf`` (for ``datasets.load_dataset``).
            options: shard_size (``10000`` rows or ``"500MB"``), overwrite, sensitive (a purpose), at, key, image, text
                (names of columns), push (a repository of the Hugging Face Hub to upload an export to ``hf`` to), progress.

        Returns:
            Counts of rows, shards and bytes, and of rows that were left out.

        Raises:
            RequestError: The rows do not fit the target, or the folder holds something.
        """
        from counterbalance.engine.exporting import target

        return target(to)(self, what, folder, **options)

    # -- the four nouns and the verb ---------------------------------------------------------------------------------

    def add_column(
        self,
        table: str,
        name: str,
        expression: str,
        *,
        type: str | None = None,  # noqa: A002 - the word of SQL
        if_not_exists: bool = False,
        purpose: str | None = None,
        **options: Any,
    ) -> None:
        """Declare a generated column; ``ALTER TABLE table ADD COLUMN name AS (expression)``.

        Args:
            table: A base table or a materialized view.
            name: The new column.
            expression: SQL over the table's columns, with functions.
            type: SQL type to cast to.
            if_not_exists: Do nothing when it is there already, as it is described here.
            purpose: For which perceived labels are read, or a name whose last column held some is opened.
            options: ``schedule`` (cron text or ``@daily`` …), ``sensitive``.

        Raises:
            RequestError: It does not fit; nothing was changed.
        """
        self._manage(statements.AddColumn(table, name, type, expression, if_not_exists, options), purpose)

    def drop_column(self, table: str, name: str, *, if_exists: bool = False, cascade: bool = False) -> None:
        """Drop a generated column; ``cascade`` drops what reads it too."""
        self._manage(statements.DropColumn(table, name, if_exists, cascade))

    def create_materialized_view(
        self,
        name: str,
        select: str,
        key: str | Sequence[str],
        *,
        replace: bool = False,
        if_not_exists: bool = False,
        purpose: str | None = None,
        **options: Any,
    ) -> None:
        """Declare a materialized view; ``CREATE MATERIALIZED VIEW name WITH (key = '…') AS SELECT …``.

        Args:
            name: The view.
            select: Its rows.
            key: Columns that name a row.
            replace: Take the place of a view of that name.
            if_not_exists: Do nothing when it is there already, as it is described here.
            purpose: For which sensitive labels are read, if they are; the view is then sensitive too.
            options: ``schedule``, ``sensitive``.
        """
        keys = (key,) if isinstance(key, str) else tuple(key)
        self._manage(statements.CreateView(name, select, keys, options, replace, if_not_exists), purpose)

    def drop_materialized_view(self, name: str, *, if_exists: bool = False, cascade: bool = False) -> None:
        """Drop a materialized view; ``cascade`` drops what reads it too."""
        self._manage(statements.DropView(name, if_exists, cascade))

    def create_index(
        self,
        table: str,
        column: str,
        using: str | None = None,
        *,
        name: str | None = None,
        if_not_exists: bool = False,
        **options: Any,
    ) -> None:
        """Declare an index; ``CREATE INDEX name ON table USING kind (column) WITH (…)``."""
        self._manage(statements.CreateIndex(name, table, using, (column,), options, if_not_exists))

    def drop_index(self, name: str, *, if_exists: bool = False) -> None:
        """Drop an index."""
        self._manage(statements.DropIndex(name, if_exists))

    @_readable
    def refresh(
        self,
        *targets: str,
        dry_run: bool = False,
        sensitive: str | None = None,
        progress: Callable[[Progress], None] | None = None,
        openlineage: str | None = None,
        **options: Any,
    ) -> RefreshReport:
        """Compute what is missing or stale of these columns, views and indexes, and of what they read; of all without any.

        Args:
            targets: ``table.column``, a view, an index, or a table for all its columns and indexes.
            dry_run: Tell what would be done and why; do nothing.
            sensitive: Purpose for which numbers of closed rows are told; it becomes a line of the access log.
            progress: Called as rows are done.
            openlineage: File or http(s) address that events of OpenLineage go to as stages begin and end; see ``notes``.
            options: Fields of ``Options``: full, retry_errors, due, executor, workers, device, batch_size, udfs.

        Returns:
            What was done, stage by stage; ``mode`` is ``no_op`` when everything was fresh.

        Raises:
            BusyError: Another refresh is running.
        """
        from counterbalance.engine import dispatch
        from counterbalance.engine.refresh import runner

        self._models = None  # workers may need the memory
        how = dispatch.options(options)
        return runner.refresh(
            self.location,
            targets,
            how,
            dry_run=dry_run,
            purpose=sensitive,
            progress=progress,
            openlineage=openlineage,
        )

    @_readable
    def status(self, *, sensitive: str | None = None) -> pa.Table:
        """Return everything that is declared, one row each: fresh or stale and why, errors, index coverage, size, next due.

        Args:
            sensitive: Purpose for which sizes of closed things are told; it becomes a line of the access log.
        """
        from counterbalance.engine.refresh.status import status

        return status(self.location, purpose=sensitive)

    @_readable
    def accesses(self, *, sensitive: str) -> pa.Table:
        """Return the log of reads that had sensitive labels, oldest first: who, when, why, which SQL, which columns, how many rows.

        Args:
            sensitive: Purpose for which it is read; that becomes a line of it, too.

        Returns:
            A row a line; ``whole`` is false where the line was changed, or a line before it is gone.

        Raises:
            SensitiveError: The purpose says nothing.
        """
        from counterbalance.engine.catalog import access

        return access.listed(self.location, sensitive)

    @_readable
    def lineage(self, name: str) -> pa.Table:
        """Return what a table, column, view or index is made of, and what is made of it.

        Raises:
            NotFoundError: There is nothing of that name.
        """
        from counterbalance.engine.catalog.lineage import lineage

        return lineage(self.location, name)

    @_readable
    def gc(self, older_than: dt.timedelta = dt.timedelta(days=7), *, apply: bool = False) -> GcReport:
        """Find what nobody needs any more: old versions, leftovers of killed runs; removed only when ``apply`` is set."""
        from counterbalance.engine.refresh.gc import gc

        return gc(self.location, older_than=older_than, apply=apply)

    def verify(self, *, progress: Callable[[Progress], None] | None = None) -> Verified:
        """Compare every file of every version with the digest that was recorded when it was written; nothing is changed.

        Args:
            progress: Called as files are read.

        Returns:
            Findings: files that are damaged or lost, and what was never recorded; ``sound`` when nothing is damaged.
        """
        from counterbalance.engine.catalog.verify import verify

        return verify(self.location, progress=progress)

    @_readable
    def delete(
        self,
        where: str | None = None,
        ids: Iterable[int | str] | None = None,
        *,
        by: str | None = None,
        apply: bool = False,
        purge: bool = False,
        drop_tags: Sequence[str] = (),
        wait: float = 10.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> DeleteReport:
        """Take images out, with their captions, boxes, labels and what was computed of them; they do not come back.

        Args:
            where: SQL condition on ``images``.
            ids: Their ids, keys, places (``uri``) or SHA-256 digests of their pictures.
            by: What ``ids`` are, where they could be several: ``image_id``, ``key``, ``uri`` or ``sha256``.
            apply: Do it; without this, only tell.
            purge: Leave no byte in old versions, indexes and computed results either; the untagged past goes with it.
            drop_tags: Tags to give up for that.
            wait: Seconds to wait for other writers, and for readers of old versions.
            progress: Called while views are refreshed.

        Returns:
            What went by table, which names no image has, and, of a purge, what still holds something.

        Raises:
            BusyError: A refresh or another writer is at work.
            RequestError: Neither or both of ``where`` and ``ids`` are given, or an ingest waits to be completed.

        Example:
            >>> import pyarrow as pa
            >>> lake = Lake("memory://doc-delete")
            >>> images = pa.table({"image_id": [1, 2], "key": ["1", "2"]})
            >>> report = lake.ingest({"images": images})
            >>> lake.delete(ids=[2, 7], apply=True).unknown
            1
            >>> lake.ingest({"images": images}).rejected
            1
        """
        from counterbalance.engine.refresh.deleting import delete

        return delete(
            self.location,
            where=where,
            ids=ids,
            by=by,
            apply=apply,
            purge=purge,
            drop_tags=drop_tags,
            wait=wait,
            progress=progress,
        )

    @_readable
    def _manage(self, statement: statements.Statement, purpose: str | None = None) -> None:
        from counterbalance.engine import dispatch

        dispatch.execute(self.location, statement, purpose=purpose)

    def lancedb(self) -> lancedb.DBConnection:
        """Return the lake as a LanceDB connection, for its tables and searches; write through ``ingest``, not through it.

        Raises:
            RequestError: LanceDB is not installed; it is as large as Lance itself, which is all that a lake needs.
        """
        try:
            import lancedb
        except ImportError as error:
            hint = "pip install 'counterbalance[lancedb]'"
            raise RequestError("LanceDB is not installed", code="E3480", hint=hint) from error
        options = self.location.lance_options()
        return lancedb.connect(self.location.root, storage_options=options or None)

    @_readable
    def tag(self, name: str) -> Snapshot:
        """Name the present versions, for ``at=name``; clean-up spares them. Those of closed tables are not told."""
        from counterbalance.engine.catalog import closed, snapshot

        made = snapshot.tag(self.location, name)
        return dataclasses.replace(made, versions=closed.told(made.versions, closed.ever(self.location)))


def connect(uri: Any, storage_options: Mapping[str, str] | None = None, *, durable: bool = False) -> Lake:
    """Return the lake at a path or URI; made by its first ingest when it is not there."""
    return Lake(str(uri), storage_options, durable=durable)


def formats() -> list[str]:
    """Return the names of the formats that ingest reads."""
    return sorted(by_name(GROUP))


def reader(name: str) -> Callable[[Any, ReadOptions], Source]:
    """Return the reader of a format.

    Raises:
        NotFoundError: There is none of that name.
    """
    known = by_name(GROUP)
    if name not in known:
        told = f"no format {name!r}{did_you_mean(name, formats())}"
        raise NotFoundError(told, code="E1010", hint="formats: " + ", ".join(formats()))
    read: Callable[[Any, ReadOptions], Source] = known[name].load()
    return read


def _format_in_memory(source: Any, asked: str) -> str:
    """Return the format of what is no path: ``huggingface`` or ``captions`` for datasets, one or by split, ``arrow`` for rows by base table.

    Raises:
        RequestError: It is neither, or another format was asked for.
    """
    mapping = isinstance(source, Mapping)
    parts = list(source.values()) if mapping else [source]
    told = "huggingface" if parts and all(hasattr(p, "with_format") for p in parts) else "arrow" if mapping else ""
    odd = next((p for p in parts if told == "arrow" and not hasattr(p, "__arrow_c_stream__")), None)
    if not told or odd is not None or asked not in {"auto", told, *["captions"] * (told == "huggingface")}:
        raise RequestError(
            f"{type(source if odd is None else odd).__name__} cannot be read"
            + (f" as {asked}" if asked != "auto" else ""),
            code="E3052",
            hint="give a path or URI, a Dataset or DatasetDict of Hugging Face, or rows such as {'captions': table}, where table is "
            "of pyarrow, pandas or polars",
        )
    return told if asked == "auto" else asked


def _read_arrow(source: str | Mapping[str, Any], options: ReadOptions) -> Source:
    """Read rows that are in memory already, or stream, by base table."""
    if isinstance(source, str):
        known = ", ".join(formats())
        raise RequestError(
            f'{source}: a path needs a format, such as format="coco"', code="E3045", hint=f"formats: {known}"
        )
    import pyarrow as pa

    from counterbalance.engine.schema import BASE_TABLES

    unknown = [t for t in source if t not in BASE_TABLES]
    if unknown:
        raise NotFoundError.table(unknown[0], BASE_TABLES)

    def chunks() -> Iterator[Chunk]:
        for name in BASE_TABLES:
            first = 1
            for batch in pa.RecordBatchReader.from_stream(source[name]) if name in source else ():
                rows: pa.Table = pa.Table.from_batches([batch])
                places = {name: _RowNumbers(first, len(rows))}
                yield Chunk({name: rows}, rows_read=len(rows), positions=places, source=f"arrow:{name}")
                first += len(rows)

    del options
    return Source("arrow", chunks())


class _RowNumbers(Sequence[str]):
    """Places of rows in a stream, written out when they are asked for."""

    def __init__(self, first: int, count: int) -> None:
        self._numbers = range(first, first + count)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [f"row {n}" for n in self._numbers[at]]
        return f"row {self._numbers[at]}"


def _is_apart(*places: Location, isolated: bool | None, limited: bool) -> bool:
    """Return whether a session on these lakes runs its queries in another process.

    Args:
        places: All lakes that it reads.
        isolated: What the caller asked for; ``None`` for what its limits need.
        limited: It has a limit of time or memory.

    Raises:
        RequestError: It cannot, and was asked for (E3064).
    """
    here = [place for place in places if place.is_memory]
    if isolated and here:
        raise RequestError(
            f"{here[0].uri} lives in the memory of this process, and isolated=True asks for another",
            code="E3064",
            hint="keep the lake in a folder",
        )
    can = not here and hasattr(os, "register_at_fork")
    return can and (limited if isolated is None else isolated)
