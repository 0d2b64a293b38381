"""Counting over large tables: ours against DuckDB on Parquet, polars and pandas over the same rows.

Full scale: 10 million images and captions, 20 million boxes, 40 million labels of two attributes. Synthetic; the attributes
stand in for perceived gender and race, under names that need no purpose (a purpose adds a log entry a query).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import counterbalance as cb

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

SIZES = {"small": 200_000, "full": 10_000_000}
STEP = 131_072
GENDERS = pa.array(["male", "female", "unclear"])
RACES = pa.array(["white", "black", "east asian", "south asian", "latino", "middle eastern", "other", "unclear"])
CATEGORIES = pa.array(["person", *(f"thing {i}" for i in range(79))])
WORDS = np.array([f"w{i}" for i in range(50_000)])


def prepare(folder: Path, scale: str) -> None:
    """The lake and the Parquet files, from one stream."""
    images = SIZES[scale]
    if (folder / "groups.lake").exists():
        return
    lake = cb.connect(folder / "groups.lake")
    for name, schema, batches in _tables(images):
        writer = pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd")
        rows = pa.RecordBatchReader.from_batches(schema, _teed(batches, writer))
        lake.ingest({name: rows})
        writer.close()


def _teed(batches: Iterator[pa.RecordBatch], writer: pq.ParquetWriter) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        writer.write_batch(batch)
        yield batch


def _tables(images: int) -> Iterator[tuple[str, pa.Schema, Iterator[pa.RecordBatch]]]:
    random = np.random.default_rng(7)
    schema = pa.schema([("image_id", pa.int64()), ("key", pa.string()), ("split", pa.string())])
    yield (
        "images",
        schema,
        (
            pa.record_batch([ids, ids.cast(pa.string()), pa.array(["train"] * len(ids))], schema=schema)
            for ids in _ids(images)
        ),
    )

    schema = pa.schema(
        [("caption_id", pa.int64()), ("image_id", pa.int64()), ("text", pa.string()), ("origin", pa.string())]
    )

    def captions() -> Iterator[pa.RecordBatch]:
        for ids in _ids(images):
            drawn = WORDS[(random.zipf(1.3, (len(ids), 9)) - 1) % len(WORDS)]
            texts = pa.array([" ".join(row) for row in drawn.tolist()])
            yield pa.record_batch([ids, ids, texts, pa.array(["alt_text"] * len(ids))], schema=schema)

    yield "captions", schema, captions()

    schema = pa.schema(
        [
            ("detection_id", pa.int64()),
            ("image_id", pa.int64()),
            ("category", pa.string()),
            ("width", pa.float32()),
            ("height", pa.float32()),
        ]
    )

    def boxes() -> Iterator[pa.RecordBatch]:
        for ids in _ids(2 * images):
            n = len(ids)
            kinds = CATEGORIES.take(pa.array(np.where(random.random(n) < 0.9, 0, random.integers(1, 80, n))))
            sides = random.uniform(10, 300, (2, n)).astype(np.float32)
            yield pa.record_batch([ids, pa.array(ids.to_numpy() // 2), kinds, sides[0], sides[1]], schema=schema)

    yield "detections", schema, boxes()

    names = [
        ("label_id", pa.int64()),
        ("image_id", pa.int64()),
        ("detection_id", pa.int64()),
        ("attribute", pa.string()),
        ("value", pa.string()),
        ("annotator", pa.string()),
    ]
    schema = pa.schema(names)

    def labels() -> Iterator[pa.RecordBatch]:
        for number, (attribute, values) in enumerate((("apparel", GENDERS), ("setting", RACES))):
            for ids in _ids(2 * images):
                n = len(ids)
                keys = pa.array(ids.to_numpy() + number * 2 * images)
                value = values.take(pa.array(random.integers(0, len(values), n)))
                columns = [
                    keys,
                    pa.array(ids.to_numpy() // 2),
                    ids,
                    pa.array([attribute] * n),
                    value,
                    pa.array(["m"] * n),
                ]
                yield pa.record_batch(columns, schema=schema)

    yield "labels", schema, labels()


def _ids(count: int) -> Iterator[pa.Array]:
    for start in range(0, count, STEP):
        yield pa.array(np.arange(start, min(count, start + STEP)))


QUERIES = {
    "one label column": "SELECT category, count(*) AS n FROM detections GROUP BY category ORDER BY n DESC, category LIMIT 5",
    "two label columns": "SELECT attribute, value, count(*) AS n FROM labels GROUP BY attribute, value ORDER BY attribute, value",
    "filtered count": "SELECT count(*) AS n FROM labels WHERE attribute = 'apparel' AND value = 'female'",
    "numbers": "SELECT count(*) AS n, min(width) AS a, max(height) AS b FROM detections WHERE category <> 'person'",
    "person to image": (
        "SELECT count(*) FILTER (m > 0 AND f = 0) AS male, count(*) FILTER (f > 0 AND m = 0) AS female FROM ("
        "SELECT image_id, count(*) FILTER (value = 'male') AS m, count(*) FILTER (value = 'female') AS f "
        "FROM labels WHERE attribute = 'apparel' GROUP BY image_id)"
    ),
    "keyword": "SELECT count(*) AS n FROM captions WHERE regexp_matches(text, '\\bw(17|99|1234)\\b')",
    "image labels": "SELECT label, count(*) AS n FROM image_labels('apparel') GROUP BY label ORDER BY label",
}
ROLL_UP = """
SELECT label, count(*) AS n FROM (
  SELECT CASE WHEN min(v) <> max(v) THEN 'mixed' ELSE coalesce(min(v), 'unclear') END AS label
  FROM (
    SELECT l.image_id, CASE WHEN l.value <> 'unclear' THEN l.value END AS v
    FROM labels l JOIN detections d USING (detection_id)
    WHERE l.attribute = 'apparel' AND least(d.width, d.height) >= 30
  )
  GROUP BY image_id
)
GROUP BY label ORDER BY label
"""
"""What image_labels says of these labels, which lie on boxes and are never 'mixed'."""
SLOW = {"keyword": {"pandas"}}
"""Contenders left out: pandas runs Python's `re` over a column of Python strings, too slow to repeat at full scale."""
LESS = {
    "one label column": ("count_by_tally",),
    "two label columns": ("count_by_tally",),
    "filtered count": ("count_by_tally",),
    "person to image": ("count_by_image",),
    "image labels": ("roll_up",),
}
"""What of the engine counts faster than its SQL in each case: timed without it, and without all that does (``bare SQL``)."""


def cases(folder: Path) -> dict[str, Any]:
    """One case a query."""
    found: dict[str, Any] = {}
    for name, query in QUERIES.items():
        theirs = ROLL_UP if name == "image labels" else query
        case = {
            "counterbalance": (lambda: _lake(folder), lambda session, q=query: _plain(session.sql(q).to_arrow())),
            "DuckDB on Parquet": (lambda: _duckdb(folder), lambda con, q=theirs: _plain(con.sql(q).to_arrow_table())),
            "polars": (lambda: folder, lambda place, n=name: _polars(place, n)),
            "pandas": (lambda: folder, lambda place, n=name: _pandas(place, n)),
        }
        ours = case["counterbalance"][1]
        for without in LESS.get(name, ()):
            case[f"without {without}"] = (lambda w=without: _lake(folder, {w}), ours)
        if name in LESS:
            case["bare SQL"] = (lambda: _lake(folder, _mechanisms()), ours)
        if name == "image labels":
            case["bare scan"] = (lambda: folder, _scanned)
        found[name] = {c: way for c, way in case.items() if c not in SLOW.get(name, set())}
    return found


def _scanned(folder: Path) -> None:
    """Reads what the roll-up reads and does nothing with it."""
    import lance

    for table, columns in SCANNED.items():
        dataset = lance.dataset(str(folder / "groups.lake" / f"{table}.lance"))
        for _ in dataset.scanner(columns=columns, batch_size=STEP).to_reader():
            pass


SCANNED = {
    "labels": ["image_id", "detection_id", "attribute__code", "value__code"],
    "detections": ["detection_id", "width", "height"],
}


def _plain(rows: pa.Table) -> list[list[Any]]:
    return [list(r.values()) for r in rows.to_pylist()]


def _mechanisms() -> set[str]:
    """Return the names of all that counts faster than the SQL."""
    from counterbalance.engine.sql import rewrites

    return {*(rewrite.__name__ for rewrite in rewrites.COUNTING), "roll_up"}


def _lake(folder: Path, without: Collection[str] = ()) -> Any:
    from counterbalance.engine.sql import rewrites
    from counterbalance.engine.sql.rewrites import view_kernels

    if unknown := set(without) - _mechanisms():
        raise KeyError(f"{', '.join(unknown)}: not a mechanism of {', '.join(sorted(_mechanisms()))}")
    rewrites.REWRITES = tuple(r for r in rewrites.REWRITES if r.__name__ not in without)
    if "roll_up" in without:
        view_kernels.roll_up = lambda *_: None
    return cb.connect(folder / "groups.lake").session()


def _duckdb(folder: Path) -> Any:
    import duckdb

    con = duckdb.connect()
    for name in ("images", "captions", "detections", "labels"):
        con.execute(f"CREATE VIEW {name} AS SELECT * FROM '{folder / name}.parquet'")
    return con


def _polars(folder: Path, name: str) -> list[list[Any]]:
    import polars as pl

    scan = {n: pl.scan_parquet(folder / f"{n}.parquet") for n in ("captions", "detections", "labels")}
    gender = scan["labels"].filter(pl.col("attribute") == "apparel")
    if name == "one label column":
        frame = (
            scan["detections"].group_by("category").len("n").sort(["n", "category"], descending=[True, False]).head(5)
        )
    elif name == "two label columns":
        frame = scan["labels"].group_by("attribute", "value").len("n").sort("attribute", "value")
    elif name == "filtered count":
        frame = gender.filter(pl.col("value") == "female").select(pl.len().alias("n"))
    elif name == "numbers":
        other = scan["detections"].filter(pl.col("category") != "person")
        frame = other.select(pl.len().alias("n"), pl.col("width").min().alias("a"), pl.col("height").max().alias("b"))
    elif name == "person to image":
        counts = gender.group_by("image_id").agg(
            (pl.col("value") == "male").sum().alias("m"), (pl.col("value") == "female").sum().alias("f")
        )
        m, f = pl.col("m") > 0, pl.col("f") > 0
        frame = counts.select((m & ~f).sum().alias("male"), (f & ~m).sum().alias("female"))
    elif name == "image labels":
        big = scan["detections"].filter(pl.min_horizontal("width", "height") >= 30).select("detection_id")
        clear = pl.when(pl.col("value") != "unclear").then(pl.col("value"))
        marked = gender.join(big, on="detection_id").select("image_id", clear.alias("v"))
        images = marked.group_by("image_id").agg(pl.col("v").min().alias("a"), pl.col("v").max().alias("b"))
        mixed = pl.when(pl.col("a") != pl.col("b")).then(pl.lit("mixed"))
        labels = images.select(mixed.otherwise(pl.col("a").fill_null("unclear")).alias("label"))
        frame = labels.group_by("label").len("n").sort("label")
    else:
        frame = scan["captions"].filter(pl.col("text").str.contains(r"\bw(17|99|1234)\b")).select(pl.len().alias("n"))
    return [list(r) for r in frame.collect().rows()]


def _pandas(folder: Path, name: str) -> list[list[Any]]:
    import pandas as pd

    def read(table: str, columns: list[str]) -> pd.DataFrame:
        return pd.read_parquet(folder / f"{table}.parquet", columns=columns)

    if name == "one label column":
        counts = read("detections", ["category"]).value_counts().reset_index(name="n")
        counts = counts.sort_values(["n", "category"], ascending=[False, True]).head(5)
        return counts.to_numpy().tolist()
    if name == "two label columns":
        counts = read("labels", ["attribute", "value"]).value_counts().reset_index(name="n")
        return counts.sort_values(["attribute", "value"]).to_numpy().tolist()
    if name == "filtered count":
        frame = read("labels", ["attribute", "value"])
        return [[int(((frame.attribute == "apparel") & (frame.value == "female")).sum())]]
    if name == "numbers":
        frame = read("detections", ["category", "width", "height"])
        frame = frame[frame.category != "person"]
        return [[len(frame), float(frame.width.min()), float(frame.height.max())]]
    if name == "person to image":
        frame = read("labels", ["image_id", "attribute", "value"])
        frame = frame[frame.attribute == "apparel"]
        frame = frame.assign(m=frame.value == "male", f=frame.value == "female")
        counts = frame.groupby("image_id")[["m", "f"]].sum()
        return [[int(((counts.m > 0) & (counts.f == 0)).sum()), int(((counts.f > 0) & (counts.m == 0)).sum())]]
    if name == "image labels":
        frame = read("labels", ["image_id", "detection_id", "attribute", "value"])
        boxes = read("detections", ["detection_id", "width", "height"])
        boxes = boxes[boxes[["width", "height"]].min(axis=1) >= 30]
        frame = frame[(frame.attribute == "apparel") & frame.detection_id.isin(boxes.detection_id)]
        frame = frame.assign(m=frame.value == "male", f=frame.value == "female")
        counts = frame.groupby("image_id")[["m", "f"]].any()
        names = {(0, 0): "unclear", (1, 0): "male", (0, 1): "female", (1, 1): "mixed"}
        sizes = counts.groupby(["m", "f"]).size()
        return sorted([names[int(m), int(f)], int(n)] for (m, f), n in sizes.items())
    texts = read("captions", ["text"]).text
    return [[int(texts.str.contains(r"\bw(?:17|99|1234)\b").sum())]]
