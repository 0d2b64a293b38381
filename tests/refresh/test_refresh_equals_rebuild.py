"""After any sequence of changes and refreshes, every column and view is what a rebuild in plain Python says."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from counterbalance.engine.lake import Lake

_EXAMPLES = int(os.environ.get("COUNTERBALANCE_EXAMPLES", "6"))
_TEXTS = ["a", "bb", "ccc", "d!", "e?", "ff!", "", None]
_numbers = itertools.count()

_ids = st.integers(1, 12)
_rows = st.dictionaries(_ids, st.tuples(st.integers(1, 4), st.sampled_from(_TEXTS)), min_size=1, max_size=6)
_some = st.lists(_ids, min_size=1, max_size=4, unique=True)
_operation = st.one_of(
    st.tuples(st.just("ingest"), _rows),
    st.tuples(st.just("foreign_merge"), _rows),
    st.tuples(st.just("foreign_update"), _some, st.sampled_from(_TEXTS)),
    st.tuples(st.just("foreign_fill"), _some, st.sampled_from(_TEXTS)),
    st.tuples(st.just("foreign_delete"), _some),
    st.tuples(st.just("foreign_view_damage"), st.integers(1, 4)),
    st.tuples(st.just("compact")),
    st.tuples(st.just("version"), st.integers(1, 3)),
    st.tuples(st.just("grade"), st.integers(1, 3)),
    st.tuples(st.just("view"), st.integers(0, 2)),
    st.tuples(st.just("refresh"), st.sampled_from([{}, {}, {"full": True}, {"retry_errors": True}])),
    st.tuples(st.just("refresh_one"), st.sampled_from(["captions.size", "captions.twice", "v", "v.grade", "captions"])),
)


class _BadError(Exception):
    pass


def _size(text: str | None, factor: int) -> int | None:
    if text is None or "?" in text:
        return None
    if "!" in text:
        raise _BadError(text)
    return len(text) * factor


def _grade(total: int | None, count: int) -> int | None:
    if count == 3:
        raise _BadError(str(count))
    return None if total is None else total % 7


def _or_none(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except _BadError:
        return None


class _World:
    """A lake, and the same in Python."""

    def __init__(self, lake: Lake, functions: Any) -> None:
        self.lake, self.functions = lake, functions
        self.captions: dict[int, tuple[int, str | None]] = {}
        self.factor, self.add, self.least = 1, 1, 0
        lake.ingest({"images": pa.table({"image_id": [1, 2, 3, 4], "key": list("abcd")})})
        self.ingest({1: (1, "a"), 2: (1, "bb!")})
        self.functions["size"].declare(version="1")
        lake.add_column("captions", "size", "w_size(text)")
        lake.add_column("captions", "twice", "size * 2")
        lake.create_materialized_view("v", self.view_sql, "image_id")
        lake.add_column("v", "grade", "w_grade(total, n) + 1")
        lake.create_materialized_view("w", "SELECT n, count(*) AS c, sum(grade) AS g FROM v GROUP BY n", "n")

    @property
    def view_sql(self) -> str:
        return (
            "SELECT image_id, count(*)::BIGINT AS n, sum(twice)::BIGINT AS total FROM captions "
            f"GROUP BY image_id HAVING count(*) > {self.least}"
        )

    def dataset(self, name: str = "captions") -> Any:
        return tables.open_table(self.lake.location, name)

    def ingest(self, rows: dict[int, tuple[int, str | None]]) -> None:
        table = pa.table(
            {
                "caption_id": list(rows),
                "image_id": [image for image, _ in rows.values()],
                "text": pa.array([text for _, text in rows.values()], pa.string()),
            }
        )
        self.lake.ingest({"captions": table})
        for key, (image, text) in rows.items():  # an ingest that says nothing of a column leaves what is there
            known = self.captions.get(key)
            self.captions[key] = (image, text if text is not None or known is None else known[1])

    def foreign_merge(self, rows: dict[int, tuple[int, str | None]]) -> None:
        schema = self.dataset().schema
        given = [{"caption_id": k, "image_id": image, "text": text} for k, (image, text) in rows.items()]
        whole = pa.Table.from_pylist(given, schema=schema)
        merge = self.dataset().merge_insert("caption_id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(whole)
        self.captions |= rows

    def foreign_update(self, keys: list[int], text: str | None) -> None:
        value = "NULL" if text is None else f"'{text}'"
        self.dataset().update({"text": value}, where=f"caption_id IN ({', '.join(map(str, keys))})")
        self._set(keys, text)

    def foreign_fill(self, keys: list[int], text: str | None) -> None:
        rows = pa.table({"caption_id": keys, "text": pa.array([text] * len(keys), pa.string())})
        self.dataset().merge_insert("caption_id").when_matched_update_all().execute(rows)
        self._set(keys, text)

    def _set(self, keys: list[int], text: str | None) -> None:
        self.captions |= {k: (self.captions[k][0], text) for k in keys if k in self.captions}

    def foreign_delete(self, keys: list[int]) -> None:
        self.dataset().delete(f"caption_id IN ({', '.join(map(str, keys))})")
        self.captions = {k: v for k, v in self.captions.items() if k not in keys}

    def foreign_view_damage(self, image: int) -> None:
        if self.dataset("v") is not None:
            self.dataset("v").update({"total": "77"}, where=f"image_id = {image}")

    def compact(self) -> None:
        self.dataset().optimize.compact_files()
        if self.dataset("v") is not None:
            self.dataset("v").optimize.compact_files()

    def version(self, factor: int) -> None:
        self.factor = factor
        self.functions["size"].of = lambda text: _size(text, factor)
        self.functions["size"].declare(version=str(factor))

    def grade(self, add: int) -> None:
        self.add = add
        self.lake.sql("DROP MATERIALIZED VIEW IF EXISTS w").fetchall()
        self.lake.drop_column("v", "grade", if_exists=True)
        self.lake.add_column("v", "grade", f"w_grade(total, n) + {add}")
        self.lake.create_materialized_view("w", "SELECT n, count(*) AS c, sum(grade) AS g FROM v GROUP BY n", "n")

    def view(self, least: int) -> None:
        self.least = least
        self.lake.create_materialized_view("v", self.view_sql, "image_id", replace=True)

    def refresh(self, options: dict[str, Any]) -> cb.RefreshReport:  # type: ignore[name-defined]
        report = self.lake.refresh(executor="inline", **options)
        bad = [(s.target, s.message) for s in report.stages if s.mode in {"failed", "skipped"}]
        assert not bad, bad
        return report

    def refresh_one(self, target: str) -> None:
        self.lake.refresh(target, executor="inline")

    def check(self) -> None:
        captions = {k: (image, _or_none(_size, text, self.factor), text) for k, (image, text) in self.captions.items()}
        expected = sorted((k, t, s, None if s is None else s * 2) for k, (_, s, t) in captions.items())
        rows = self.lake.sql("SELECT caption_id, text, size, twice FROM captions ORDER BY caption_id").fetchall()
        assert rows == expected
        groups: dict[int, list[int | None]] = {}
        for image, size, _ in captions.values():
            groups.setdefault(image, []).append(None if size is None else size * 2)
        view = []
        for image, values in sorted(groups.items()):
            if len(values) > self.least:
                known = [v for v in values if v is not None]
                total = sum(known) if known else None
                grade = _or_none(_grade, total, len(values))
                view.append((image, len(values), total, None if grade is None else grade + self.add))
        assert self.lake.sql("SELECT image_id, n, total, grade FROM v ORDER BY 1").fetchall() == view
        over = []
        for n in sorted({r[1] for r in view}):
            grades = [r[3] for r in view if r[1] == n]
            known = [g for g in grades if g is not None]
            over.append((n, len(grades), sum(known) if known else None))
        assert self.lake.sql("SELECT n, c, g FROM w ORDER BY 1").fetchall() == over
        failed = [("captions", "size", str(k)) for k, (_, t) in self.captions.items() if t is not None and "!" in t]
        failed += [("v", "grade", str(r[0])) for r in view if r[1] == 3]
        errors = self.lake.sql("SELECT table_name, column_name, key FROM meta.errors ORDER BY ALL").fetchall()
        assert errors == sorted(failed)


def _broken_alone(world: _World) -> bool:
    """Whether a function has nothing but failures: that stops a refresh, as ``test_broken_functions_stop`` has it."""
    texts = [t for _, t in world.captions.values()]
    counts = [sum(1 for i, _ in world.captions.values() if i == image) for image in range(1, 5)]
    counts = [c for c in counts if c > world.least]
    return bool(texts and all(t and "!" in t for t in texts)) or bool(counts and all(c == 3 for c in counts))


def _run(lake: Lake, row_function: Callable[..., Any], operations: list[tuple[Any, ...]]) -> None:
    functions = {
        "size": row_function("w_size", lambda text: _size(text, 1)),
        "grade": row_function("w_grade", _grade, parameters={"total": pa.int64(), "n": pa.int64()}),
    }
    world = _World(lake, functions)
    world.ingest({3: (2, "ccc"), 4: (2, "a")})
    for name, *arguments in operations:
        if name.startswith("refresh") and _broken_alone(world):
            continue
        getattr(world, name)(*arguments)
    if _broken_alone(world):
        world.ingest({1: (1, "a"), 2: (2, "a")})
    if _broken_alone(world):
        return
    world.refresh({})
    world.check()
    for function in functions.values():
        function.taken()
    again = world.refresh({})
    assert [function.taken() for function in functions.values()] == [[], []]
    assert [(s.target, s.mode) for s in again.stages if s.mode != "no_op"] == []
    world.check()


_settings = settings(
    max_examples=_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    derandomize="COUNTERBALANCE_EXAMPLES" not in os.environ,
    database=None,
)


@pytest.mark.thorough
@_settings
@given(st.lists(_operation, min_size=3, max_size=12))
def test_in_memory(row_function: Callable[..., Any], operations: list[tuple[Any, ...]]) -> None:
    _run(cb.connect(f"memory://rebuild-{os.getpid()}-{next(_numbers)}"), row_function, operations)


@_settings
@given(st.lists(_operation, min_size=3, max_size=12))
def test_on_disk(tmp_path: Path, row_function: Callable[..., Any], operations: list[tuple[Any, ...]]) -> None:
    _run(cb.connect(tmp_path / f"{next(_numbers)}.lake"), row_function, operations)
