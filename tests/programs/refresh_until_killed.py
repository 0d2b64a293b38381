"""Refresh a lake again and again with changes in between, and end by SIGKILL at a random moment.

Arguments: lake, file of computed ids, seed, least and most seconds to live after the first batch, and ``steady`` for
refreshing once without changes (it then may end by itself).

The functions append the ids they computed to the file, one line a row: ``version id``. A round is: change something,
refresh, repeat. What was changed is written to ``LAKE.model`` (JSON) before and after, so that the parent knows what rows there
are: ``{"rows": {id: text}, "doing": {...}}``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa

import counterbalance as cb
from counterbalance.engine.functions import Partial
from counterbalance.engine.store import tables

LAKE, LOG, SEED = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
LEAST, MOST = float(sys.argv[4]), float(sys.argv[5])
BATCH = 64
MODEL = LAKE.with_suffix(".model")
VERSION = (LAKE.parent / "version").read_text() if (LAKE.parent / "version").exists() else "1"
dice = random.Random(SEED)
armed = threading.Event()


def _die() -> None:
    armed.wait()
    time.sleep(dice.uniform(LEAST, MOST))
    os.kill(os.getpid(), signal.SIGKILL)


def _record(name: str, ids: list[int]) -> None:
    armed.set()
    with LOG.open("a") as file:
        file.write("".join(f"{name} {VERSION} {os.getpid()} {i}\n" for i in ids))


@cb.udf(
    returns=pa.string(), parameters={"caption_id": pa.int64(), "text": pa.string()}, version=VERSION, batch_size=BATCH
)
def k_mark(caption_id: pa.Array, text: pa.Array) -> Partial:
    """The version and the text; an error where the text says so."""
    _record("mark", caption_id.to_pylist())
    time.sleep(0.002)
    texts = text.to_pylist()
    errors = {i: "planted" for i, t in enumerate(texts) if "bad" in t}
    return Partial(pa.array([f"{VERSION}:{t}" for t in texts]), errors)


@cb.udf(returns=pa.int64(), parameters={"n": pa.int64()}, version="1", batch_size=BATCH)
def k_double(n: pa.Array) -> pa.Array:
    """Twice as many."""
    return pa.compute.multiply(n, 2)


def _save(rows: dict[int, str], doing: dict[int, str | None] | None = None) -> None:
    part = MODEL.with_suffix(".part")
    part.write_text(json.dumps({"rows": rows, "doing": doing or {}}))
    part.replace(MODEL)


def _load(lake: cb.Lake) -> dict[int, str]:
    """Rows as they are by the last life's plan; where it was killed in a change, as the table has them."""
    model = json.loads(MODEL.read_text())
    rows = {int(k): v for k, v in model["rows"].items()}
    if model["doing"]:
        ids = [int(k) for k in model["doing"]]
        table = tables.open_table(lake.location, "captions").to_table(
            columns=["caption_id", "text"], filter=f"caption_id IN ({', '.join(map(str, ids))})"
        )
        stored = dict(zip(*(table[c].to_pylist() for c in ("caption_id", "text")), strict=True))
        for key, value in model["doing"].items():
            now = stored.get(int(key))
            assert now in {value, rows.get(int(key))}, (key, now, value, rows.get(int(key)))
            rows.pop(int(key), None)
            if now is not None:
                rows[int(key)] = now
        _save(rows)
    return rows


def _ingest(lake: cb.Lake, rows: dict[int, str]) -> None:
    ids = list(rows)
    lake.ingest(
        {"captions": pa.table({"caption_id": ids, "image_id": [i % 40 for i in ids], "text": list(rows.values())})},
        wait=60.0,
    )


def _change(lake: cb.Lake, rows: dict[int, str]) -> None:
    what = dice.choice(["append", "update", "foreign", "delete", "compact"])
    dataset = tables.open_table(lake.location, "captions")
    ids = sorted(rows)
    text = f"{dice.choice(['good', 'good', 'good', 'bad'])} {dice.randrange(10**6)}"
    doing: dict[int, str | None] = {}
    if what == "append":
        doing = {i: f"{text} {i % 7}" for i in range(ids[-1] + 1, ids[-1] + 1 + dice.randrange(1, 60))}
    elif what in {"update", "foreign"}:
        doing = {i: f"{text} {i % 5}" for i in dice.sample(ids, 20)}
    elif what == "delete":
        doing = dict.fromkeys(dice.sample(ids, 15))
    _save(rows, doing)
    if what in {"append", "update"}:
        _ingest(lake, doing)
    elif what == "foreign":
        given = pa.table({"caption_id": list(doing), "text": list(doing.values())})
        dataset.merge_insert("caption_id").when_matched_update_all().execute(given)
    elif what == "delete":
        dataset.delete(f"caption_id IN ({', '.join(map(str, doing))})")
    else:
        dataset.optimize.compact_files()
    for key, value in doing.items():
        rows.pop(key, None)
        if value is not None:
            rows[key] = value
    _save(rows)


def main() -> None:
    threading.Thread(target=_die, daemon=True).start()
    lake = cb.connect(LAKE)
    if not MODEL.exists():
        lake.ingest({"images": pa.table({"image_id": range(40), "key": [str(i) for i in range(40)]})})
        rows = {i: f"{'bad' if i % 50 == 0 else 'good'} {i}" for i in range(3000)}
        _ingest(lake, rows)
        lake.add_column("captions", "mark", "k_mark(caption_id, text)")
        lake.add_column("captions", "size", "length(mark)")
        lake.create_materialized_view(
            "v", "SELECT image_id, count(*) AS n, count(mark) AS m FROM captions GROUP BY image_id", "image_id"
        )
        lake.add_column("v", "double", "k_double(n)")
        _save(rows)
    rows = _load(lake)
    if MOST < 0:  # the last life: everything is brought up to date, an ingest that was killed too
        _ingest(lake, {min(rows): rows[min(rows)]})
        sys.stdout.write(json.dumps(lake.refresh(executor="inline").to_dict()) + "\n")
        sys.stdout.write(json.dumps(lake.refresh(executor="inline").to_dict()) + "\n")
        return
    if sys.argv[6:] == ["steady"]:
        lake.refresh(executor="inline")
        return
    while True:
        if dice.random() < 0.5:
            lake.refresh(executor="inline")
        else:
            lake.refresh(executor="inline", full=dice.random() < 0.3, retry_errors=dice.random() < 0.3)
        armed.set()
        _change(lake, rows)


main()
