"""Searches in one stored table at its pinned version: by vector, by words, by both.

Each returns the table's key (its first column), ``rank`` (int32, from 1) and ``score`` (float64), ties by key, and
``_rowid``, by which ``found.py`` reads the other columns. An index chooses candidates; what ranks is always their precise
score.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError, SqlError, did_you_mean
from counterbalance.engine.executors.devices import available
from counterbalance.engine.functions import function
from counterbalance.engine.schema import ROW
from counterbalance.engine.search.index_kinds import is_vector
from counterbalance.engine.search.indexes import coverages
from counterbalance.engine.search.lance_filter import lance_filter
from counterbalance.engine.search.ranking import at_least_one, check_metric
from counterbalance.engine.search.scan import among, exact, ranked
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.functions import Opened
    from counterbalance.engine.search.indexes import Coverage
    from counterbalance.engine.store.location import Location

PROBES: Final = 20
"""Partitions that are searched at least; more when too few rows of them pass the condition."""
REFINE: Final = {"ivf_flat": 1, "ivf_sq": 3, "ivf_hnsw_sq": 3, "ivf_rq": 10, "ivf_pq": 20}
"""Candidates for each wanted row, by how much a kind rounds; their true scores decide."""
_FEW: Final = 20_000
"""So few rows that pass a condition are compared one by one."""
_FUSION: Final = 60
_DEEPER: Final = 4


@dataclass(frozen=True)
class Stored:
    """A stored table as a session shows it.

    Args:
        name: As in SQL.
        schema: Its visible columns; the first is the key.
        dataset: The pinned version.
        location: The lake it lies in.
        stored: Its name there.
    """

    name: str
    schema: pa.Schema = field(repr=False)
    dataset: lance.LanceDataset = field(repr=False)
    location: Location = field(repr=False)
    stored: str = field(repr=False)

    @property
    def key(self) -> str:
        """Return the name of its key column."""
        return str(self.schema.names[0])

    def column(self, name: str) -> str:
        """Return the visible column of that name, in any case.

        Raises:
            SqlError: There is none.
        """
        known = {n.lower(): n for n in self.schema.names}
        if name.lower() not in known:
            raise SqlError(
                f"no column {name!r} in {self.name}{did_you_mean(name, known)}",
                code="E3453",
                hint="columns: " + ", ".join(self.schema.names),
            )
        return str(known[name.lower()])

    def filter(self, where: str | None) -> str | None:
        """Return the condition for Lance."""
        if where is None:
            return None
        if not where.strip():
            raise SqlError("'where' is empty", code="E3466", hint="write a condition, or leave it out")
        return lance_filter(where, self.schema, self.name.rpartition(".")[2])


def vector_search(
    table: Stored,
    column: str,
    query: Sequence[float] | str,
    k: int = 10,
    where: str | None = None,
    metric: str | None = None,
    nprobes: int | None = None,
    refine: int | None = None,
    embed: str | None = None,
) -> pa.Table:
    """Return the k rows nearest to a vector, among those that the condition lets pass.

    Uses an index of the column (and of the metric, when given), and compares every row without one or when few pass.

    Args:
        table: The table.
        column: Its vector column.
        query: Numbers, or text for ``embed``.
        k: How many.
        where: SQL condition over the table's columns, applied before the search.
        metric: ``"cosine"``, ``"dot"`` or ``"l2"`` (score is the negative distance); the index's, or cosine.
        nprobes: Partitions to search at least.
        refine: Candidates for each wanted row.
        embed: Function from text to a vector.
    """
    name, wanted = table.column(column), at_least_one(k)
    kind = table.schema.field(name).type
    if not is_vector(kind):
        raise SqlError(
            f"column {name!r} of {table.name} is {kind}, not a vector",
            code="E3454",
            hint="vectors are lists of fixed length of float32 or float16",
        )
    if metric is not None:
        check_metric(metric)
    for value, named in ((nprobes, "nprobes"), (refine, "refine")):
        if value is not None:
            at_least_one(value, named)
    vector = _vector(query, embed, kind.list_size, name)
    condition = table.filter(where)
    index = vector_index(table.dataset, name, metric)
    measure = metric or (index.metric if index else None) or "cosine"

    def search() -> pa.Table:
        if index is None or (condition is not None and table.dataset.count_rows(filter=condition) <= _FEW):
            return exact(table.dataset, name, table.key, vector, wanted, measure, where=condition)
        count = wanted * (_refine(index) if refine is None else refine)
        probes = PROBES if nprobes is None else nprobes
        found = candidates(table.dataset, index, table.key, vector[0], count, probes=probes, where=condition)
        keys, rows = found[table.key].combine_chunks(), found[ROW].combine_chunks()
        return among(keys, found[name], vector, wanted, measure, rows=rows)

    return _named(table, _guarded(table, search, where))


def _refine(index: Coverage) -> int:
    return REFINE.get(index.kind, 10)


def candidates(
    dataset: lance.LanceDataset,
    index: Coverage,
    key: str,
    vector: NDArray[np.float32],
    count: int,
    *,
    probes: int,
    where: str | None = None,
) -> pa.Table:
    """Return keys and vectors of the rows that an index deems nearest, with those that it does not cover yet."""
    nearest = {
        "column": index.column,
        "q": vector,
        "k": count,
        "metric": index.metric,
        "minimum_nprobes": probes,
        "use_index": True,
    }
    columns = list(dict.fromkeys([key, index.column, ROW]))
    scanner = dataset.scanner(
        columns=columns, nearest=nearest, filter=where, prefilter=True, disable_scoring_autoprojection=True
    )
    return scanner.to_table()


def vector_index(dataset: lance.LanceDataset, column: str, metric: str | None) -> Coverage | None:
    """Return the index that a search of the column uses: of this metric, or the first by name."""
    found = [c for c in coverages(dataset) if c.column == column and c.metric is not None]
    return next((c for c in found if metric is None or c.metric == metric), None)


def full_text_search(table: Stored, column: str, query: str, k: int = 10, where: str | None = None) -> pa.Table:
    """Return the k rows whose text fits the words best, by BM25; rows without any of them are left out.

    Args:
        table: The table.
        column: Its text column, with a full-text index.
        query: Words; in double quotes a phrase, for which the index needs ``with_position``.
        k: How many.
        where: SQL condition over the table's columns, applied before the search.
    """
    from lance.query import MatchQuery, PhraseQuery

    name, wanted = table.column(column), at_least_one(k)
    index = next((c for c in coverages(table.dataset) if c.column == name and c.kind == "fts"), None)
    if index is None:
        raise RequestError(
            f"column {name!r} of {table.name} has no full-text index",
            code="E3455",
            hint=f"CREATE INDEX ON {table.name.rpartition('.')[2]} USING fts ({name}), then refresh",
        )
    condition = table.filter(where)
    words = query.strip()
    is_phrase = len(words) > 2 and words[0] == words[-1] == '"'
    if is_phrase and not index.details.get("with_position"):
        raise RequestError(
            f"the index of {name!r} keeps no places of words, so it finds no phrases",
            code="E3456",
            hint=f"CREATE INDEX … USING fts ({name}) WITH (with_position = true), or leave the double quotes out",
        )
    asked: Any = PhraseQuery(words.strip('"'), name) if is_phrase else MatchQuery(words, name)

    def search() -> pa.Table:
        limit = 2 * wanted + 64
        while True:
            found = table.dataset.scanner(
                columns=[table.key, ROW, "_score"], full_text_query=asked, limit=limit, filter=condition, prefilter=True
            ).to_table()
            scores = np.sort(found["_score"].to_numpy())[::-1]
            if len(found) < limit or scores[wanted - 1] > scores[-1]:
                return _ranked(found[table.key], found[ROW], found["_score"].cast(pa.float64()), wanted)
            limit *= 4  # ties at the cut: the smallest keys of all that are equal

    return _named(table, _guarded(table, search, where))


def hybrid_search(
    table: Stored,
    vector_column: str,
    text_column: str,
    query: Sequence[float] | str,
    text: str,
    k: int = 10,
    where: str | None = None,
    metric: str | None = None,
    nprobes: int | None = None,
    refine: int | None = None,
    embed: str | None = None,
) -> pa.Table:
    """Return the k best rows of a vector search and a full-text search together, by reciprocal rank fusion.

    The score is the sum of ``1 / (60 + rank)`` over both.

    Args:
        table: The table.
        vector_column: As ``column`` of ``vector_search``.
        text_column: As ``column`` of ``full_text_search``.
        query: As of ``vector_search``.
        text: As ``query`` of ``full_text_search``.
        k: How many.
        where: As of both.
        metric: As of ``vector_search``.
        nprobes: The same.
        refine: The same.
        embed: The same.
    """
    deep = max(100, _DEEPER * at_least_one(k))
    near = vector_search(table, vector_column, query, deep, where, metric, nprobes, refine, embed)
    said = full_text_search(table, text_column, text, deep, where)
    both = pa.concat_tables([near, said])
    parts = pa.table({"key": both[table.key], ROW: both[ROW], "part": 1.0 / (_FUSION + both["rank"].to_numpy())})
    sums = parts.group_by(["key", ROW], use_threads=False).aggregate([("part", "sum")])
    return _named(table, _ranked(sums["key"], sums[ROW], sums["part_sum"], k))


def _ranked(keys: pa.ChunkedArray, rows: pa.ChunkedArray, scores: pa.ChunkedArray, k: int) -> pa.Table:
    zeros = pa.array(np.zeros(len(keys), np.int32))
    return ranked(pa.table({"query": zeros, "key": keys, ROW: rows, "rank": zeros, "score": scores}), k)


def _named(table: Stored, found: pa.Table) -> pa.Table:
    return found.select(["key", "rank", "score", ROW]).rename_columns([table.key, "rank", "score", ROW])


def _guarded(table: Stored, search: Callable[[], pa.Table], where: str | None) -> pa.Table:
    """Raise what Lance refuses of a condition (a text compared with a number, say) as an error in the query; all else is damage."""
    try:
        with tables.reading(table.location, table.stored):
            return search()
    except (ValueError, OSError, RuntimeError) as error:
        told = None if isinstance(error, RequestError) or where is None else _refused(table, where)
        if told is None:
            raise
        raise SqlError(f"the condition {where!r} cannot be applied: {told}", code="E3457") from error


def _refused(table: Stored, where: str) -> str | None:
    """Return what Lance says to a condition alone, without any index; ``None`` where it can be applied."""
    try:
        table.dataset.scanner(
            columns=[], with_row_id=True, filter=table.filter(where), use_scalar_index=False
        ).count_rows()
    except (ValueError, OSError, RuntimeError) as error:
        return tables.lance_line(error)
    return None


def _vector(query: Sequence[float] | str, embed: str | None, width: int, column: str) -> NDArray[np.float32]:
    """Return the query as one row."""
    if embed is not None:
        if not isinstance(query, str):
            raise SqlError("'embed' makes a vector of text, but 'query' is a vector", code="E3458")
        values = _embedded(query, embed)
    else:
        values = _numbers(query)
    vector = np.asarray(values, np.float32).reshape(1, -1)
    if vector.shape[1] != width:
        raise SqlError(f"the query has {vector.shape[1]} dimensions, {column!r} has {width}", code="E3126")
    if not np.isfinite(vector).all():
        raise SqlError("the query vector holds NaN or infinity", code="E3458")
    return vector


def _numbers(query: Sequence[float] | str) -> NDArray[np.float32]:
    try:
        values = json.loads(query) if isinstance(query, str) else query
        return np.asarray([float(v) for v in values], np.float32)
    except (ValueError, TypeError):
        raise SqlError(
            f"the query is not a vector: {str(query)[:60]!r}",
            code="E3458",
            hint="give a list of numbers, (SELECT …) of one vector, or text with embed := 'function'",
        ) from None


def _embedded(text: str, name: str) -> Any:
    array = pa.array([text], pa.string())
    result = _opened(name.lower())([array])
    values = result if isinstance(result, pa.Array | pa.ChunkedArray) else pa.array(result)
    if len(values) != 1 or values[0].as_py() is None or not hasattr(values[0].as_py(), "__len__"):
        raise SqlError(f"{name}() made no vector of the text", code="E3459")
    return values[0].as_py()


@lru_cache(maxsize=1)
def _opened(name: str) -> Opened:
    """Return the function, open; the last one stays so, because models load slowly."""
    found = function(name)
    variable = [p for p in found.parameters if not p.constant]
    if (
        len(variable) != 1
        or variable[0].type != pa.string()
        or any(p.constant and p.required for p in found.parameters)
    ):
        raise SqlError(
            f"{found.signature} cannot embed a query: it must take one text", code="E3459", hint="text -> vector"
        )
    constants = {p.name: p.default for p in found.parameters if p.constant}
    return found.open(constants, available("auto", wants=found.device == "auto")[0])
