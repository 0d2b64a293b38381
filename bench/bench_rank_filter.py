"""The rank filter over 30 edits an image and group: ours, pandas, polars, and a bare scan of the columns that it reads.

Full scale: 2.5 million edits (41,667 images, two groups), as in Hirota et al. (2024). They are rows of a view of a lake; pandas
and polars read a Parquet file of the same rows. All answer how many edits were chosen, and sums that tell which. (Ties by seed
leave one answer.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

import counterbalance as cb

if TYPE_CHECKING:
    from pathlib import Path

IMAGES: Final = {"small": 4_167, "full": 41_667}
NAMES: Final = ("edit_id", "image_id", "label", "seed", "s_prompt", "s_object", "s_color")
SCORES: Final = ("s_prompt", "s_object", "s_color")
STEP: Final = 131_072
EDITS: Final = """
WITH tries AS (
  SELECT i.image_id, g.label, unnest(range(0, 30)) AS seed
  FROM images AS i
  CROSS JOIN (VALUES ('female'), ('male')) AS g(label)
),
drawn AS (
  SELECT *, CAST(md5_number_lower(concat(image_id, ':', label, ':', seed)) >> 1 AS BIGINT) AS edit_id FROM tries
)
SELECT
  edit_id,
  image_id,
  label,
  seed,
  CAST(edit_id % 1000003 / 1000003e0 AS FLOAT) AS s_prompt,
  edit_id // 1000003 % 9 / 8e0 AS s_object,
  1000e0 / (1 + edit_id // 9000027 % 999983) AS s_color
FROM drawn
"""
CHOSEN: Final = """
SELECT count(*) AS n, CAST(sum(seed * (image_id % 1009)) AS BIGINT) AS seeds, CAST(sum(rank_sum) AS BIGINT) AS ranks
FROM rank_filter(edits)
"""


def prepare(folder: Path, scale: str) -> None:
    """A view of scored edits, and the same rows as Parquet."""
    if (folder / "edits.parquet").exists():
        return
    lake = cb.connect(folder / "edits.lake")
    lake.ingest({"images": pa.table({"image_id": pa.array(range(IMAGES[scale]), pa.int64())})})
    lake.create_materialized_view("edits", EDITS, "edit_id")
    lake.refresh()
    pq.write_table(lake.sql("SELECT * FROM edits").to_arrow(), folder / "edits.parquet", compression="zstd")


def cases(folder: Path) -> dict[str, Any]:
    """One case."""
    ways = {
        "counterbalance": (lambda: cb.connect(folder / "edits.lake").session(), _ours),
        "pandas": (lambda: folder, _pandas),
        "polars": (lambda: folder, _polars),
        "bare scan": (lambda: folder, _scanned),
    }
    return {"rank filter": ways}


def _ours(session: Any) -> list[int]:
    return [int(v) for v in session.sql(CHOSEN).fetchall()[0]]


def _pandas(folder: Path) -> list[int]:
    import pandas as pd

    frame = pd.read_parquet(folder / "edits.parquet", columns=list(NAMES)).dropna(subset=list(SCORES))
    groups = frame.groupby(["image_id", "label"], sort=False)
    total = sum(groups[score].rank(method="min", ascending=False) for score in SCORES)
    best = frame.assign(total=total).sort_values(["image_id", "label", "total", "seed", "edit_id"])
    best = best.drop_duplicates(["image_id", "label"])
    return [len(best), int((best["seed"] * (best["image_id"] % 1009)).sum()), int(best["total"].sum())]


def _polars(folder: Path) -> list[int]:
    import polars as pl

    keys = ["image_id", "label"]
    ranks = [pl.col(s).rank("min", descending=True).over(keys).cast(pl.Int64) for s in SCORES]
    frame = pl.scan_parquet(folder / "edits.parquet").select(NAMES).drop_nulls(SCORES)
    frame = frame.with_columns(total=sum(ranks[1:], ranks[0])).sort([*keys, "total", "seed", "edit_id"])
    best = frame.unique(keys, keep="first", maintain_order=True)
    sums = best.select(pl.len(), (pl.col("seed") * (pl.col("image_id") % 1009)).sum(), pl.col("total").sum())
    return [int(v) for v in sums.collect().row(0)]


def _scanned(folder: Path) -> None:
    """Reads the columns and does nothing with them."""
    import lance

    dataset = lance.dataset(str(folder / "edits.lake" / "edits.lance"))
    for _ in dataset.scanner(columns=list(NAMES), batch_size=STEP).to_reader():
        pass
