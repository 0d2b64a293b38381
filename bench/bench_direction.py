"""CLIP_dir over pairs of stored vectors, beside scripts and beside reading the vectors alone (the limit).

As a column: ``clip_direction`` over four columns of a lake as a generated column, computed anew and written, then averaged.
In a query: computed and averaged, not written. The scripts read the same columns through Lance, batch by batch. ``full`` are
the 2.45 million pairs of COCO-Counterfactuals (24,508 captions, 100 pictures each): 20 GB of vectors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

SIZES = {"small": 20_000, "full": 2_450_000}
ONCE = ("full",)
COLUMNS = ["image_a", "image_b", "text_a", "text_b"]
BATCH = 16_384
UDFS = str(Path(__file__).parent / "functions_of_direction.py")


def prepare(folder: Path, scale: str) -> None:
    """A lake with four vectors a row."""
    import counterbalance as cb
    from counterbalance.engine.functions import load_file

    count = SIZES[scale]
    (folder / "direction.json").write_text(json.dumps({"pairs": count}))
    path = folder / f"direction-{count}.lake"
    if path.exists():
        return
    lake = cb.connect(path)
    for start in range(0, count, 100_000):
        ids = range(start, min(start + 100_000, count))
        lake.ingest({"images": pa.table({"image_id": ids, "key": [str(i) for i in ids]})})
    load_file(UDFS)
    for number, name in enumerate(COLUMNS):
        lake.add_column("images", name, f"bench_unit(image_id, {number})")
    lake.refresh(executor="inline", udfs=[UDFS])
    lake.add_column("images", "direction", f"clip_direction({', '.join(COLUMNS)})")


def cases(folder: Path) -> dict[str, Any]:
    """One case, by what ``prepare`` was given."""
    count = json.loads((folder / "direction.json").read_text())["pairs"]
    path = folder / f"direction-{count}.lake"

    def lake() -> Any:
        import counterbalance as cb
        from counterbalance.engine.functions import load_file

        load_file(UDFS)
        return cb.connect(path)

    return {
        f"{count:,} pairs x 512": {
            "counterbalance, as a column": (lake, _column, lambda: _forget(path)),
            "counterbalance, in a query": (lake, _query),
            "reading the vectors": (lambda: path, _read),
            "numpy, batch by batch": (lambda: path, _numpy),
            "pandas, batch by batch": (lambda: path, _pandas),
        }
    }


def _forget(path: Path) -> None:
    import counterbalance as cb
    from counterbalance.engine.functions import load_file

    load_file(UDFS)
    lake = cb.connect(path)
    lake.drop_column("images", "direction")
    lake.add_column("images", "direction", f"clip_direction({', '.join(COLUMNS)})")


def _column(lake: Any) -> float:
    lake.refresh("images.direction", executor="inline")
    return float(lake.sql("SELECT avg(direction) FROM images").fetchall()[0][0])


def _query(lake: Any) -> float:
    return (
        float(lake.sql("SELECT avg(clip_direction(image_a, image_b, text_b, text_a)) FROM images").fetchall()[0][0])
        * -1
    )


def _batches(path: Path) -> Any:
    import lance

    return lance.dataset(str(path / "images.lance")).scanner(columns=COLUMNS, batch_size=BATCH).to_batches()


def _read(path: Path) -> None:
    for batch in _batches(path):
        for column in batch.columns:
            column.values.to_numpy().sum()


def _numpy(path: Path) -> float:
    found = []
    for batch in _batches(path):
        a, b, c, d = (v.values.to_numpy().reshape(-1, 512).astype(np.float64) for v in batch.columns)
        image, text = b - a, d - c
        norms = np.linalg.norm(image, axis=1) * np.linalg.norm(text, axis=1)
        found.append((image * text).sum(axis=1) / norms)
    return float(np.concatenate(found).mean())


def _pandas(path: Path) -> float:
    import pandas as pd

    found = []
    for batch in _batches(path):
        rows = batch.to_pandas()
        image = np.stack(rows.image_b) - np.stack(rows.image_a)
        text = np.stack(rows.text_b) - np.stack(rows.text_a)
        image /= np.linalg.norm(image, axis=1, keepdims=True)
        text /= np.linalg.norm(text, axis=1, keepdims=True)
        found.append(pd.Series((image * text).sum(axis=1, dtype=np.float64)))
    return float(pd.concat(found).mean())
