"""Which generated columns and materialized views are wholly fresh at a version, and which columns a session does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import runs
from counterbalance.engine.catalog.definitions import FINGERPRINT
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.schema import ROW_VERSION, STAMP_SUFFIX
from counterbalance.engine.sql.expression import analyse, same_call
from counterbalance.engine.store import history, pictures, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import lance
    import pyarrow as pa

    from counterbalance.engine.catalog.definitions import Definition, Definitions
    from counterbalance.engine.store.location import Location

_known: Final[dict[tuple[str, int, str, str], bool]] = {}
_MOST_KNOWN: Final = 1000


def stale_filter(name: str, upstream: tuple[str, ...]) -> str:
    """Return the Lance filter of the rows whose value is missing, or older than what it was computed from."""
    stamp = name + STAMP_SUFFIX
    inputs = [f"`{stamp}` < `{u}{STAMP_SUFFIX}`" for u in upstream]
    return " OR ".join([f"`{stamp}` IS NULL", f"`{stamp}` < {ROW_VERSION}", *inputs])


def fresh_calls(
    dataset: lance.LanceDataset,
    definitions: Definitions,
    table: str,
    fingerprint: Callable[[Definition], str],
    hidden: frozenset[str],
) -> dict[str, str]:
    """Return expressions whose values are stored for every row of this version, each with its column."""
    found: dict[str, str] = {}
    for name, definition in definitions.columns(table).items():
        stored = name in dataset.schema.names and name + STAMP_SUFFIX in dataset.schema.names
        if (
            stored
            and name not in hidden
            and definition.type is None
            and _is_fresh(dataset, definitions, definition, fingerprint)
        ):
            found[same_call(definition.sql)] = name
    return found


def _is_fresh(
    dataset: lance.LanceDataset,
    definitions: Definitions,
    definition: Definition,
    fingerprint: Callable[[Definition], str],
) -> bool:
    metadata = dataset.schema.field(definition.name).metadata or {}
    generated = definitions.columns(definition.table)
    try:
        if metadata.get(FINGERPRINT) != fingerprint(definition).encode():
            return False
        expression = analyse(definition.sql, definition.table, pictures.readable(dataset.schema.names))
    except CounterbalanceError:
        return False
    upstream = tuple(c for c in expression.columns if c in generated)
    return _none(dataset, stale_filter(definition.name, upstream))


def _none(dataset: lance.LanceDataset, condition: str) -> bool:
    """Tell whether no row of this version is like that; read once a process, for a version never changes.

    A lake that was removed and made again may have the same path and version, but no file of the same name.
    """
    fragments = dataset.get_fragments()
    newest = fragments[-1].metadata.files[-1].path if fragments else ""
    key = (str(dataset.uri), int(dataset.version), str(newest), condition)
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = not dataset.count_rows(filter=condition)
    return _known[key]


def uncomputed(dataset: lance.LanceDataset, definitions: Definitions, table: str) -> list[str]:
    """Return generated columns of a table that no refresh has published: all their values are NULL."""
    generated = definitions.columns(table)
    return [f.name for f in dataset.schema if f.name in generated and FINGERPRINT not in (f.metadata or {})]


def own_columns(stored: pa.Schema, definitions: Definitions, view: Definition) -> list[str]:
    """Return the columns of a view's table that come from its ``SELECT``: no generated ones, no stamps."""
    generated = definitions.columns(view.name)
    hidden = {*generated, *(g + STAMP_SUFFIX for g in generated)}
    return [name for name in stored.names if name not in hidden]


def moved(
    location: Location, definitions: Definitions, view: Definition, last: Mapping[str, Any], versions: Mapping[str, int]
) -> Iterator[str]:
    """Yield what changed of a view's inputs, and of the view itself, since its last refresh.

    Args:
        location: The lake.
        definitions: What is declared.
        view: The view.
        last: Its last refresh, as ``runs.computed`` gives it.
        versions: Of the tables that it reads, and of its own.
    """
    before = runs.by_table(last["versions_in"])
    reads: dict[str, set[str]] = {}
    for relation, column in view.reads:
        reads.setdefault(relation, set()).add(column)
    for name in sorted({*before, *reads.keys() & versions.keys()} - {view.name}):
        columns = reads.get(name, set())
        if history.changed(location, name, before.get(name), versions.get(name), None if "*" in columns else columns):
            yield name
    own = runs.by_table(last["versions_out"]).get(view.name)
    stored = tables.open_table(location, view.name, versions[view.name])
    columns = set() if stored is None else {*own_columns(stored.schema, definitions, view)}
    if history.changed(location, view.name, own, versions[view.name], columns):
        yield "its own table"
