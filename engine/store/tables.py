"""Lance I/O: open a table at a version, create, append, fill columns by key, go back, drop.

Every write is one Lance commit, made while the writer lock is held (``lock.py``). Tables are created with stable row
ids, so that a row keeps its ``_rowid`` through updates and compaction.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from counterbalance.engine.errors import (
    DAMAGED,
    CounterbalanceError,
    StorageError,
    disk_hint,
    first_line,
    is_unreadable,
    without_sources,
)
from counterbalance.engine.schema import ROW
from counterbalance.engine.store import digests
from counterbalance.engine.store.location import SUFFIX, session

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import lance
    import pyarrow as pa

    from counterbalance.engine.store.location import Location


LOWEST: Final = -(2**63)
"""The one integer of 64 bits that is no literal of Lance's SQL."""
_LISTED: Final = 20_000
"""So many values stand in a condition."""
_UNENCODED: Final = " !$&'()+,-./:;=@_`"
"""What Lance leaves as it is in a path, beside letters and digits."""


def open_table(
    location: Location, name: str, version: int | None = None, *, checked: bool = True
) -> lance.LanceDataset | None:
    """Open a private handle on a table at a version (the latest by default), or ``None`` when there is no such table.

    Args:
        location: The lake.
        name: The table.
        version: Its version.
        checked: Compare it with its digests; ``verify`` itself opens what is damaged, too.

    Raises:
        StorageError: It is there but cannot be read, has no such version any more, or is not what was written.
    """
    import lance

    options = location.lance_options() or None
    recorded = digests.remembered(location, name)
    try:
        dataset = lance.dataset(location.table(name), version=version, storage_options=options, session=session())
    except ValueError as error:
        if "not found" in str(error).lower():
            if _was_enclosed(location, name):
                return open_table(location, name, version, checked=checked)
            if version is None or not _exists(location, name):
                if checked:
                    digests.check(location, name, None, recorded, newest=True)
                return None
        if "Failed to resolve region" in str(error):
            raise StorageError(
                f"cannot reach {location.uri}: {lance_line(error)}",
                code="E6001",
                hint="the store is asked as AWS_ENDPOINT_URL, AWS_DEFAULT_REGION and the like say, or storage_options; "
                "workers on other machines need these too",
            ) from error
        if version is None:
            raise _unreadable(location, name, error) from error
        raise StorageError(
            f"table {name!r} of {location.uri} has no version {version} that can be read: {lance_line(error)}",
            code="E6002",
            hint="old versions are removed by gc unless they are tagged; counterbalance verify LAKE shows what was lost",
        ) from error
    except BaseException as error:
        if not isinstance(error, OSError) and not is_unreadable(error):
            raise
        raise _unreadable(location, name, error) from error
    if checked:
        digests.check(location, name, dataset, recorded, newest=version is None)
    return dataset


def existing(location: Location, name: str, version: int | None = None) -> lance.LanceDataset:
    """Open a table that must be there; as ``open_table``.

    Raises:
        StorageError: It is gone (E6004), or as ``open_table``.
    """
    dataset = open_table(location, name, version)
    if dataset is None:
        raise StorageError(f"table {name!r} of {location.uri} is gone", code="E6004", hint=DAMAGED)
    return dataset


@contextlib.contextmanager
def reading(location: Location, name: str | None = None) -> Iterator[None]:
    """Turn what Lance and Arrow raise over files that are damaged or gone into an error that says what to do.

    Args:
        location: The lake.
        name: The table that is read; of several, the one whose file the error names.

    Raises:
        StorageError: It cannot be read.
    """
    try:
        yield
    except BaseException as error:
        if not is_unreadable(error) and (name is None or not _is_of_files(error)):
            raise
        raise _unreadable(location, name, error) from error


def _is_of_files(error: BaseException) -> bool:
    """Tell whether it is what Lance and Arrow raise where nothing but a file's content can be wrong."""
    import pyarrow as pa

    return isinstance(error, OSError | pa.ArrowException) and not isinstance(error, CounterbalanceError)


def _unreadable(location: Location, name: str | None, error: BaseException) -> StorageError:
    if name is None:
        found = re.search(rf"{re.escape(location.root.lstrip('/'))}/([\w/.-]+?){re.escape(SUFFIX)}/", str(error))
        name = found[1] if found else None
    what = "" if name is None else f"table {name!r} of "
    return StorageError(f"cannot read {what}{location.uri}: {lance_line(error)}", code="E6001", hint=DAMAGED)


def rows_at(dataset: lance.LanceDataset, ids: pa.Array | pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """Read columns of the rows with these numbers, in this order, pictures as bytes; NULL where a number is NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = ids.cast(pa.uint64())
    listed = ", ".join(map(str, ids.drop_null().to_pylist())) or "NULL"
    scanner = dataset.scanner(columns=[*schema.names, ROW], filter=f"{ROW} IN ({listed})", blob_handling="all_binary")
    there = scanner.to_table()
    return there.take(pc.index_in(ids, there[ROW])).select(schema.names).cast(schema)


def _was_enclosed(location: Location, name: str) -> bool:
    """Tell whether another process made a table of an object store in the closed folder since it was asked."""
    if location.is_local or location.is_memory or "/" in name or location.encloses(name):
        return False
    return name in location.enclosed(anew=True)


def _exists(location: Location, name: str) -> bool:
    return open_table(location, name) is not None


def lance_line(error: BaseException) -> str:
    """Return what Lance says in the first line of an error, without places in its own sources."""
    return without_sources(first_line(error))[:300]


def keys_in(column: str, keys: Collection[int]) -> str:
    """Return Lance's SQL for an int64 column holding one of some keys.

    Example:
        >>> keys_in("image_id", [3, 5]), keys_in("k", [-(2**63), 1])
        ('image_id IN (3, 5)', 'k IN (1) OR k < -9223372036854775807')
    """
    listed = [key for key in keys if key > LOWEST]
    text = f"{column} IN ({', '.join(map(str, listed)) or 'NULL'})"
    return text if len(listed) == len(keys) else f"{text} OR {column} < {LOWEST + 1}"


def lance_name(*parts: str) -> str:
    """Return a column, or a field in one, as Lance's SQL names it.

    Example:
        >>> lance_name("box", "a`b")
        '`box`.`a``b`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def latest_version(location: Location, name: str) -> int | None:
    """Return the newest version of a table, or ``None`` without the table."""
    dataset = open_table(location, name)
    return None if dataset is None else int(dataset.version)


def append(location: Location, name: str, rows: pa.Table | pa.RecordBatchReader) -> int:
    """Append rows, creating the table with their schema when it is new; returns the new version.

    Raises:
        StorageError: The rows could not be written (disk full, no permission, no such bucket …).
    """
    exists = open_table(location, name) is not None
    return _write(location, name, rows, "append" if exists else "create")


def overwrite(location: Location, name: str, rows: pa.RecordBatchReader) -> int:
    """Put rows and columns in the place of all that is there, which stays readable at its versions; return the new one.

    Raises:
        StorageError: The rows could not be written.
    """
    exists = open_table(location, name) is not None
    return _write(location, name, rows, "overwrite" if exists else "create")


def _write(location: Location, name: str, rows: pa.Table | pa.RecordBatchReader, mode: str) -> int:
    import lance

    if location.is_local and mode == "create":
        location.path.mkdir(parents=True, exist_ok=True)
    try:
        dataset = lance.write_dataset(
            rows,
            location.table(name),
            mode=mode,
            storage_options=location.lance_options() or None,
            session=session(),
            enable_stable_row_ids=True,
            data_storage_version="2.2",
        )
    except OSError as error:
        raise _unwritten(location, name, error) from error
    return int(dataset.version)


def _unwritten(location: Location, name: str, error: OSError) -> StorageError:
    told = f"cannot write table {name!r} of {location.uri}: {lance_line(error)}"
    return StorageError(told, code="E6003", hint=disk_hint(error))


def fill(location: Location, name: str, key: Sequence[str], rows: pa.Table) -> int:
    """Set the columns of ``rows`` for the keys they hold; keys must be there and unique. Returns the new version.

    Args:
        location: The lake.
        name: The table.
        key: Its key columns.
        rows: Keys, and the columns to set.

    Raises:
        StorageError: They could not be written, or the table is gone.
    """
    dataset = existing(location, name)
    try:
        dataset.merge_insert(list(key)).when_matched_update_all().execute(rows)
    except OSError as error:
        raise _unwritten(location, name, error) from error
    return latest_version(location, name) or 0


def delete(location: Location, name: str, predicate: str) -> int:
    """Delete the rows a Lance SQL predicate selects; returns how many."""
    dataset = open_table(location, name)
    if dataset is None:
        return 0
    before = dataset.count_rows()
    dataset.delete(predicate)
    return before - int(dataset.count_rows())


def delete_listed(
    location: Location, name: str, column: str, values: Sequence[int], after: Callable[[], object] | None = None
) -> int:
    """Delete the rows whose column holds one of some integers, many in a commit, and call ``after`` each; returns how many."""
    gone = 0
    for start in range(0, len(values), _LISTED):
        listed = ", ".join(map(str, values[start : start + _LISTED]))
        gone += delete(location, name, f"{column} IN ({listed})")
        if after is not None:
            after()
    return gone


def restore(location: Location, name: str, version: int | None) -> None:
    """Make a table what it was at ``version`` again; ``None`` means it was not there, so it goes."""
    dataset = open_table(location, name)
    if dataset is None:
        return
    if version is None:
        drop(location, name)
    elif dataset.version != version:
        old: Any = open_table(location, name, version)
        try:
            old.restore()
        except OSError as error:
            raise _unwritten(location, name, error) from error


def tag(location: Location, name: str, tag: str, version: int, *, anew: bool = False) -> None:
    """Give a version of a table a name, if the table is there; ``anew`` in the place of one that is damaged."""
    dataset = open_table(location, name)
    if dataset is None:
        return
    if anew:
        with contextlib.suppress(ValueError):  # it is gone
            dataset.tags.delete(tag)
    dataset.tags.create(tag, version)
    if location.is_local:  # Lance makes folders for it below the percent-encoded path, too, and leaves them empty
        encoded = quote(location.table(name), safe=_UNENCODED)
        if encoded != location.table(name):
            with contextlib.suppress(OSError):
                os.removedirs(f"{encoded}/_refs/tags")


def drop(location: Location, name: str) -> None:
    """Remove a table with all its versions."""
    import lance

    digests.forget(location, name)
    if location.is_local:
        shutil.rmtree(location.table(name), ignore_errors=True)
        if location.durable:
            digests.sync_names(location, [location.table_path(name)])
    else:
        lance.LanceDataset.drop(location.table(name), storage_options=location.lance_options() or None)
