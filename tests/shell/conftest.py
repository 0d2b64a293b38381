"""What tests of the shell share: the command on a real (pseudo) terminal."""

from __future__ import annotations

import pytest
from terminal import Terminal

BEGUN = """
import pathlib, pyarrow as pa, counterbalance as cb

@cb.udf(returns=pa.int64(), parameters={"x": pa.int64()}, version="1")
def t_begun(x):
    pathlib.Path("begun").touch()
    return x
"""


@pytest.fixture
def start(disk_lake, build, tmp_path):
    texts = ["\x1b[31ma hostile caption", *(f"a rather long caption of image number {i}" for i in range(2, 60))]
    ids = list(range(1, 60))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
        }
    )
    started = []

    (tmp_path / "begun.py").write_text(BEGUN)

    def begin(*words):
        started.append(Terminal([words[0], disk_lake.uri, *words[1:]], tmp_path))
        return started[-1]

    yield begin
    for terminal in started:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
