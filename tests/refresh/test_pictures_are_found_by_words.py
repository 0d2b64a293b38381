"""From a folder of pictures to a search by words, in SQL: generated columns of CLIP vectors, an index, vector_search."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.search.indexes import coverage
from counterbalance.engine.store import tables

pytest.importorskip("open_clip")
IMAGES = 40


@pytest.fixture(scope="module")
def lake(tmp_path_factory, tiny_clip):
    """Pictures of ``counterbalance sample``, vectors of them and of their captions, and an index."""
    from counterbalance.demo import ingest
    from counterbalance.sample import generate

    root = tmp_path_factory.mktemp("found")
    generate(root / "sample", images=IMAGES, seed=4)
    found = cb.connect(root / "sample.lake")
    ingest(found, root / "sample")
    found.sql(f"ALTER TABLE images ADD COLUMN embedding AS (embed_image(image, '{tiny_clip()}'))")
    found.sql(f"ALTER TABLE captions ADD COLUMN meaning AS (embed_text(text, '{tiny_clip()}'))")
    found.sql("CREATE INDEX by_look ON images USING ivf_flat (embedding)")
    found.refresh(executor="inline")
    return found


def test_every_picture_and_caption_has_a_unit_vector(lake):
    for table, column in (("images", "embedding"), ("captions", "meaning")):
        values = lake.sql(f"SELECT {column} AS v FROM {table}").to_arrow()["v"]
        assert values.type == pa.list_(pa.float32(), 16)
        assert values.null_count == 0
        lengths = lake.sql(f"SELECT list_sum(list_transform({column}, lambda x: x * x)) FROM {table}").fetchall()
        assert [n for (n,) in lengths] == pytest.approx([1] * len(values), abs=1e-5)
    assert lake.sql("SELECT count(*) FROM images").fetchall() == [(IMAGES,)]


def test_the_index_is_built_and_nothing_is_left_to_do(lake):
    built = coverage(tables.open_table(lake.location, "images"), "by_look")
    assert (built.column, built.indexed, built.unindexed) == ("embedding", IMAGES, 0)
    assert {s.mode for s in lake.refresh(executor="inline").stages} <= {"no_op"}


def test_a_picture_is_nearest_to_itself(lake):
    for number, vector in lake.sql("SELECT image_id, embedding FROM images ORDER BY image_id LIMIT 5").fetchall():
        near = lake.sql(
            "SELECT image_id, rank, score FROM vector_search(images, 'embedding', $v, k := 3) ORDER BY rank",
            v=list(vector),
        )
        first = near.fetchall()[0]
        assert first[:2] == (number, 1)
        assert first[2] == pytest.approx(1, abs=1e-5)


def test_words_find_what_scores_highest(lake, tiny_clip):
    """The search by the vector of a text ranks as clip_score does, picture by picture."""
    text, model = "two people with a dog", tiny_clip()
    found = lake.sql(
        f"SELECT image_id, score FROM vector_search(images, 'embedding', (SELECT embed_text('{text}', '{model}')), k := 5) ORDER BY rank"
    ).fetchall()
    scored = lake.sql(
        f"SELECT image_id, clip_score(image, '{text}', '{model}') AS s FROM images ORDER BY s DESC, image_id LIMIT 5"
    ).fetchall()
    assert [i for i, _ in found] == [i for i, _ in scored]
    assert [s for _, s in found] == pytest.approx([s for _, s in scored], abs=1e-5)


def test_other_weights_make_the_column_stale(lake, tiny_clip, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in tiny_clip().iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    lake.sql(f"ALTER TABLE captions ADD COLUMN other AS (embed_text(text, '{folder}'))")
    lake.refresh("captions.other", executor="inline")
    before = lake.sql("SELECT other FROM captions ORDER BY caption_id").to_arrow()
    (folder / "open_clip_model.safetensors").write_bytes(
        (tiny_clip(seed=9) / "open_clip_model.safetensors").read_bytes()
    )
    (stage,) = lake.refresh("captions.other", executor="inline").stages
    assert stage.mode == "rebuild"
    assert not lake.sql("SELECT other FROM captions ORDER BY caption_id").to_arrow().equals(before)
