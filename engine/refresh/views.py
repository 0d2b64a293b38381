"""A materialized view: its ``SELECT`` is run, and what differs from what is stored is written, by key.

Rows whose key is new are added, those whose key is gone are deleted, changed ones are rewritten, equal ones are left
alone, so that their generated columns stay. Any SQL is then incremental where it matters, aggregates too.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import temp_dirs
from counterbalance.engine.catalog import freshness, runs, snapshot
from counterbalance.engine.catalog.closed import OPENED
from counterbalance.engine.catalog.ddl.create_view import must_rebuild
from counterbalance.engine.catalog.planning import Catalog
from counterbalance.engine.errors import NotFoundError, RequestError, SqlError, StorageError, kind_of
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.query_engine import reading
from counterbalance.engine.refresh import staleness as changes
from counterbalance.engine.refresh.blob_store import ROWS, Parked
from counterbalance.engine.schema import ROW
from counterbalance.engine.sql.parse import quoted
from counterbalance.engine.sql.types import storable
from counterbalance.engine.store import tables
from counterbalance.engine.write.journal import Writing, writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import duckdb
    import lance

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.refresh.context import Context
    from counterbalance.engine.refresh.model import Stage

_BATCH_ROWS: Final = 65_536
_IMAGE: Final = "image_id"
_AT_ONCE: Final = 64 << 20


def look(context: Context, stage: Stage, definition: Definition) -> None:
    """Find out whether the view is stale, told by its last refresh and by what happened to its inputs, and to itself, since."""
    last = runs.computed(context.location).get(definition.target)
    stage.versions_in = _inputs(context, definition)
    dataset = tables.open_table(context.location, definition.name)
    if context.options.full:
        stage.reason, stage.mode = "asked for", "rebuild"
    elif last is None or dataset is None:
        stage.reason, stage.mode = "never computed", "rebuild"
    elif OPENED in definition.options and must_rebuild(context.location, definition):
        stage.reason, stage.mode = "it was opened", "rebuild"
    elif last["fingerprint"] != stage.fingerprint:
        told = changes.since(context.location, str(last["fingerprint"]), context.fingerprints, definition)
        stage.reason = told or "its definition, a function or a list changed"
    else:
        stage.versions_out = {definition.name: int(dataset.version)}
        now = stage.versions_in | stage.versions_out
        changed = list(freshness.moved(context.location, context.definitions, definition, last, now))
        stage.reason = f"{', '.join(changed)} changed" if changed else ""


def _inputs(context: Context, definition: Definition) -> dict[str, int]:
    relations = {r for r, _ in definition.reads}
    return {t: v for t, v in snapshot.take(context.location).versions.items() if t in relations}


def refresh(context: Context, stage: Stage, definition: Definition) -> None:
    """Bring a view up to date; fills in the stage.

    Raises:
        NotFoundError: The query has no column of its key any more.
        RequestError: A key is NULL or not unique.
    """
    look(context, stage, definition)
    if not stage.reason:
        stage.mode = "no_op"
        return
    first = stage.mode == "rebuild" and not context.options.full
    wait = context.options.wait
    with _scratch() as connection:
        schema, parked = _compute(context, stage, definition, connection)
        with writing(context.location, "refresh", definition.target, wait=wait, run=context.run) as work:
            context.check_current(definition)
            _Difference(context, stage, definition, work, parked).run(connection, schema)
            changed = stage.written + stage.updated + stage.deleted
            is_new = changed or context.closed.holds(definition)  # the journal says the same of all closed rows
            stage.mode = "rebuild" if first else "incremental" if is_new else "no_op"
            stage.versions_out = context.versions({definition.name})
            work.finish(**stage.outcome())


@contextlib.contextmanager
def _scratch() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB in memory that spills to a folder, so that neither side need fit; what a killed one left, the next removes."""
    import duckdb

    folder = temp_dirs.folder()
    try:
        with duckdb.connect(config={"temp_directory": folder}) as connection:
            yield connection
    finally:
        temp_dirs.remove(folder)


def _compute(
    context: Context, stage: Stage, definition: Definition, connection: duckdb.DuckDBPyConnection
) -> tuple[pa.Schema, Parked]:
    """Run the ``SELECT`` on one snapshot into the table ``new``; returns the columns as they are stored, and their bytes."""
    import duckdb

    relations = {r for r, _ in definition.reads}
    purpose = f"refresh of {definition.name}" if definition.sensitive else None
    failure: list[BaseException] = []
    declared = Catalog(context.location)
    with _waiting(context, definition), reading(context.location, purpose=purpose, declared=declared) as engine:
        stage.versions_in = {t: v for t, v in engine.resolver.versions.items() if t in relations}
        reader = engine.sql(definition.sql).to_batches()
        schema = pa.schema([pa.field(f.name, storable(f.type)) for f in reader.schema])
        # DuckDB reads a stream while it holds its connection, so that bytes are parked through another one
        parked = Parked(connection.cursor(), schema, definition.key)
        connection.register("source", _counted(context, definition, reader, parked, failure))
        try:
            connection.execute("CREATE TABLE new AS SELECT * FROM source")
        except Exception as error:
            if failure:
                raise failure[0] from error
            if isinstance(error, duckdb.Error):
                raise _unspilled(definition, error) from error
            raise
        connection.unregister("source")
    return schema, parked


@contextlib.contextmanager
def _waiting(context: Context, definition: Definition) -> Iterator[None]:
    """Tell when a query fails only because readers still wait for an ingest."""
    try:
        yield
    except (SqlError, NotFoundError) as error:
        unfinished = snapshot.take(context.location).unfinished
        if unfinished is None:
            raise
        told = kind_of(error) if definition.sensitive else error.message
        raise RequestError(
            f"{definition.name} reads rows that are hidden until the ingest of {unfinished} is complete: {told}",
            code="E3424",
            hint="run that ingest again, then refresh",
        ) from error


def _unspilled(definition: Definition, error: duckdb.Error) -> StorageError:
    first = kind_of(error) if definition.sensitive else str(error).splitlines()[0]
    hint = "its rows wait in the temporary folder until they are compared"
    return StorageError(f"{definition.name} cannot be computed: {first}", code="E6011", hint=hint)


def _counted(
    context: Context,
    definition: Definition,
    reader: pa.RecordBatchReader,
    parked: Parked,
    failure: list[BaseException],
) -> pa.RecordBatchReader:
    """Yield the same rows with progress, digests in the place of bytes; what goes wrong is kept, for the way through another engine garbles it."""

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in reader:
                yield parked.take(batch)
                done += batch.num_rows
                context.tell(definition.target, done, None)
        except (Exception, KeyboardInterrupt) as error:
            failure.append(error)
            raise

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


class _Difference:
    """The rows of a query against the rows of a table, by key, in a DuckDB that spills to disk."""

    def __init__(self, context: Context, stage: Stage, definition: Definition, work: Writing, parked: Parked) -> None:
        self._context, self._stage, self._definition, self._work = context, stage, definition, work
        self._parked = parked
        self._location, self._name = context.location, definition.name

    def run(self, connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> None:
        """Check the keys of ``new``, and write what differs."""
        self._check(connection, schema)
        self._apply(connection, schema)

    def _check(self, connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> None:
        key = self._definition.key
        self._stage.rows = connection.sql("SELECT count(*) FROM new").fetchall()[0][0]
        missing = [k for k in key if k not in schema.names]
        if missing:
            raise NotFoundError(f"{self._name} has no column {missing[0]!r} for its key", code="E1042")
        nulls = " OR ".join(f"{quoted(k)} IS NULL" for k in key)
        empty = connection.sql(f"SELECT count(*) FROM new WHERE {nulls}").fetchall()[0][0]
        if empty:
            raise RequestError(
                f"the key of {self._name} is NULL in {empty:,} rows", code="E3421", hint="filter them out in its SELECT"
            )
        names = ", ".join(map(quoted, key))
        twice = connection.sql(
            f"SELECT {names}, count(*) FROM new GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
        ).fetchall()
        if twice:
            which = (
                "" if self._definition.sensitive else f": {twice[0][-1]} rows have {', '.join(map(str, twice[0][:-1]))}"
            )
            raise RequestError(
                f"the key ({', '.join(key)}) of {self._name} is not unique{which}",
                code="E3422",
                hint="choose a key that names one row, or group by it",
            )

    def _apply(self, connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> None:
        dataset = tables.open_table(self._location, self._name)
        own = schema if dataset is None else _own(dataset.schema, self._context, self._definition)
        anew = dataset is None or own != schema or must_rebuild(self._location, self._definition)
        if dataset is None or anew:  # other columns or types: nothing of what is stored can stay
            if dataset is None:
                self._forget_rounds()
            rows = connection.sql(f"SELECT {_names(schema)} FROM new ORDER BY {_order(self._definition, schema)}")
            batches = _cast(self._parked.give(rows.to_arrow_reader(_BATCH_ROWS)), schema)
            tables.overwrite(self._location, self._name, pa.RecordBatchReader.from_batches(schema, batches))
            self._work.committed(self._name)
            self._stage.written = self._stage.rows
            return
        connection.register("stored", self._stored(dataset, schema))
        connection.execute("CREATE TABLE old AS SELECT * FROM stored")
        connection.unregister("stored")
        self._differ(connection, schema)

    def _stored(self, dataset: lance.LanceDataset, schema: pa.Schema) -> pa.RecordBatchReader:
        """Return what is stored, with row ids, and digests in the place of bytes."""
        if not self._parked.columns:
            reader: pa.RecordBatchReader = dataset.scanner(columns=schema.names, with_row_id=True).to_reader()
            return reader
        scanner = dataset.scanner(columns=schema.names, with_row_id=True, batch_size=ROWS)
        batches = (self._parked.take(batch, keep=False) for batch in scanner.to_batches())
        return pa.RecordBatchReader.from_batches(scanner.projected_schema, batches)

    def _forget_rounds(self) -> None:
        """Forget results that were computed for a table of this name which is gone: row numbers begin anew."""
        for column in self._context.definitions.columns(self._name).values():
            for old in spools.rounds(self._location, column.target):
                old.remove()

    def _differ(self, connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> None:
        key = self._definition.key
        using = ", ".join(map(quoted, key))
        rest = [n for n in schema.names if n not in key]
        connection.execute(
            f"CREATE TABLE gone AS SELECT _rowid FROM old ANTI JOIN new USING ({using}) UNION ALL "
            f"SELECT _rowid FROM old SEMI JOIN new USING ({using}) "
            f"QUALIFY row_number() OVER (PARTITION BY {using} ORDER BY _rowid) > 1"
        )
        connection.execute("DELETE FROM old WHERE _rowid IN (SELECT _rowid FROM gone)")
        gone = connection.sql("SELECT _rowid FROM gone ORDER BY 1").fetchall()
        differs = " OR ".join(f"new.{quoted(c)} IS DISTINCT FROM old.{quoted(c)}" for c in rest) or "false"
        columns = ", ".join(f"new.{quoted(c)}" for c in schema.names)
        changed = connection.sql(
            f"SELECT {columns} FROM new JOIN old USING ({using}) WHERE {differs} ORDER BY {_keys(self._definition, 'new')}"
        )
        fresh = connection.sql(
            f"SELECT {columns} FROM new ANTI JOIN old USING ({using}) ORDER BY {_order(self._definition, schema, 'new')}"
        )
        self._delete([row[0] for row in gone])
        for rows in _tables(self._parked.give(changed.to_arrow_reader(_BATCH_ROWS)), schema):
            if len(rows):
                tables.fill(self._location, self._name, key, rows)
                self._work.committed(self._name)
                self._stage.updated += len(rows)
        before = _count(self._location, self._name)
        self._append(self._parked.give(fresh.to_arrow_reader(_BATCH_ROWS)), schema)
        self._stage.written = _count(self._location, self._name) - before

    def _delete(self, ids: Sequence[int]) -> None:
        committed = functools.partial(self._work.committed, self._name)
        self._stage.deleted += tables.delete_listed(self._location, self._name, ROW, ids, committed)

    def _append(self, rows: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
        batches = _cast(rows, schema)
        head = next(batches, None)
        if head is None:
            return
        whole = pa.RecordBatchReader.from_batches(schema, itertools.chain([head], batches))
        tables.append(self._location, self._name, whole)
        self._work.committed(self._name)


def _cast(rows: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        yield from pa.Table.from_batches([batch]).cast(schema).to_batches()


def _tables(rows: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield batches together, up to a size that memory bears: each is written in one step."""
    pending: list[pa.RecordBatch] = []
    for batch in rows:
        pending.append(batch)
        if sum(b.nbytes for b in pending) >= _AT_ONCE:
            yield pa.Table.from_batches(pending).cast(schema)
            pending = []
    if pending:
        yield pa.Table.from_batches(pending).cast(schema)


def _own(stored: pa.Schema, context: Context, definition: Definition) -> pa.Schema:
    """Return columns of the stored table that come from the ``SELECT``: no generated ones, no stamps."""
    names = freshness.own_columns(stored, context.definitions, definition)
    return pa.schema([pa.field(name, stored.field(name).type) for name in names])


def _count(location: Any, name: str) -> int:
    dataset = tables.open_table(location, name)
    return 0 if dataset is None else int(dataset.count_rows())


def _names(schema: pa.Schema) -> str:
    return ", ".join(map(quoted, schema.names))


def _order(definition: Definition, schema: pa.Schema, table: str | None = None) -> str:
    """Return in which order rows are written: those of an image together, since functions of them share its work; then by key."""
    keys = _keys(definition, table)
    if _IMAGE not in schema.names or _IMAGE in definition.key:
        return keys
    return f"{_IMAGE if table is None else f'{table}.{_IMAGE}'}, {keys}"


def _keys(definition: Definition, table: str | None = None) -> str:
    return ", ".join(quoted(k) if table is None else f"{table}.{quoted(k)}" for k in definition.key)
