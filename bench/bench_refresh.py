"""Refresh beside what people write instead.

- *cheap function*: a column of a vectorised function, against the bare loop over Arrow batches that calls it and keeps nothing:
  lemmas, some 3 us a row, VADER, some 2 us, and a regular expression, half a microsecond; in batches of 16,384 both times,
  which is what a refresh gives these functions;
- *1 ms a row*: the same with a function that sleeps a millisecond a row;
- *view, 1 % changed*: a view of a million rows after one row in a hundred changed, against running its query again and
  writing all of it;

Each run makes its column stale again by ``full=True``, or changes rows first, which is not timed.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

import counterbalance as cb
from counterbalance.udfs.vader import vader
from counterbalance.udfs.words import lemmas

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = {"full": 1_000_000, "small": 100_000}
SLOW_ROWS = {"full": 20_000, "small": 2_000}
BATCH = 16_384


@cb.udf(returns=pa.int64(), parameters={"text": pa.string()}, version="1", batch_size=BATCH)
def bench_words(text: pa.Array) -> pa.Array:
    """Number of words that are longer than three letters, by regular expression."""
    return pc.cast(pc.count_substring_regex(text, r"\b\w{4,}"), pa.int64())


@cb.udf(returns=pa.int64(), parameters={"text": pa.string()}, version="1", batch_size=BATCH)
def bench_slow(text: pa.Array) -> pa.Array:
    """Length, a millisecond a row."""
    time.sleep(0.001 * len(text))
    return pc.cast(pc.utf8_length(text), pa.int64())


def prepare(folder: Path, scale: str) -> None:
    """A lake of captions, one of fewer, and one with a view."""
    (folder / "refresh.json").write_text(json.dumps({"scale": scale}))
    for name, rows in (("refresh", ROWS[scale]), ("slow", SLOW_ROWS[scale])):
        if not (folder / f"{name}.lake").exists():
            lake = cb.connect(folder / f"{name}.lake")
            for start in range(0, rows, 250_000):
                lake.ingest(_rows(start, min(start + 250_000, rows)))
            lake.add_column("captions", "n", "bench_words(text)" if name == "refresh" else "bench_slow(text)")
            if name == "refresh":
                lake.add_column("captions", "mood", "vader(text)")
                lake.add_column("captions", "words", "lemmas(text)")
                lake.create_materialized_view(
                    "by_caption", "SELECT caption_id, text, length(text) AS long FROM captions", "caption_id"
                )
                lake.add_column("by_caption", "n", "bench_words(text)")
            lake.refresh()


def _rows(low: int, high: int) -> dict[str, pa.Table]:
    ids = range(low, high)
    words = (
        "young people of the city ride bicycles",
        "a dog on the beach",
        "portrait of an engineer at her desk, smiling",
    )
    return {
        "images": pa.table({"image_id": ids, "key": [str(i) for i in ids]}),
        "captions": pa.table({"caption_id": ids, "image_id": ids, "text": [f"{words[i % 3]} number {i}" for i in ids]}),
    }


def cases(folder: Path) -> dict[str, Any]:
    """The comparisons."""
    lake, slow = cb.connect(folder / "refresh.lake"), cb.connect(folder / "slow.lake")
    executor = "inline"
    return {
        "column of a cheap function (lemmas)": {
            "refresh": (lambda: lake, lambda it: _column(it, executor, "captions.words")),
            "bare loop": (lambda: lake, lambda it: _loop(it, lemmas)),
        },
        "column of a cheaper function (VADER)": {
            "refresh": (lambda: lake, lambda it: _column(it, executor, "captions.mood")),
            "bare loop": (lambda: lake, lambda it: _loop(it, lambda text: vader(text, "vader"))),
        },
        "column of the cheapest function (regular expression)": {
            "refresh": (lambda: lake, lambda it: _column(it, executor)),
            "bare loop": (lambda: lake, lambda it: _loop(it, bench_words)),
        },
        "column of a function of 1 ms a row": {
            "refresh": (lambda: slow, lambda it: _column(it, executor)),
            "bare loop": (lambda: slow, lambda it: _loop(it, bench_slow)),
        },
        "view, 1 % of its rows changed": {
            "refresh": (lambda: lake, _view, lambda: _changed(lake)),
            "query again and overwrite": (lambda: lake, lambda it: _overwrite(it, folder), lambda: _changed(lake)),
        },
    }


def _column(lake: cb.Lake, executor: str, target: str = "captions.n") -> int:
    report = lake.refresh(target, full=True, executor=executor, batch_size=BATCH)
    return sum(s.rows for s in report.stages)


def _loop(lake: cb.Lake, function: Callable[[pa.Array], pa.Array]) -> int:
    import lance

    done = 0
    for batch in lance.dataset(f"{lake.uri}/captions.lance").to_batches(columns=["text"], batch_size=BATCH):
        done += len(function(batch.column("text")))
    return done


_rounds = itertools.count(1)


def _changed(lake: cb.Lake) -> None:
    """Change one caption in a hundred, in another place each time."""
    count = lake.sql("SELECT count(*) FROM captions").fetchall()[0][0]
    ids = range(next(_rounds) % 100, count, 100)
    lake.ingest(
        {
            "captions": pa.table(
                {"caption_id": ids, "image_id": ids, "text": [f"changed {time.time_ns()} {i}" for i in ids]}
            )
        }
    )


def _view(lake: cb.Lake) -> int:
    lake.refresh("by_caption")
    return int(lake.sql("SELECT count(*) FROM by_caption").fetchall()[0][0])


def _overwrite(lake: cb.Lake, folder: Path) -> int:
    import lance

    rows = lake.sql("SELECT caption_id, text, length(text) AS long FROM captions").to_arrow()
    rows = rows.append_column("n", pa.concat_arrays([bench_words(b.column("text")) for b in rows.to_batches(BATCH)]))
    lance.write_dataset(rows, str(folder / "overwritten.lance"), mode="overwrite")
    return int(lake.sql("SELECT count(*) FROM captions").fetchall()[0][0])
