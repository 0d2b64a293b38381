"""Which images a grid shows, and in what order: what an address asks for, as SQL, and the ids that it gives."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlencode

import numpy as np
from sqlglot import exp

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.schema import is_sensitive
from counterbalance.engine.sql import parse
from counterbalance.report.pictures import IS_SAFE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

MOST: Final = 2_000_000
"""Images of a selection; further ones are left out."""
NEAREST: Final = 1000
"""Images that are similar to one."""
TABLES: Final = ("images", "captions", "detections")
"""Tables whose columns images are filtered by."""
SORTS: Final = {"image_id": "number", "random": "hash of the number"}
_COMPARED: Final = ("timestamp", "date", "time", "duration")
_TEXTS: Final = ("string", "large_string")
_HASH: Final = "md5(CAST(i.image_id AS VARCHAR))"
_LENGTH: Final = 300
_SQL_LENGTH: Final = 20_000
_VALUES: Final = 20
MARKS: Final = 500
"""Words that are marked, at most: their letters are bounded where links are made."""
_SELECTIONS: Final = 8
_WHOLE: Final = 1e15
_LISTS: Final = ("split", "category", "label", "column", "mark", "gendered", "box")
_NUMBERS: Final = ("int", "float", "double", "halffloat", "decimal")

Columns = dict[str, dict[str, str]]
"""Types of columns by table and name."""


def quoted(value: str) -> str:
    """Return a text as SQL."""
    return parse.to_sql(exp.Literal.string(value))


def name_of(column: str) -> str:
    """Return a column's name as SQL."""
    return parse.to_sql(exp.column(exp.to_identifier(column, quoted=True)))


def is_number(kind: str) -> bool:
    """Tell whether values of a type are compared by size.

    Example:
        >>> is_number("int64"), is_number("fixed_size_list<item: float>[4]"), is_number("bool")
        (True, False, False)
    """
    return kind.startswith(_NUMBERS)


def sorts(columns: Columns) -> dict[str, str]:
    """Return what images can be sorted by, each with what a page calls it.

    Example:
        >>> sorts({"images": {"image_id": "int64", "width": "int32", "split": "string", "embedding": "list<item: float>"}})
        {'image_id': 'number', 'random': 'hash of the number', 'images.width': 'width, smallest first',
         '-images.width': 'width, largest first', 'images.split': 'split', '-images.split': 'split, backwards'}
    """
    found = dict(SORTS)
    for name, kind in columns["images"].items():
        if name != "image_id" and (is_number(kind) or kind.startswith(_COMPARED)):
            found |= {f"images.{name}": f"{name}, smallest first", f"-images.{name}": f"{name}, largest first"}
        elif kind in _TEXTS:
            found |= {f"images.{name}": name, f"-images.{name}": f"{name}, backwards"}
    return found


def written(value: float) -> str:
    """Return a number as a person writes it, all of it.

    Example:
        >>> written(100.0), written(1234567.25), written(1e300)
        ('100', '1234567.25', '1e+300')
    """
    return str(int(value)) if value.is_integer() and abs(value) < _WHOLE else repr(value)


@dataclass(frozen=True, slots=True)
class Filters:
    """What an address asks for.

    Args:
        split: Splits, of which an image has one.
        category: Of which an image has a box each.
        words: That one caption has, all of them.
        label: ``attribute:value`` of open labels; one of each attribute.
        column: ``table.column:value``.
        mark: Words to mark in captions, which leave out no image.
        gendered: ``female``, ``male``: mark the words that name such people, as ``gender_label`` finds them.
        box: Categories whose boxes the grid draws, beside those in ``category``.
        least: Smallest value by ``table.column``.
        most: Largest value by ``table.column``.
        similar: Only images near to that one, the nearest first.
        sql: Somebody's own query, whose ``image_id`` are the images, in its order.
        sort: One of ``sorts``: by number, by a hash of it, or by a column of images, ``-`` before which turns it round. Where
            ``similar`` or ``sql`` gives an order, by number means theirs.
        at: Tag or moment at which the lake is read; now without one.
        unsafe: Also images that their source does not call safe.
        blur: Blur heads in pictures.
    """

    split: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    words: str = ""
    label: tuple[str, ...] = ()
    column: tuple[str, ...] = ()
    mark: tuple[str, ...] = ()
    gendered: tuple[str, ...] = ()
    box: tuple[str, ...] = ()
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    similar: int | None = None
    sql: str = ""
    sort: str = "image_id"
    at: str = ""
    unsafe: bool = False
    blur: bool = False

    @classmethod
    def read(cls, asked: Sequence[tuple[str, str]]) -> Self:
        """Return what the parts of an address say; parts of other names mean nothing.

        Raises:
            RequestError: One is too long, stands too often, or is no number where one belongs.
        """
        lists: dict[str, list[str]] = {name: [] for name in _LISTS}
        bounds: dict[str, Any] = {"least": {}, "most": {}}
        plain: dict[str, Any] = {}
        for name, given in asked:
            value = given.strip() if name in {"words", "sql", "at"} else given
            bound, _, column = name.partition(".")
            if not value or not (name in lists or name in _PLAIN or (bound in bounds and column)):
                continue
            if len(value) > (_SQL_LENGTH if name == "sql" else _LENGTH) or len(name) > _LENGTH:
                raise _wrong(f"{name[:40]} is too long", "ask in SQL for what is longer")
            if name in lists:
                lists[name].append(value)
            elif name in _PLAIN:
                plain[name] = _PLAIN[name](value)
            else:
                bounds[bound][column] = _number(name, value)
        if any(len(values) > (MARKS if name == "mark" else _VALUES) for name, values in (lists | bounds).items()):
            raise _wrong(f"more than {_VALUES} values of one kind", "ask in SQL for more")
        plain |= {name: tuple(dict.fromkeys(values)) for name, values in lists.items()}
        return cls(**plain, **bounds)

    def address(self, **more: Any) -> str:
        """Return the part of an address that asks for this, and for what is given beside it."""
        parts: list[tuple[str, Any]] = [(name, v) for name in _LISTS for v in getattr(self, name)]
        parts += [(f"{bound}.{c}", written(v)) for bound in ("least", "most") for c, v in getattr(self, bound).items()]
        parts += [(n, v) for n in ("words", "sql", "at") if (v := getattr(self, n))]
        parts += [("similar", self.similar)] if self.similar is not None else []
        parts += [("sort", self.sort)] if self.sort != "image_id" else []
        parts += [(n, "1") for n in ("unsafe", "blur") if getattr(self, n)]
        return urlencode(parts + list(more.items()))

    @property
    def session(self) -> dict[str, Any]:
        """Return how a session is opened for this: see ``Workplace.ask``."""
        return {"apart": bool(self.sql), "plain": not self.sql, "at": self.at or None}

    @property
    def terms(self) -> list[str]:
        """Return the words that are looked for in captions."""
        return list(dict.fromkeys(self.words.lower().split()))[:_VALUES]

    def query(self, columns: Columns) -> str:
        """Return the SQL of the images.

        Args:
            columns: Those that may be named.

        Raises:
            RequestError: A column or an order is asked for that is not there.
        """
        conditions = [] if self.unsafe else [IS_SAFE]
        per = self._conditions(columns)
        if self.split:
            conditions.append(f"i.split IN ({', '.join(map(quoted, self.split))})")
        conditions += per["images"]
        conditions += [_among("captions", per["captions"] + list(map(_has_word, self.terms)))]
        boxes = [f"category = {quoted(c)}" for c in self.category]
        conditions += [_among("detections", [b, *per["detections"]]) for b in boxes] or [
            _among("detections", per["detections"])
        ]
        conditions += [_among("labels", [either]) for either in _labels(self.label)]
        joined, order = self._order(columns)
        where = "\n  AND ".join(c for c in conditions if c)
        return f"SELECT i.image_id\nFROM images AS i{joined}" + (f"\nWHERE {where}" if where else "") + f"\n{order}"

    def _order(self, columns: Columns) -> tuple[str, str]:
        known = sorts(columns)
        if self.sort not in known:
            raise _wrong(
                f"images are not sorted by {self.sort[:40]!r}{did_you_mean(self.sort, known)}",
                f"sorts: {', '.join(known)}",
            )
        own = f"(SELECT image_id, row_number() OVER () AS place FROM (\n{self.sql.rstrip().rstrip(';')}\n))"
        chosen = f"(SELECT image_id, min(place) AS place FROM {own} GROUP BY image_id)"
        joined = f"\nJOIN {chosen} AS chosen ON chosen.image_id = i.image_id" if self.sql else ""
        order = "ORDER BY chosen.place, i.image_id" if self.sql else "ORDER BY i.image_id"
        if self.similar is not None:
            vector = vector_column(columns)
            if vector is None:
                raise no_vectors(columns)
            column = name_of(vector)
            near = (
                f"vector_search(images, {quoted(vector)}, "
                f"(SELECT {column} FROM images WHERE image_id = {self.similar}), k := {NEAREST})"
            )
            joined += f"\nJOIN {near} AS near ON near.image_id = i.image_id AND i.image_id <> {self.similar}"
            order = "ORDER BY near.rank, i.image_id"
        if self.sort == "random":
            order = f"ORDER BY {_HASH}, i.image_id"
        elif self.sort not in SORTS:
            column = name_of(self.sort.removeprefix("-").removeprefix("images."))
            order = f"ORDER BY i.{column}{' DESC' * self.sort.startswith('-')} NULLS LAST, i.image_id"
        return joined, order

    def _conditions(self, columns: Columns) -> dict[str, list[str]]:
        """Return conditions on single columns, by table."""
        found: dict[str, list[str]] = {table: [] for table in TABLES}
        for told, sign in ((self.least, ">="), (self.most, "<=")):
            for name, value in told.items():
                table, column, kind = _column(name, columns)
                if not is_number(kind):
                    raise _wrong(f"{name[:80]} is no number", "least and most are of columns of numbers")
                found[table].append(f"{_owner(table)}{column} {sign} {value!r}")
        equal: dict[str, list[str]] = {}
        for text in self.column:
            name = next((n for n in _names(columns) if text.startswith(f"{n}:")), text.partition(":")[0])
            equal.setdefault(name, []).append(text[len(name) + 1 :])
        for name, values in equal.items():
            table, column, _ = _column(name, columns)
            found[table].append(f"CAST({_owner(table)}{column} AS VARCHAR) IN ({', '.join(map(quoted, values))})")
        return found


def _wrong(message: str, hint: str) -> RequestError:
    return RequestError(message, code="E3744", hint=hint)


def no_vectors(columns: Columns) -> RequestError:
    """Return that images have no vectors, and which of their columns are none since their lists may be of any length."""
    lists = {
        n: kind for n, kind in columns["images"].items() if re.match(r"(large_)?list<\w+: (half)?(float|double)", kind)
    }
    if not lists:
        return _wrong(
            "this lake has no vectors of images", "ALTER TABLE images ADD COLUMN embedding AS (embed_image(image))"
        )
    name = next(iter(lists))
    told = ", ".join(f"{n} ({kind})" for n, kind in lists.items())
    return _wrong(
        f"this lake has no vectors of images: the lists of {told} may be of any length, and vectors have one",
        f"with the length for 512: ALTER TABLE images ADD COLUMN embedding AS (CAST({name_of(name)} AS FLOAT[512]))",
    )


def _id(value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,19}", value):
        raise _wrong(f"similar is the number of an image, not {value[:40]!r}", "write similar=7")
    return int(value)


_PLAIN: Final[dict[str, Callable[[str], Any]]] = {
    "words": str,
    "sql": str,
    "at": str,
    "sort": str,
    "similar": _id,
    "unsafe": lambda value: value == "1",
    "blur": lambda value: value == "1",
}


def _number(name: str, value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = float("nan")
    if not np.isfinite(found):
        raise _wrong(f"{name[:40]} is a number, not {value[:40]!r}", f"write {name[:40]}=0.5")
    return found


def _names(columns: Columns) -> list[str]:
    return [f"{table}.{column}" for table, known in columns.items() for column in known]


def _column(name: str, columns: Columns) -> tuple[str, str, str]:
    """Return the table, the column as SQL and its type."""
    table, _, column = name.partition(".")
    if column not in columns.get(table, {}):
        raise _wrong(f"no column {name[:80]!r} to filter by{did_you_mean(name[:80], _names(columns))}", "table.column")
    return table, name_of(column), columns[table][column]


def _owner(table: str) -> str:
    return "i." if table == "images" else ""


def _among(table: str, conditions: Sequence[str]) -> str:
    """Return a condition on images: that one row of a table of theirs meets some conditions, if there are any."""
    return f"i.image_id IN (SELECT image_id FROM {table} WHERE {' AND '.join(conditions)})" if conditions else ""


def _has_word(word: str) -> str:
    """Return a condition on captions: that a word occurs, in any case, and not as a part of another."""
    pattern = "".join(c if c.isalnum() or ord(c) > 127 else rf"\x{{{ord(c):x}}}" for c in word)
    whole = rf"(?:^|[^\pL\pN_]){pattern}(?:$|[^\pL\pN_])"
    return f"regexp_matches(text, {quoted(whole)}, 'i')"


def _labels(asked: Sequence[str]) -> list[str]:
    """Return conditions on labels, one an attribute."""
    found: dict[str, list[str]] = {}
    for text in asked:
        parts = text.split(":")
        splits = [(":".join(parts[:n]), ":".join(parts[n:])) for n in range(1, min(len(parts), 6))]
        either = [f"(attribute = {quoted(a)} AND value = {quoted(v)})" for a, v in splits]
        found.setdefault(parts[0], []).append(" OR ".join(either) or "false")
    return [f"({' OR '.join(either)}) AND (score IS NULL OR score >= 0.5)" for either in found.values()]


def check_open(filters: Filters, session: Session) -> None:
    """Refuse labels of perceived attributes: single images are not found by them, whatever the lake holds.

    Raises:
        RequestError: One is named.
    """
    closed = session.sensitive_attributes()
    for text in filters.label:
        parts = text.split(":")
        names = [":".join(parts[:n]) for n in range(1, len(parts) + 1)]
        named = next((n for n in names if is_sensitive(n) or n in closed), None)
        if named is not None:
            raise RequestError(
                f"images are not filtered by labels of {named[:80]!r}",
                code="E3745",
                hint="audits count them; with a purpose stated, SQL reads them",
            )


def open_columns(lake: Lake, session: Session, at: str | None = None) -> Columns:
    """Return columns that a session without a purpose sees, now or at a tag or moment, of the tables that images are filtered by."""
    if session.sensitive:
        with lake.session(at=at) as other:
            return open_columns(lake, other)
    found = {r.name: dict(r.columns) for r in session.relations() if r.schema is None and r.name in TABLES}
    return {table: found.get(table, {}) for table in TABLES}


def vector_columns(columns: Columns) -> list[str]:
    """Return the columns of vectors of images."""
    return [n for n, kind in columns["images"].items() if kind.startswith("fixed_size_list<")]


def vector_column(columns: Columns) -> str | None:
    """Return the first column of vectors of images."""
    return next(iter(vector_columns(columns)), None)


@dataclass(frozen=True, slots=True)
class Selection:
    """Images in their order.

    Args:
        ids: Their ids.
        sql: What selects them.
        notes: What must be said.
        columns: What images can be filtered by.
        told: What was found out about them since, by name.
    """

    ids: NDArray[np.int64]
    sql: str
    notes: tuple[str, ...]
    columns: Columns
    told: dict[str, Any] = field(default_factory=dict)

    def page(self, offset: int, limit: int) -> list[int]:
        """Return the ids of a page."""
        return [int(i) for i in self.ids[offset : offset + limit]]

    def place(self, image_id: int) -> int | None:
        """Return where an image stands."""
        found = np.flatnonzero(self.ids == image_id)
        return int(found[0]) if len(found) else None


class Selections:
    """Remembers the last selections: pages of one are cut from its ids, and no page reads the others again."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, Selection] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, lake: Lake, session: Session, filters: Filters) -> Selection:
        """Return the images that filters select, in the versions that a session reads.

        Raises:
            RequestError: They cannot be selected by.
            SqlError: Somebody's own query is not right.
        """
        key = (lake.location.root, tuple(sorted(session.pinned.items())), session.purpose, _key(filters))
        with self._lock:
            found = None if session.sensitive else self._found.get(key)  # each reading of closed labels is logged
            if found is not None:
                self._found.move_to_end(key)
                return found
        check_open(filters, session)
        if filters.sql:
            _check_own(session, filters.sql)
        columns = open_columns(lake, session, filters.at or None)
        sql = filters.query(columns)
        result = session.sql(sql, max_rows=MOST)
        ids = result.to_arrow()["image_id"].to_numpy()
        found = Selection(ids, sql, tuple(dict.fromkeys(result.notes)), columns)
        if session.sensitive:
            return found
        with self._lock:
            self._found[key] = found
            while len(self._found) > _SELECTIONS:
                self._found.popitem(last=False)
        return found


def _key(filters: Filters) -> str:
    return replace(filters, blur=False, mark=(), gendered=(), box=()).address()


def _check_own(session: Session, sql: str) -> None:
    """Refuse a query of somebody's own that gives no images, before it is put into another one."""
    names = session.sql(sql).columns
    if "image_id" not in names:
        raise RequestError(
            "the query gives no column image_id",
            code="E3746",
            hint="its columns: " + ", ".join(names[:20]) + "; select image_id to see the images",
        )
