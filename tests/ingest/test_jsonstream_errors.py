"""What is no JSON ends the stream with the byte where it happens; nothing is taken for whole that is not."""

from __future__ import annotations

import io
import json

import pytest

from counterbalance.engine.errors import SourceError
from counterbalance.ingest.jsonstream import Items, stream

DOCUMENT = json.dumps(
    {"info": {"d": "x, y"}, "images": [{"id": 1, "n": "é}, {"}, {"id": 2, "l": [1.5, True]}], "n": 12, "e": []},
    ensure_ascii=False,
).encode()


def run(data, window=1 << 20, **options):
    return list(stream(io.BytesIO(data), "doc.json", window=window, **options))


@pytest.mark.parametrize("window", [1, 10, 1 << 20])
def test_a_document_cut_anywhere_is_an_error(window):
    for end in range(len(DOCUMENT)):
        with pytest.raises(SourceError) as caught:
            run(DOCUMENT[:end], window)
        assert caught.value.code in {"E4020", "E4021"}
        assert "doc.json" in caught.value.message


@pytest.mark.parametrize("window", [1, 10, 1 << 20])
@pytest.mark.parametrize(
    ("data", "byte", "text"),
    [
        (b"", 0, "cut short"),
        (b"[1]", 0, "JSON object"),
        (b"<html>", 0, "JSON object"),
        (b"{'a': 1}", 1, "double quotes"),
        (b'{"a": 1,}', 8, "double quotes"),
        (b'{"a": 1 "b": 2}', 8, "',' or '}'"),
        (b'{"a"  1}', 6, "':'"),
        (b'{"a": [{"x": 1},]}', 16, "element"),
        (b'{"a": [1,]}', 9, "element"),
        (b'{"a": [,1]}', 7, "value"),
        (b'{"a": [{"x": 1} {"y": 2}]}', 16, "',' or ']'"),
        (b'{"a": [{"x": 1}, {"y": tru}, {"z": 3}]}', 23, "value"),
        (b'{"a": [{"x": 1}, {"y": 01}, {"z": 3}]}', 24, "delimiter"),
        (b'{"a": [{"x": 1}, {"y": "\x01"}, {"z": 3}]}', 24, "control character"),
        (b'{"a": [{"x": 1}, {"y": "\\q"}, {"z": 3}]}', 24, "escape"),
        ('{"é": [{"é": 1}, {"é": tru}, {"z": 3}]}'.encode(), 26, "value"),
        (b'{"a": 1}{"b": 2}', 8, "ended before"),
        (b'{"a": 1}\n{"b": 2}', 9, "ended before"),
        (b'{"a": [{"x": 1}]}]', 17, "ended before"),
        (b'{"a": [], "a": []}', 14, "second time"),
        (b'{"a": [{"b": 1}, {"c": [' + b"[" * 5000 + b"]" * 5000 + b"]}]}", 17, "nested"),
    ],
)
def test_errors_name_the_byte(data, byte, text, window):
    with pytest.raises(SourceError, match=r"doc\.json") as caught:
        run(data, window)
    assert text in caught.value.message
    assert f"byte {byte:,}" in caught.value.message


def test_the_rows_before_an_error_come_first():
    data = b'{"a": [' + b", ".join(b'{"id": %d}' % i for i in range(1000)) + b", {]}"
    found = []
    with pytest.raises(SourceError, match=r"byte 1[0-9],[0-9]+: expecting property name"):
        found.extend(stream(io.BytesIO(data), "doc.json", window=2000))
    assert all(isinstance(e, Items) for e in found)
    assert sum(len(e.items) for e in found) > 700


def test_a_value_may_not_be_longer_than_the_limit():
    data = json.dumps({"a": {"x": "y" * 400_000}}).encode()
    assert run(data, largest=1 << 20)[0].value == {"x": "y" * 400_000}
    with pytest.raises(SourceError, match="byte 6 is longer than 65,536 bytes") as caught:
        run(data, largest=65_536)
    assert caught.value.code == "E4022"


class Failing(io.BytesIO):
    def read(self, size=-1, /):
        if self.tell() > 50_000:
            raise OSError(5, "Input/output error")
        return super().read(min(size, 4096))


def test_a_failing_read_is_a_source_error():
    data = json.dumps({"a": [{"id": i} for i in range(20_000)]}).encode()
    with pytest.raises(SourceError, match=r"cannot read doc\.json: Input/output error"):
        list(stream(Failing(data), "doc.json", window=1000))


def test_short_reads_are_no_end_of_file():
    class Short(io.BytesIO):
        def read(self, size=-1, /):
            return super().read(min(size, 7))

    data = json.dumps({"a": [{"id": i} for i in range(3000)]}).encode()
    assert sum(len(e.items) for e in stream(Short(data), "doc.json")) == 3000
