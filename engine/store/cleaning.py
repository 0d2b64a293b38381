"""What lies in a table that nobody needs: versions, what only they refer to, and rows that were deleted."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.store import digests, history, pins, tables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    import lance

    from counterbalance.engine.store.location import Location

_MANY_FRAGMENTS: Final = 16
_LITTLE_ROWS: Final = 1 << 16
_LITTLE_BYTES: Final = 1 << 25
"""A fragment with fewer rows and bytes is little."""
_MANY_LITTLE: Final = 32
"""So many of them are put together."""
_TARGET_ROWS: Final = 1 << 20
_MANY_VERSIONS: Final = 32
"""So many versions that nobody can have seen are removed."""


def moment(version: Mapping[str, Any]) -> dt.datetime:
    """Return when a version was made, UTC."""
    made: dt.datetime = version["timestamp"]
    return made.astimezone(dt.UTC)


def old_versions(dataset: lance.LanceDataset, before: dt.datetime, keep: AbstractSet[int]) -> list[int]:
    """Return versions made before a moment, but for the newest, the tagged and those to keep.

    Args:
        dataset: The table at its newest version.
        before: A moment with its zone.
        keep: Versions that stay.
    """
    spared = {int(dataset.version), *keep, *tagged(dataset)}
    return [int(v["version"]) for v in dataset.versions() if v["version"] not in spared and moment(v) < before]


def tagged(dataset: lance.LanceDataset) -> set[int]:
    """Return the versions that have a tag."""
    return {int(t["version"]) for t in dataset.tags.list().values()}


def removable(dataset: lance.LanceDataset, versions: list[int], *, alone: bool) -> int:
    """Return the bytes that would go with these versions.

    Args:
        dataset: The table.
        versions: What to remove.
        alone: Nobody is writing to it: files of writes that failed are counted, however young.
    """
    found = dataset.explain_cleanup_old_versions(
        versions=_named(dataset, versions), delete_unverified=alone, error_if_tagged_old_versions=False
    )
    return int(found.stats.bytes_removed)


def remove(location: Location, name: str, dataset: lance.LanceDataset, versions: list[int], *, alone: bool) -> int:
    """Remove these versions and what only they, or nothing, refers to, and its digests; returns the bytes.

    The digests of what only they have go first: after a kill files are there without a digest, and none is missed.
    """
    digests.forget(location, name, _only_of(location, name, dataset, versions))
    before = digests.files(location, [name]).get(name, {})
    done = dataset.cleanup_old_versions(
        versions=_named(dataset, versions), delete_unverified=alone, error_if_tagged_old_versions=False
    )
    after = digests.files(location, [name]).get(name, {})
    digests.forget(location, name, before.keys() - after.keys())
    return int(done.bytes_removed)


def _only_of(location: Location, name: str, dataset: lance.LanceDataset, versions: list[int]) -> list[str]:
    """Return files, as paths in the table, that only these versions have."""
    if location.is_memory or not versions:
        return []
    goes, recorded = {*versions}, digests.read(location, name)
    alone = {path for path, of in history.users(location, name, int(dataset.version)).items() if goes.issuperset(of)}
    paths = recorded.entries if recorded is not None else ()
    return [
        path for path in paths if path in alone or path.rpartition("/")[0] in alone
    ]  # of an index the folder is told


def _named(dataset: lance.LanceDataset, versions: list[int]) -> list[int]:
    """Return the newest with them, which always stays: Lance wants a list that is not empty."""
    return [*versions, int(dataset.version)]


def deleted_rows(dataset: lance.LanceDataset) -> int:
    """Return the rows that were deleted and still lie in the files of the newest version."""
    return int(dataset.stats.dataset_stats()["num_deleted_rows"])


def sizes(location: Location, name: str, dataset: lance.LanceDataset) -> dict[str, int]:
    """Return the bytes of every data file of a version, by its path in the table; those of its pictures, which lie beside it, too."""
    found = {f.path: int(f.file_size_bytes or 0) for fragment in dataset.get_fragments() for f in fragment.data_files()}
    if not any(_is_blob(field) for field in dataset.schema) or location.is_memory:
        return found
    system, root = location.filesystem()
    folder = f"{root}/{location.folder(name)}/data"
    stems = {path.removesuffix(".lance"): path for path in found}
    for file, about in system.find(folder, detail=True).items():
        stem = file[len(folder) :].strip("/").partition("/")[0]
        if stem in stems and file.endswith(".blob"):
            found[stems[stem]] += int(about["size"])
    return found


def _is_blob(field: Any) -> bool:
    return str(getattr(field.type, "extension_name", "")).startswith("lance.blob")


def wants_compaction(dataset: lance.LanceDataset, *, small: bool) -> bool:
    """Tell whether it holds deleted rows or, if ``small`` ones count, too many little files."""
    return deleted_rows(dataset) > 0 or (small and len(dataset.get_fragments()) > _MANY_FRAGMENTS)


def compact(location: Location, name: str, *, small: bool) -> int:
    """Write fragments with deleted rows again without them, and the little ones together if ``small``.

    Row ids, order and indexes stay. Returns how many commits were made.
    """
    dataset: Any = tables.open_table(location, name)
    whole = [] if small else [f.fragment_id for f in dataset.get_fragments() if not f.num_deletions]
    before = int(dataset.version)
    dataset.optimize.compact_files(
        materialize_deletions=True, materialize_deletions_threshold=0.0, excluded_fragment_ids=whole
    )
    history.note_rewritten(dataset, before)
    return (tables.latest_version(location, name) or before) - before


def gather(location: Location, name: str) -> None:
    """Put little fragments together where there are many; the writer lock is held. Row ids, order and indexes stay."""
    dataset: Any = tables.open_table(location, name)
    rows = {f.fragment_id: int(f.metadata.num_rows) for f in dataset.get_fragments()}
    if sum(count < _LITTLE_ROWS for count in rows.values()) < _MANY_LITTLE:
        return
    bytes_ = sizes(location, name, dataset)
    little = {
        f.fragment_id
        for f in dataset.get_fragments()
        if rows[f.fragment_id] < _LITTLE_ROWS and sum(bytes_[d.path] for d in f.data_files()) < _LITTLE_BYTES
    }
    if len(little) >= _MANY_LITTLE:
        others = [number for number in rows if number not in little]
        dataset.optimize.compact_files(
            target_rows_per_fragment=_TARGET_ROWS, materialize_deletions=False, excluded_fragment_ids=others
        )


def remove_unseen(location: Location, name: str, seen: int) -> None:
    """Remove versions between the one that readers see and the newest, where they are many; the writer lock is held.

    A refresh looks at the newest version there is, and pins it; while one is about to choose, none goes.

    Args:
        location: The lake.
        name: The table.
        seen: The version that readers see, 0 for none.
    """
    dataset: Any = tables.open_table(location, name)
    keep, undecided = pins.pinned(location)
    if undecided:
        return
    spared = {int(dataset.version), *keep.get(name, ()), *tagged(dataset)}
    unseen = [v for v in (int(v["version"]) for v in dataset.versions()) if v > seen and v not in spared]
    if len(unseen) >= _MANY_VERSIONS:
        remove(location, name, dataset, unseen, alone=False)
