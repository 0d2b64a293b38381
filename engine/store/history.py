"""What happened to a table between two versions, as its transactions tell, without reading data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.store import tables
from counterbalance.engine.store.columns import field_ids

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from counterbalance.engine.store.location import Location

_HARMLESS: Final = frozenset(
    {"CreateIndex", "UpdateConfig", "ReserveFragments", "Rewrite", "UpdateMetadata", "UpdateSchemaMetadata"}
)
_MANY: Final = 1_000
_REWRITTEN: Final = "counterbalance.rewritten"
"""Key of a table's configuration: ranges of versions, both ends among them, that wrote the same rows again."""
_RANGES: Final = 100


def changed(
    location: Location, table: str, before: int | None, after: int | None, columns: AbstractSet[str] | None
) -> bool:
    """Tell whether rows, or these columns of them, may differ between two versions; when in doubt, yes.

    Args:
        location: The lake.
        table: The table's name.
        before: The older version; ``None`` when it was not there.
        after: The newer one.
        columns: Columns that matter; ``None`` for all.
    """
    if before == after:
        return False
    if before is None or after is None or after < before or after - before > _MANY:
        return True
    dataset = tables.open_table(location, table, after)
    if dataset is None:
        return True
    try:
        rewritten = _rewritten(dataset)
        later = (v for v in range(before + 1, after + 1) if not any(first <= v <= last for first, last in rewritten))
        return any(_touches(dataset, version, columns) for version in later)
    except (OSError, ValueError, TypeError, KeyError):  # a version that was cleaned up, or one Lance cannot tell about
        return True


def note_rewritten(dataset: Any, before: int) -> None:
    """Note in a table that what came after a version wrote the same rows again, where that is so.

    These versions are removed soon, and with them their transactions, which tell it: also that another tool wrote in between.

    Args:
        dataset: The table at its newest version.
        before: The version that was written again.
    """
    newest = int(dataset.version)
    if not any(_touches(dataset, version, None) for version in range(before + 1, newest + 1)):
        ranges = [*_rewritten(dataset), [before + 1, newest]]
        dataset.update_config({_REWRITTEN: json.dumps(ranges[-_RANGES:])})


def _rewritten(dataset: Any) -> list[list[int]]:
    found: list[list[int]] = json.loads(dataset.config().get(_REWRITTEN, "[]"))
    return found


def only_columns(location: Location, table: str, before: int | None, after: int, columns: AbstractSet[str]) -> bool:
    """Tell whether nothing but these columns was declared, filled or dropped between two versions; when in doubt, no."""
    dataset = tables.open_table(location, table, after)
    if dataset is None or before is None or not 0 < after - before <= _MANY:
        return False
    try:
        return all(_is_of(dataset, version, columns) for version in range(before + 1, after + 1))
    except (OSError, ValueError, TypeError, KeyError):
        return False


def only_deletes(location: Location, table: str, before: int, after: int) -> bool:
    """Return whether nothing but rows were deleted between two versions; when in doubt, no."""
    dataset = tables.open_table(location, table, after)
    if dataset is None or not 0 <= after - before <= _MANY:
        return False
    try:
        done = [dataset.read_transaction(version) for version in range(before + 1, after + 1)]
        kinds = {None if one is None else type(one.operation).__name__ for one in done}
    except (OSError, ValueError, TypeError, KeyError):
        return False
    return kinds <= {"Delete"}


def _is_of(dataset: Any, version: int, columns: AbstractSet[str]) -> bool:
    if type(dataset.read_transaction(version).operation).__name__ not in {"Merge", "Project", "Update"}:
        return False
    others = {n for v in (version - 1, version) for n in dataset.checkout_version(v).schema.names} - columns
    return not _touches(dataset, version, others)


def _touches(dataset: Any, version: int, columns: AbstractSet[str] | None) -> bool:
    operation = dataset.read_transaction(version).operation
    name = type(operation).__name__
    if name in _HARMLESS:
        return False
    if name in {"Merge", "Project"}:  # a column was declared or dropped: rows are as they were
        return _column_moved(dataset, version, columns)
    fields = list(getattr(operation, "fields_modified", None) or ())
    if name == "Update" and fields and not getattr(operation, "new_fragments", None):
        return columns is None or bool(columns & _names(dataset, fields))
    return True


def _column_moved(dataset: Any, version: int, columns: AbstractSet[str] | None) -> bool:
    """Tell whether a column that matters came or went with this version."""
    if columns is None:
        return True
    old = dataset.checkout_version(version - 1)
    new = dataset.checkout_version(version)
    ids = [{f.name(): f.id() for f in d.lance_schema.fields()} for d in (old, new)]
    return any(ids[0].get(c) != ids[1].get(c) for c in columns)


def _names(dataset: Any, ids: list[int]) -> set[str]:
    """Return names of the top-level columns that own these fields; a field that is gone stands for every name."""
    return {field.name() for field in dataset.lance_schema.fields() if not set(ids).isdisjoint(field_ids(field))}


def users(location: Location, table: str, newest: int) -> dict[str, list[int]]:
    """Tell by file, as a path in the table, which versions need it, the oldest first; of an index by its folder.

    Args:
        location: The lake.
        table: The table's name.
        newest: A version that can be opened.

    Raises:
        StorageError: A manifest cannot be read.
    """
    dataset: Any = tables.open_table(location, table, newest, checked=False)
    found: dict[str, set[int]] = {}
    with tables.reading(location, table):
        for batch in dataset.tracked_files() if dataset is not None else ():
            for version, path in zip(batch["version"].to_pylist(), batch["path"].to_pylist(), strict=True):
                found.setdefault(path, set()).add(version)
        for version in {v for versions in found.values() for v in versions}:
            for index in dataset.checkout_version(version).describe_indices():
                for segment in index.segments:
                    found.setdefault(f"_indices/{segment.uuid}", set()).add(version)
    return {path: sorted(versions) for path, versions in found.items()}
