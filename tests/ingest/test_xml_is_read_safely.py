"""XML of strangers is read without entities, within bounds, and element by element."""

from __future__ import annotations

import io
import tracemalloc

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SourceError
from counterbalance.ingest.xmlstream import elements

LAUGHS = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><annotations>&b;</annotations>'
NAMES = '<!DOCTYPE annotations SYSTEM "file:///etc/passwd"><annotations/>'


def read(text, **more):
    return list(
        elements(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "a.xml", "annotations", 2, **more)
    )


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("", "E4026", "broken or no XML: no element found"),
        ("<annotations><image>", "E4026", "line 1"),
        ("<annotations>&more;</annotations>", "E4026", "undefined entity"),
        ("<html><body/></html>", "E4026", "XML of another kind"),
        (LAUGHS, "E4027", "DOCTYPE"),
        (NAMES, "E4027", "DOCTYPE"),
        ("<annotations>" + "<a>" * 100, "E4028", "64 elements deep"),
        ("<annotations><image>" + "<a/>" * 100_000, "E4028", "more than 200,000 bytes"),
        (
            "<annotations><image " + " ".join(f'a{i}="{i}"' for i in range(9)) + ">" + "<a b=''/>" * 125_000,
            "E4028",
            "250,000",
        ),
    ],
)
def test_refused(text, code, told):
    with pytest.raises(SourceError, match=told) as caught:
        read(text, largest=200_000 if "b=" not in text else 9_000_000)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["nope-8", "idna", "hex", "gbk", "shift_jis", "rot13", "utf-7"])
def test_encodings_that_are_not_read(name):
    text = f'<?xml version="1.0" encoding="{name}"?><annotations><a>é</a></annotations>'
    with pytest.raises(SourceError) as caught:
        read(text.encode())
    assert caught.value.code == "E4026"
    assert "UTF-8" in caught.value.hint or "xmllint" in caught.value.hint


def test_entities_of_xml_itself_and_encodings():
    ((found, _),) = read('<annotations><a b="&lt;&#233;">x&amp;y</a></annotations>')
    assert (found.get("b"), found.text) == ("<é", "x&y")
    ((found, _),) = read('<?xml version="1.0" encoding="utf-16"?><annotations><a>é</a></annotations>'.encode("utf-16"))
    assert found.text == "é"


def test_elements_are_freed():
    one = b"<image>" + b'<box a="1"/>' * 50 + b"</image>"
    text = io.BytesIO(b"<annotations>" + one * 2_000 + b"</annotations>")
    tracemalloc.start()
    read_ = sum(size for _, size in elements(text, "a.xml", "annotations", 2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read_ > 1_160_000
    assert peak < 5_000_000  # the elements of a window; all of them take forty megabytes


@pytest.mark.parametrize("text", [LAUGHS, NAMES])
def test_a_source_is_refused_as_a_whole(tmp_path, text):
    (tmp_path / "annotations.xml").write_text(text)
    lake = cb.connect(tmp_path / "l.lake")
    with pytest.raises(SourceError) as caught:
        lake.ingest(str(tmp_path / "annotations.xml"))
    assert caught.value.code == "E4027"
    assert not (tmp_path / "l.lake" / "images.lance").exists()
