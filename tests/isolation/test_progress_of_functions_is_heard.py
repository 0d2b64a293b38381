"""What a function in a query tells of its progress is heard where the query was asked, also from the process that runs it."""

from __future__ import annotations

import counterbalance as cb
from counterbalance.engine.functions import load_file
from counterbalance.engine.progress import heard_by

LEARNS = """
import counterbalance as cb
from counterbalance.engine.progress import Progress, tell

@cb.udf
def learns(text: str) -> int:
    tell(Progress("learning", len(text), 7, "epochs", 7))
    return len(text)
"""


def test_it_is_heard(tmp_path, build):
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(
        {"images": build.images(image_id=[1]), "captions": build.captions(caption_id=[1], image_id=[1], text=["a cat"])}
    )
    (tmp_path / "mine.py").write_text(LEARNS)
    load_file(tmp_path / "mine.py")
    for isolated in (True, False):
        heard = []
        with heard_by(heard.append):
            assert lake.sql("SELECT learns(text) FROM captions", isolated=isolated).fetchall() == [(5,)]
        assert [(p.stage, p.done, p.total, p.unit) for p in heard] == [("learning", 5, 7, "epochs")]
