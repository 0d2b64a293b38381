"""A purge that was killed is finished by the same words again: tags that it gave up are no error, indexes are made again."""

from __future__ import annotations

import copies
import pytest

from counterbalance.engine.catalog import file_statistics, snapshot
from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.refresh import deleting

MOMENTS = {
    "a tag was given up": (snapshot, "untag"),
    "indexes were dropped": (deleting, "_drop_indexes"),
    "words were forgotten": (deleting, "_forget_words"),
    "old versions were removed": (deleting, "gc"),
    "counts were made": (file_statistics, "keep"),
}


class Killed(BaseException):
    """As if the process had ended."""


@pytest.fixture
def filled(kept, disk_lake, build):
    def fill(lake):
        ids = list(range(40))
        lake.ingest(
            {
                "images": build.images(image_id=ids, key=[f"mkkey{i:03}" for i in ids]),
                "captions": build.captions(caption_id=ids, image_id=ids, text=[f"mktext{i:03} xyz" for i in ids]),
            }
        )
        lake.create_index("captions", "text", "fts", name="words")
        lake.refresh()
        for name in ("T1", "T2"):
            lake.tag(name)

    return copies.filled(kept, disk_lake, fill)


def purge(lake, *tags):
    return lake.delete(ids=["mkkey007"], apply=True, purge=True, drop_tags=tags)


@pytest.mark.cases(3)
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_same_words_again(filled, moment, monkeypatch):
    where, name = MOMENTS[moment]
    do = getattr(where, name)

    def kill(*args, **kwargs):
        do(*args, **kwargs)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(where, name, kill)
        with pytest.raises(Killed):
            purge(filled, "T1", "T2")
    done = purge(filled, "T1", "T2")
    assert (done.complete, done.held) == (True, ())
    found = filled.sql("SELECT count(*) FROM full_text_search(captions, 'text', 'xyz', k := 100)").fetchall()
    assert found == [(39,)]
    assert not [f for f in filled.location.path.rglob("*") if f.is_file() and b"mktext007" in f.read_bytes()]
    assert filled.verify().findings == []
    with pytest.raises(NotFoundError, match="no tag 'T1'"):
        purge(filled, "T1")


def test_a_tag_that_nobody_gave_up_is_missed(filled, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(deleting, "gc", lambda *_, **__: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            purge(filled, "T1")
    with pytest.raises(NotFoundError, match="no tag 'T3'"):
        purge(filled, "T1", "T3")
