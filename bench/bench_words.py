"""Words as an index: listed words in captions, and how often each goes with each group, against plain ways.

Full scale: 10 million made-up captions of 5 to 16 words, by Zipf's law from a vocabulary of 1.2 million. Ours asks ``matches``
and ``term_concepts`` of a lake whose captions hold their lemmas as a generated column with a ``label_list``
index, and for the categories also a view with a row a lemma and caption, its group beside it (*postings*),
with a ``btree``. The others read the same from Parquet: a regular expression over the text, ``list_has_any`` over stored
lists, the postings in the order of their lemmas. The words of the vocabulary are their own lemmas, so that all give the same answer. *Warm* times are those of a query that
this session was asked before: rows that an index found are kept as long as the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import counterbalance as cb
from counterbalance.udfs import wordlists
from counterbalance.udfs.lemma import lemmas_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZES = {"small": 200_000, "full": 10_000_000}
VOCABULARY = {"small": 60_000, "full": 1_200_000}
STEP = 131_072
CATEGORIES = {"small": 371, "full": 3_710}
GROUPS = np.array(["male", "female", "unclear"])


def words(scale: str) -> tuple[list[str], list[str], list[str]]:
    """The vocabulary from frequent to rare, the listed words, and the categories; each its own lemma."""
    draw = np.random.default_rng(11)
    size = VOCABULARY[scale]
    letters = draw.choice(np.array(list("etaoinshrdlucmfwypvbgkjqxz")), (size, 10)).view("U10").ravel().tolist()
    made = [w[:n] for w, n in zip(letters, draw.integers(4, 11, size).tolist(), strict=True)]
    kept = list(dict.fromkeys(w for w in made if lemmas_of(w) == [w]))
    listed = sorted({w for t in wordlists.terms("crime_words") for w in lemmas_of(t) if lemmas_of(w) == [w]})[:71]
    for place, word in zip(
        draw.choice(np.arange(size // 300, size // 20), len(listed), replace=False), listed, strict=True
    ):
        kept[int(place)] = word
    places = draw.choice(np.arange(100, size // 20), CATEGORIES[scale], replace=False)
    return kept, listed, sorted({kept[int(p)] for p in places})


def prepare(folder: Path, scale: str) -> None:
    """Captions as Parquet, and as two lakes: as they are, and with stored lemmas and an index."""
    if (folder / "words.txt").exists():
        return
    vocabulary, listed, categories = words(scale)
    writer = None
    for batch in _captions(vocabulary, SIZES[scale]):
        writer = writer or pq.ParquetWriter(folder / "words.parquet", batch.schema, compression="zstd")
        writer.write_batch(batch)
    if writer is not None:
        writer.close()
    lake = cb.connect(folder / "indexed.lake")
    ids = pa.schema([("image_id", pa.int64()), ("key", pa.string()), ("split", pa.string())])
    lake.ingest({"images": pa.RecordBatchReader.from_batches(ids, _read(folder, ids.names))})
    schema = pa.schema([("caption_id", pa.int64()), ("image_id", pa.int64()), ("text", pa.string())])
    lake.ingest({"captions": pa.RecordBatchReader.from_batches(schema, _read(folder, schema.names))})
    for statement in (
        "ALTER TABLE captions ADD COLUMN words AS (lemmas(text))",
        "CREATE INDEX ON captions USING label_list (words)",
        (
            "CREATE MATERIALIZED VIEW caption_words WITH (key = 'lemma, caption_id') AS "
            "SELECT DISTINCT unnest(c.words) AS lemma, c.caption_id, i.split "
            "FROM captions AS c JOIN images AS i ON i.image_id = c.image_id ORDER BY lemma, caption_id"
        ),
        "CREATE INDEX ON caption_words USING btree (lemma)",
        "REFRESH ALL",
    ):
        lake.sql(statement).to_arrow()
    _same_postings(folder)
    (folder / "words.txt").write_text("\n".join([" ".join(listed), " ".join(categories)]), encoding="utf-8")


def _same_postings(folder: Path) -> None:
    """The view's rows as Parquet, in its order, which is that of the lemmas."""
    import lance

    rows = lance.dataset(str(folder / "indexed.lake" / "caption_words.lance")).scanner(columns=["lemma", "split"])
    with pq.ParquetWriter(folder / "postings.parquet", rows.projected_schema, compression="zstd") as writer:
        for batch in rows.to_batches():
            writer.write_batch(batch, row_group_size=STEP)


def _captions(vocabulary: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    draw = np.random.default_rng(12)
    odds = 1 / (np.arange(len(vocabulary)) + 10.0) ** 1.03
    limits, spelled = np.cumsum(odds / odds.sum())[:-1], pa.array(vocabulary)
    for start in range(0, rows, STEP):
        ids = np.arange(start, min(rows, start + STEP))
        offsets = np.concatenate([[0], np.cumsum(draw.integers(5, 17, len(ids)))]).astype(np.int32)
        tokens = spelled.take(pa.array(np.searchsorted(limits, draw.random(offsets[-1]))))
        lists = pa.ListArray.from_arrays(pa.array(offsets), tokens)
        groups = GROUPS[draw.integers(0, 3, len(ids))].tolist()
        yield pa.record_batch(
            {
                "caption_id": pa.array(ids),
                "image_id": pa.array(ids),
                "key": pa.array(ids).cast(pa.string()),
                "split": pa.array(groups),
                "text": pc.binary_join(lists, " "),
                "words": lists,
            }
        )


def _read(folder: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    yield from pq.ParquetFile(folder / "words.parquet").iter_batches(STEP, columns=names)


def cases(folder: Path) -> dict[str, Any]:
    """Captions with a listed word; and all categories by group (here the images' split stands in for one)."""
    listed, categories = (line.split() for line in (folder / "words.txt").read_text(encoding="utf-8").splitlines())
    either = f"'\\b({'|'.join(listed)})\\b'"
    ours = f"SELECT count(*) AS n FROM captions WHERE matches(text, {_texts(listed)})"
    by_group = (
        "SELECT t.concept, i.split AS g, count(*) AS n FROM term_concepts((SELECT unnest({0}) AS term)) AS t "
        "JOIN images AS i ON i.image_id = t.image_id GROUP BY ALL ORDER BY ALL"
    )
    theirs = (
        "SELECT t.concept, i.split AS g, count(*) AS n FROM (SELECT DISTINCT image_id, unnest(words) AS concept FROM '{1}') AS t "
        "JOIN '{1}' AS i ON i.image_id = t.image_id WHERE t.concept IN (SELECT unnest({0})) GROUP BY ALL ORDER BY ALL"
    )
    postings = (
        "SELECT lemma AS concept, split AS g, count(*) AS n FROM {1} WHERE lemma IN {0} GROUP BY ALL ORDER BY ALL"
    )
    parquet = folder / "words.parquet"
    return {
        "listed words": {
            "counterbalance, indexed": (lambda: _lake(folder), lambda s: _plain(s.sql(ours).to_arrow())),
            "DuckDB, regex": _duckdb(f"SELECT count(*) AS n FROM '{parquet}' WHERE regexp_matches(text, {either})"),
            "DuckDB, list_has_any": _duckdb(
                f"SELECT count(*) AS n FROM '{parquet}' WHERE list_has_any(words, {_texts(listed)})"
            ),
            "polars, regex": (lambda: parquet, lambda place: _polars(place, either.strip("'"))),
        },
        "terms found": {
            "counterbalance, indexed": (
                lambda: _lake(folder),
                lambda s: _plain(s.sql(f"SELECT count(*) AS n FROM ({by_group.format(_texts(listed))})").to_arrow()),
            ),
            "DuckDB, unnest and join": _duckdb(f"SELECT count(*) AS n FROM ({theirs.format(_texts(listed), parquet)})"),
        },
        "categories by group": {
            "counterbalance, indexed": (
                lambda: _lake(folder),
                lambda s: _summed(s.sql(by_group.format(_texts(categories))).to_arrow()),
            ),
            "counterbalance, postings": (
                lambda: _lake(folder),
                lambda s: _summed(s.sql(postings.format(_tuple(categories), "caption_words")).to_arrow()),
            ),
            "DuckDB, postings": (
                _connection,
                lambda con: _summed(
                    con.sql(postings.format(_tuple(categories), f"'{folder / 'postings.parquet'}'")).to_arrow_table()
                ),
            ),
            "DuckDB, unnest and join": (
                _connection,
                lambda con: _summed(con.sql(theirs.format(_texts(categories), parquet)).to_arrow_table()),
            ),
        },
    }


def _texts(values: list[str]) -> str:
    return "[" + ", ".join(f"'{v}'" for v in values) + "]"


def _tuple(values: list[str]) -> str:
    return "(" + _texts(values)[1:-1] + ")"


def _plain(rows: pa.Table) -> list[list[Any]]:
    return [list(r.values()) for r in rows.to_pylist()]


def _summed(rows: pa.Table) -> list[int]:
    return [len(rows), int(pc.sum(rows["n"]).as_py()), int(pc.max(rows["n"]).as_py())]


def _lake(folder: Path) -> Any:
    return cb.connect(folder / "indexed.lake").session()


def _connection() -> Any:
    import duckdb

    return duckdb.connect()


def _duckdb(sql: str) -> Any:
    return _connection, lambda con: _plain(con.sql(sql).to_arrow_table())


def _polars(place: Path, pattern: str) -> list[list[Any]]:
    import polars as pl

    found = pl.scan_parquet(place).filter(pl.col("text").str.contains(pattern)).select(pl.len().alias("n"))
    return [list(r) for r in found.collect().rows()]
