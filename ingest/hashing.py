"""Integer ids for what a source calls its items: of one key in Python, of millions by DuckDB over Arrow.

An id that is an integer is kept; any other key becomes a 63-bit hash of its UTF-8 text: the low 64 bits of its MD5 with
the sign bit cleared, which in DuckDB is ``md5_number_lower(key) & 9223372036854775807``. The hash is a name, no secret.
"""

from __future__ import annotations

import hashlib
from threading import local
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

_HASH: Final = "(md5_number_lower(k) & 9223372036854775807)::BIGINT"
_PLAIN: Final = "CASE WHEN regexp_full_match(k, '0|[1-9][0-9]{0,18}') THEN try_cast(k AS BIGINT) END"
_SEPARATOR: Final = "\x1f"
REMEMBERED: Final = 1 << 26
"""How many ids ``Seen`` keeps: half a gigabyte."""

_state = local()
_MASK: Final = (1 << 63) - 1


def hash63(text: str) -> int:
    """Return the 63-bit hash of a key.

    Example:
        >>> hash63("000000012")
        553072846134739617
    """
    digest = hashlib.md5(text.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little") & _MASK


def key_id(key: str) -> int:
    """Return the id of a key: itself when it is written as a plain non-negative integer, else its hash.

    Example:
        >>> key_id("139"), key_id("000139") == 139
        (139, False)
    """
    if key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) <= 19 and int(key) <= _MASK:
        return int(key)
    return hash63(key)


def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    if not hasattr(_state, "connection"):
        _state.connection = duckdb.connect(config={"threads": 1, "python_enable_replacements": False})
    connection: duckdb.DuckDBPyConnection = _state.connection
    return connection


def _run(keys: pa.Array, expression: str) -> pa.Array:
    connection = _connection()
    connection.register("keys", pa.table({"k": keys}))
    try:
        found = connection.sql(f"SELECT {expression} AS id FROM keys").to_arrow_table()["id"]
    finally:
        connection.unregister("keys")
    return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)


def key_ids(keys: pa.Array) -> pa.Array:
    """Return the ids of keys: equal to ``key_id`` of each; NULL stays NULL.

    Args:
        keys: UTF-8 strings.

    Returns:
        int64, as long as ``keys``.

    Example:
        >>> key_ids(pa.array(["139", None])).to_pylist()
        [139, None]
    """
    return _run(keys, f"coalesce({_PLAIN}, {_HASH})")


def hash_rows(*columns: pa.Array) -> pa.Array:
    """Return one id per row of several columns: ``hash63`` of its texts, joined by the unit separator; NULL is empty.

    Args:
        columns: UTF-8 strings (or int64, written in decimal), all of one length.
    """
    texts = [c if pa.types.is_string(c.type) else pc.cast(c, pa.string()) for c in columns]
    joined = pc.binary_join_element_wise(*texts, pa.scalar(_SEPARATOR), null_handling="replace", null_replacement="")
    return _run(joined, _HASH)


def first_of_each(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return true where a value stands for the first time.

    Example:
        >>> first_of_each(np.array([7, 8, 7])).tolist()
        [True, True, False]
    """
    first = np.zeros(len(ids), dtype=bool)
    first[np.unique(ids, return_index=True)[1]] = True
    return first


class Seen:
    """Describe which ids came by before: sorted runs of int64 that are merged when they are of like size.

    It keeps 8 bytes an id and forgets nothing until ``REMEMBERED`` of them; later ones are not kept.
    Not thread-safe.
    """

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._runs: list[npt.NDArray[np.int64]] = []
        self._room = remembered

    def add(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return true for each id that is new, also within ``ids``; the new ones are remembered."""
        values, at = np.unique(ids, return_index=True)
        fresh = np.ones(len(values), dtype=bool)
        for run in self._runs:  # both sides are sorted: the look-ups walk through memory
            fresh &= run[np.minimum(np.searchsorted(run, values), len(run) - 1)] != values
        new = np.zeros(len(ids), dtype=bool)
        new[at[fresh]] = True
        kept = values[fresh][: self._room]
        if len(kept):
            self._room -= len(kept)
            self._runs.append(kept)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate([self._runs[-1], last]), kind="stable")
        return new
