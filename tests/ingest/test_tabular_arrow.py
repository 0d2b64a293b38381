"""Arrow files and streams are tables like any other; what is damaged or lies about itself is an error, never a crash."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import laion, tabular
from counterbalance.ingest.files import expand

ROWS = pa.table({"url": [f"http://a/{i}.jpg" for i in range(300)], "caption": [f"a dog {i}" for i in range(300)]})


def written(path, *, stream):
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(path, ROWS.schema) as out:
        out.write_table(ROWS, max_chunksize=100)
    return path


@pytest.mark.parametrize("stream", [True, False])
def test_a_list_of_urls_is_read_from_arrow(tmp_path, stream):
    path = written(tmp_path / "a.arrow", stream=stream)
    source = laion.read(str(path), ReadOptions())
    chunks = list(source.chunks)
    assert pa.concat_tables([c.tables["captions"] for c in chunks])["text"].to_pylist() == ROWS["caption"].to_pylist()
    assert sum(c.bytes_read for c in chunks) <= path.stat().st_size
    assert chunks[0].positions["images"][0] == "row 1"


@pytest.mark.parametrize("stream", [True, False])
def test_a_file_that_is_cut_short_is_damaged(tmp_path, stream):
    path = written(tmp_path / "a.arrow", stream=stream)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(SourceError, match="damaged Arrow file") as caught:
        list(laion.read(str(path), ReadOptions()).chunks)
    assert caught.value.code == "E4012"


def test_what_is_called_arrow_and_is_none_is_refused(tmp_path):
    (tmp_path / "a.arrow").write_text("url,caption\n")
    with pytest.raises(SourceError, match="is not an Arrow file") as caught:
        tabular.inspect(expand(str(tmp_path / "a.arrow"))[0])
    assert caught.value.code == "E4010"


def test_bytes_that_are_changed_are_refused_or_read_as_text(tmp_path):
    path = written(tmp_path / "a.arrow", stream=True)
    sound = path.read_bytes()
    refused = 0
    for at in range(0, len(sound), 37):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0xFF]) + sound[at + 1 :])
        try:
            list(laion.read(str(path), ReadOptions()).chunks)
        except SourceError:
            refused += 1
    assert refused > 10
