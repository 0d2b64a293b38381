"""Audits of captions as a notebook's one-liner would do them: gendered words, crime words, sentiment, words by group.

Needs ``captions_val2017.json`` under ``$COUNTERBALANCE_DATA`` (default ``../shared/data``): a million captions are drawn from it,
five an image (100,000 at scale ``small``). The peers are polars scripts over the same as Parquet. Those of gendered and of crime
words look for the same words and know nothing of lemmas, animals or products, so that their counts are others; they set a limit,
as the bare score does for ``sentiment``. Words by group are counted alike. ``prepared`` is the same audit after the recipe ``prepare``.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import counterbalance as cb
from counterbalance.udfs import wordlists

SIZES = {"small": 100_000, "full": 1_000_000}
PREPARED = "prepared.lake"
GROUPS = "(SELECT image_id, CASE WHEN image_id % 3 = 0 THEN 'a' ELSE 'b' END AS label FROM images)"


def prepare(folder: Path, scale: str) -> None:
    """The captions as Parquet and as a lake."""
    if (folder / "captions.parquet").exists():
        return
    data = Path(os.environ.get("COUNTERBALANCE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    annotations = json.loads((data / "coco" / "captions_val2017.json").read_text(encoding="utf-8"))["annotations"]
    texts, rows = pa.array([a["caption"] for a in annotations]), SIZES[scale]
    ids = np.arange(rows)
    drawn = texts.take(pa.array(np.random.default_rng(5).integers(0, len(texts), rows)))
    captions = pa.table({"caption_id": ids, "image_id": ids // 5, "text": drawn})
    images = np.arange(rows // 5)
    lake = cb.connect(folder / "captions.lake")
    lake.ingest({"images": pa.table({"image_id": images, "key": pa.array(images).cast(pa.string())})})
    lake.ingest({"captions": captions})
    shutil.copytree(folder / "captions.lake", folder / "prepared.lake")
    cb.connect(folder / "prepared.lake").recipe("prepare")
    pq.write_table(captions, folder / "captions.parquet", compression="zstd", row_group_size=131_072)


def cases(folder: Path) -> dict[str, Any]:
    """Each audit beside its script."""
    by_word = f"SELECT count(*) AS n, sum(count) AS total FROM cooccurrence({GROUPS}, word_concepts, min_count := 0) WHERE count > 0"
    return {
        "caption_gender": {
            "counterbalance": _ours(folder, "SELECT label, count(*) AS n FROM caption_gender GROUP BY label"),
            "prepared": _ours(folder, "SELECT label, count(*) AS n FROM caption_gender GROUP BY label", PREPARED),
            "polars, regex": _polars(folder, _gender),
        },
        "crime_words": {
            "counterbalance": _ours(folder, "SELECT count(*) AS n FROM crime_words(caption_gender)"),
            "prepared": _ours(folder, "SELECT count(*) AS n FROM crime_words(caption_gender)", PREPARED),
            "polars, regex": _polars(folder, _crime),
        },
        "sentiment": {
            "counterbalance": _ours(folder, "SELECT count(*) AS n FROM sentiment(caption_gender)"),
            "prepared": _ours(folder, "SELECT count(*) AS n FROM sentiment(caption_gender)", PREPARED),
            "vader() alone": _ours(folder, "SELECT count(vader(text)) AS n FROM captions"),
        },
        "cooccurrence of words": {
            "counterbalance": (lambda: _session(folder), lambda s: _pairs(s.sql(by_word).to_arrow())),
            "prepared": (lambda: _session(folder, PREPARED), lambda s: _pairs(s.sql(by_word).to_arrow())),
            "polars, explode and group": (lambda: folder, _words),
        },
        "keyword_profile": {
            "counterbalance": _ours(folder, f"SELECT count(*) AS n FROM keyword_profile({GROUPS})"),
            "prepared": _ours(folder, f"SELECT count(*) AS n FROM keyword_profile({GROUPS})", PREPARED),
            "polars, explode and group": _polars(folder, _words),
        },
    }


def _session(folder: Path, lake: str = "captions.lake") -> Any:
    return cb.connect(folder / lake).session()


def _ours(folder: Path, query: str, lake: str = "captions.lake") -> tuple[Any, Any]:
    def run(session: Any) -> None:
        session.sql(query).to_arrow()

    return lambda: _session(folder, lake), run


def _polars(folder: Path, script: Any) -> tuple[Any, Any]:
    def run(place: Path) -> None:
        script(place)

    return lambda: folder, run


def _pairs(rows: pa.Table) -> list[int]:
    """Pairs of a word and a group, and images in them."""
    return [int(pc.sum(rows["n"]).as_py()), int(pc.sum(rows["total"]).as_py())]


def _either(words: list[str]) -> str:
    return rf"(?i)\b(?:{'|'.join(words)})\b"


def _gendered(text: Any) -> dict[str, Any]:
    words = wordlists.wordlist("gender_words").to_pylist()
    return {
        gender: text.str.contains(_either([row["term"] for row in words if row["class"] == gender]))
        for gender in ("male", "female")
    }


def _gender(folder: Path) -> Any:
    import polars as pl

    rows = pl.read_parquet(folder / "captions.parquet").select("image_id", **_gendered(pl.col("text")))
    return rows.group_by("image_id").agg(pl.col("male", "female").any()).group_by("male", "female").len()


def _crime(folder: Path) -> Any:
    import polars as pl

    crime = pl.col("text").str.contains(_either(wordlists.terms("crime_words")))
    rows = pl.read_parquet(folder / "captions.parquet").select("image_id", **_gendered(pl.col("text")), crime=crime)
    images = rows.group_by("image_id").agg(pl.col("male", "female", "crime").any())
    return images.group_by("male", "female", "crime").len()


def _words(folder: Path) -> list[int]:
    import polars as pl

    words = pl.col("text").str.to_lowercase().str.extract_all(r"\w+").alias("word")
    rows = pl.read_parquet(folder / "captions.parquet").select("image_id", words).explode("word").unique()
    pairs = rows.group_by("word", pl.col("image_id") % 3 == 0).len()
    return [len(pairs), int(pairs["len"].sum())]
