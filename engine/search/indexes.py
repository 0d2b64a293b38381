"""Indexes of stored columns: declare, build, extend by new rows, describe, drop.

A vector index of a table with few vectors is a plain list (``ivf_flat``, one partition) whatever its kind, because
clusters and codes need rows to be trained on; when the table has grown, ``extend`` builds the kind that was asked for.
Rows that are not indexed yet are found all the same, by a scan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError, SqlError, did_you_mean
from counterbalance.engine.search.index_kinds import DEFAULT_VECTOR, is_vector, kind_named, kind_stored
from counterbalance.engine.search.kmeans import train
from counterbalance.engine.search.sample import Sample, draw, is_small

if TYPE_CHECKING:
    from collections.abc import Mapping

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.search.index_kinds import Kind

_A_PARTITION: Final = 128
"""Vectors to train a centroid on."""
_SEGMENTS: Final = 8
"""An index in so many pieces is made one piece again."""


@dataclass(frozen=True)
class IndexSpec:
    """What an index is to be.

    Args:
        name: Its name, unique in its table.
        kind: One of ``KINDS``.
        column: The indexed column.
        options: Those that were given; others have their defaults.

    Example:
        >>> spec = IndexSpec("by_look", "ivf_rq", "embedding", {"metric": "l2"})
        >>> spec.option("metric"), spec.option("nbits")
        ('l2', 1)
    """

    name: str
    kind: str
    column: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def option(self, name: str) -> Any:
        """Return the value that holds, given or default."""
        known = {o.name: o.default for o in kind_named(self.kind).options}
        return self.options.get(name, known[name])


@dataclass(frozen=True, slots=True)
class Coverage:
    """What an index holds: our kind and Lance's column, rows it covers and does not, bytes on disk, pieces."""

    name: str
    kind: str
    column: str
    metric: str | None
    indexed: int
    unindexed: int
    bytes: int | None
    segments: int
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Extended:
    """What ``extend`` did, and how many rows the index covers that it did not cover before."""

    mode: Literal["no_op", "incremental", "rebuild"]
    rows: int


def validate(spec: IndexSpec, schema: pa.Schema) -> IndexSpec:
    """Return the declaration with its kind and options as they are written here.

    Args:
        spec: What was asked; kind ``""`` means the default for the column's type; option values may be text.
        schema: The visible columns of the table.

    Raises:
        SqlError: Unknown kind, option or column, a value that is not allowed, or a type that the kind does not take.

    Example:
        >>> schema = pa.schema([("embedding", pa.list_(pa.float32(), 8))])
        >>> validate(IndexSpec("x", "", "embedding", {"METRIC": "L2"}), schema)
        IndexSpec(name='x', kind='ivf_rq', column='embedding', options={'metric': 'l2'})
    """
    if spec.column not in schema.names:
        raise SqlError(
            f"no column {spec.column!r} to index{did_you_mean(spec.column, schema.names)}",
            code="E3413",
            hint="columns: " + ", ".join(schema.names),
        )
    column = schema.field(spec.column).type
    kind = kind_named(spec.kind or _default_kind(column))
    if not kind.takes(column):
        raise SqlError(
            f"{kind.name} takes no {column}, which column {spec.column!r} is",
            code="E3414",
            hint=f"it takes {kind.columns}" + ("; ivf_sq takes any" if is_vector(column) and kind.is_vector else ""),
        )
    known = {o.name: o for o in kind.options}
    options: dict[str, Any] = {}
    for given, value in spec.options.items():
        name = given.lower()
        if name not in known:
            raise SqlError(
                f"{kind.name} has no option {given!r}{did_you_mean(given, known)}",
                code="E3411",
                hint="options: " + (", ".join(known) or "none"),
            )
        options[name] = known[name].typed(value, f"option {name!r} of {kind.name}")
    parts = options.get("num_sub_vectors")
    if parts is not None and column.list_size % parts:
        raise SqlError(
            f"num_sub_vectors must divide the {column.list_size} dimensions of {spec.column!r}, which {parts} does not",
            code="E3412",
        )
    return replace(spec, kind=kind.name, options=options)


def _default_kind(column: pa.DataType) -> str:
    if is_vector(column):
        return DEFAULT_VECTOR if column.list_size % 8 == 0 else "ivf_sq"
    return "label_list" if pa.types.is_list(column) else "btree"


def build(dataset: lance.LanceDataset, spec: IndexSpec, *, device: str = "auto") -> Coverage:
    """Make the index, or make it anew.

    Args:
        dataset: The newest version of the table; the handle moves to the version with the index. Hold the writer lock.
        spec: As ``validate`` returned it.
        device: Where k-means runs: ``"auto"``, ``"cpu"``, ``"cuda"`` …
    """
    kind = kind_named(spec.kind)
    there = _described(dataset, spec.name)
    if there is not None and list(there.field_names) != [spec.column]:
        dataset.drop_index(spec.name)
    if kind.is_vector:
        _build_vectors(dataset, spec, kind, device)
    else:
        options = {o.stored or o.name: spec.option(o.name) for o in kind.options}
        stored: Any = kind.stored
        dataset.create_scalar_index(spec.column, stored, name=spec.name, replace=True, **options)
    return coverage(dataset, spec.name)


def _build_vectors(dataset: lance.LanceDataset, spec: IndexSpec, kind: Kind, device: str) -> None:
    metric, seed = spec.option("metric"), spec.option("seed")
    wanted = spec.option("num_partitions") or max(1, round(dataset.count_rows() ** 0.5))
    sample = draw(dataset, spec.column, wanted * _A_PARTITION, seed, any_length=metric == "l2")
    if sample.is_small:
        kind, centroids = kind_named("ivf_flat"), np.zeros((1, sample.vectors.shape[1]), np.float32)
        centroids[:, :1] = 1
        options: dict[str, Any] = {}
    else:
        count = _partitions(spec, sample)
        centroids = train(sample.vectors, count, seed=seed, spherical=metric != "l2", device=device)
        options = _vector_options(spec, kind, sample.vectors.shape[1])
    dataset.create_index(
        spec.column,
        kind.stored,
        name=spec.name,
        metric=metric,
        replace=True,
        num_partitions=len(centroids),
        ivf_centroids=_as_column(centroids, dataset.schema.field(spec.column).type),
        **options,
    )


def _partitions(spec: IndexSpec, sample: Sample) -> int:
    """Return as many as asked for, or the square root of the rows; never more than there are different vectors to start from."""
    wanted = spec.option("num_partitions") or max(1, round(sample.rows**0.5))
    return int(min(wanted, max(1, sample.different // 2)))


def _vector_options(spec: IndexSpec, kind: Kind, dimensions: int) -> dict[str, Any]:
    options = {}
    if kind.name in {"ivf_rq", "ivf_pq"}:
        options["num_bits"] = spec.option("nbits")
    if kind.name == "ivf_pq":
        parts = max(1, dimensions // 8)
        while dimensions % parts:
            parts -= 1
        options["num_sub_vectors"] = spec.option("num_sub_vectors") or parts
    if kind.name == "ivf_hnsw_sq":
        options |= {"m": spec.option("m"), "ef_construction": spec.option("ef_construction")}
    return options


def _as_column(centroids: NDArray[np.float32], column: pa.DataType) -> pa.FixedSizeListArray:
    flat = pa.array(centroids.astype(column.value_type.to_pandas_dtype()).ravel(), column.value_type)
    return pa.FixedSizeListArray.from_arrays(flat, column.list_size)


def extend(dataset: lance.LanceDataset, spec: IndexSpec, *, device: str = "auto") -> Extended:
    """Cover the rows that are not indexed; makes the index when it is not there as declared.

    Args:
        dataset: As for ``build``.
        spec: As ``validate`` returned it.
        device: As for ``build``.
    """
    if not exists(dataset, spec):
        return Extended("rebuild", build(dataset, spec, device=device).indexed)
    before = coverage(dataset, spec.name)
    if before.unindexed == 0:
        return Extended("no_op", 0)
    outgrown = before.kind != spec.kind and not is_small(dataset, spec.column, any_length=before.metric == "l2")
    if outgrown or not kind_named(spec.kind).grows:
        build(dataset, spec, device=device)
        return Extended("rebuild", before.unindexed)
    merged = before.segments if before.segments >= _SEGMENTS else 0
    dataset.optimize.optimize_indices(num_indices_to_merge=merged, index_names=[spec.name])
    return Extended("incremental", before.unindexed - coverage(dataset, spec.name).unindexed)


def coverage(dataset: lance.LanceDataset, name: str) -> Coverage:
    """Return what an index holds at the handle's version.

    Raises:
        RequestError: There is no such index.
    """
    found = _described(dataset, name)
    if found is None:
        known = [d.name for d in dataset.describe_indices()]
        raise RequestError(
            f"no index {name!r}{did_you_mean(name, known)}",
            code="E3415",
            hint="indexes: " + (", ".join(sorted(known)) or "none"),
        )
    return _coverage(dataset, found)


def coverages(dataset: lance.LanceDataset) -> list[Coverage]:
    """Return that of every index of the table, by name."""
    return [_coverage(dataset, d) for d in sorted(dataset.describe_indices(), key=lambda d: str(d.name))]


def _coverage(dataset: lance.LanceDataset, found: Any) -> Coverage:
    details = dict(found.details or {})
    metric = details.get("metric_type")
    rows = int(dataset.count_rows())
    indexed = min(rows, int(found.num_rows_indexed))
    size = found.total_size_bytes
    return Coverage(
        str(found.name),
        kind_stored(str(found.index_type)),
        str(found.field_names[0]),
        None if metric is None else str(metric).lower(),
        indexed,
        rows - indexed,
        None if size is None else int(size),
        len(found.segments),
        details,
    )


def drop(dataset: lance.LanceDataset, name: str) -> bool:
    """Remove an index; says whether it was there."""
    if _described(dataset, name) is None:
        return False
    dataset.drop_index(name)
    return True


def exists(dataset: lance.LanceDataset, spec: IndexSpec) -> bool:
    """Tell whether the index is there as declared: column, kind, metric and what was set; rows may be missing from it.

    The plain list that stands for a vector index of few rows counts, until it no longer covers the table.
    """
    found = _described(dataset, spec.name)
    if found is None:
        return False
    there = _coverage(dataset, found)
    kind = kind_named(spec.kind)
    if there.column != spec.column or (kind.is_vector and there.metric != spec.option("metric")):
        return False
    if there.kind != spec.kind:
        stands_in = kind.is_vector and there.kind == "ivf_flat"
        small = stands_in and is_small(dataset, spec.column, any_length=there.metric == "l2")
        return stands_in and (small or there.unindexed > 0)
    recorded = {**there.details, **there.details.get("compression", {}), **there.details.get("hnsw", {})}
    names = [(o.stored or o.name, o.name) for o in kind.options if o.name in spec.options]
    return all(recorded[stored] == spec.option(name) for stored, name in names if stored in recorded)


def _described(dataset: lance.LanceDataset, name: str) -> Any:
    return next((d for d in dataset.describe_indices() if d.name == name), None)
