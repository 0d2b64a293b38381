"""A view over a generated column of a table that holds nothing yet has no rows, and fills once the table does."""

from __future__ import annotations

import counterbalance as cb


def test_a_view_over_a_column_that_no_refresh_could_make(build, tmp_path):
    """As the steps of a recipe about captions, in a lake of pictures alone."""
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest({"images": build.images(image_id=[1, 2])})
    lake.add_column("captions", "letters", "length(text)")
    lake.create_materialized_view("long", "SELECT caption_id, letters FROM captions WHERE letters > 3", "caption_id")
    lake.refresh(executor="inline")
    assert lake.sql("SELECT count(*) FROM long").fetchall() == [(0,)]
    lake.ingest({"captions": build.captions(caption_id=[1, 2], image_id=[1, 2], text=["a cat", "hm"])})
    lake.refresh(executor="inline")
    assert lake.sql("SELECT caption_id, letters FROM long").fetchall() == [(1, 5)]
