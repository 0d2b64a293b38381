"""A page of HTML holds a table and small pictures, and nothing that runs or is fetched."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.__main__ import main
from counterbalance.shell import page
from counterbalance.shell.output import OutputOptions, Sink

TABLE = pa.table(
    {
        "<b>": ["<script>alert(1)</script>", '"><img src=http://x.org onerror=alert(1)>', "a\x1b\u202eb", None],
        "n": [1, None, 3, 4],
        "list": [["<i>"], [], None, ["&amp;"]],
    }
)


class Page(HTMLParser):
    """The elements of a page, and its cells as text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.rows = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, *a) for a in attrs]
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.elements and self.elements[-1] in {"td", "th"} and data.strip():
            self.rows[-1][-1] += data


def written(table):
    stream = io.BytesIO()
    told = page.write(table.to_reader(max_chunksize=3), Sink(stream, OutputOptions("html", Path("a<b.html"))))
    return told, stream.getvalue().decode()


def test_cells_are_text():
    told, text = written(TABLE)
    found = Page(text)
    assert told.rows == 4
    assert found.rows == [
        ["<b>", "n", "list"],
        ["<script>alert(1)</script>", "1", '["<i>"]'],
        ['"><img src=http://x.org onerror=alert(1)>', "NULL", "[]"],
        ["a\\x1b\\u202eb", "3", "NULL"],
        ["NULL", "4", '["&amp;"]'],
    ]
    assert "<title>a&lt;b</title>" in text
    assert set(found.elements) == {
        "html", "head", "meta", "title", "style", "body", "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert not [name for _, name, _ in found.attributes if name in {"href", "src"} or name.startswith("on")]
    assert ("meta", "content", "default-src 'none'; img-src data:; style-src 'unsafe-inline'") in found.attributes


def test_pictures_are_small_and_in_the_page():
    _, text = written(pa.table({"image": [image_bytes(Image.new("RGB", (600, 300), "red")), b"none", None]}))
    found = Page(text)
    (source,) = [value for _, name, value in found.attributes if name == "src"]
    assert source.startswith("data:image/jpeg;base64,")
    assert len(text) < 4_000
    assert found.rows[2:] == [["<4 bytes>"], ["NULL"]]


@pytest.mark.parametrize("words", [[], ["-o", "out.html"]])
def test_a_command_writes_one(words, lake, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    asked = ["audit", lake.uri, "demographics"]
    assert main([*asked, *(words or ["--format", "html"])]) == 0
    text = (tmp_path / "out.html").read_text() if words else capfd.readouterr().out
    assert Page(text).rows[0][:3] == ["label", "count", "n"]
    assert text.endswith("</html>\n")
