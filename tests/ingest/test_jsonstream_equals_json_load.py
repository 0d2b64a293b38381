"""Streaming gives what json.load gives, whatever the white space, the order and the window."""

from __future__ import annotations

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from counterbalance.ingest.jsonstream import Items, ObjectMember, stream

TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["}, {", '"},{"', "\\", '"', "[{", "}]", "é}, {", "\u2028", '{"a":1},{"b"', "", "]", ",", "NaN"]),
)
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, -0.0, 1e300, 5e-324, 2**64 - 1]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)
ARRAYS = st.one_of(st.lists(OBJECTS, max_size=12), st.lists(VALUES, max_size=6))
DOCUMENTS = st.dictionaries(TEXTS, st.one_of(ARRAYS, OBJECTS, VALUES), max_size=4)
WINDOWS = st.sampled_from([1, 2, 3, 5, 8, 13, 40, 200, 1 << 20])


def written(value, blanks):
    """JSON text with blanks drawn for every gap."""
    if isinstance(value, dict):
        inner = ",".join(f"{blanks()}{text(k)}{blanks()}:{written(v, blanks)}" for k, v in value.items())
        return f"{blanks()}{{{inner}{blanks()}}}{blanks()}"
    if isinstance(value, list):
        inner = ",".join(written(v, blanks) for v in value)
        return f"{blanks()}[{inner or blanks()}]{blanks()}"
    return f"{blanks()}{text(value)}{blanks()}"


def text(value):
    # written as is where UTF-8 can hold it, escaped where not
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def gathered(data, window):
    found = {}
    read = 0
    for event in stream(io.BytesIO(data), "doc.json", window=window):
        read += event.read
        if isinstance(event, ObjectMember):
            found[event.name] = event.value
        else:
            assert isinstance(event, Items)
            assert event.start == len(found.setdefault(event.name, []))
            found[event.name] += event.items
    assert read <= len(data)
    return found


def same(found, expected):
    return repr(found) == repr(expected)  # tells 1 from 1.0 and 0.0 from -0.0


@given(DOCUMENTS, WINDOWS, st.data())
def test_any_document_any_window(document, window, data):
    gaps = data.draw(st.lists(st.sampled_from(["", "", "", " ", "\n", "\t", "\r\n  "]), min_size=1, max_size=6))
    turn = iter(range(10**9))
    encoded = written(document, lambda: gaps[next(turn) % len(gaps)]).encode()
    assert same(gathered(encoded, window), json.loads(encoded))


@given(st.lists(st.tuples(TEXTS, NUMBERS), min_size=1, max_size=40), st.sampled_from([None, 0, 1, 2]), WINDOWS)
def test_coco_like_documents(rows, indent, window):
    items = [{"id": i, "caption": c, "bbox": [n, 1], "info": [{"a": 1}, {"b": c}]} for i, (c, n) in enumerate(rows)]
    document = {"info": {"x": 1}, "images": items[::2], "annotations": items, "categories": []}
    encoded = json.dumps(document, indent=indent).encode()
    assert same(gathered(encoded, window), json.loads(encoded))


def test_a_byte_order_mark_and_blanks_around_are_fine():
    assert gathered(b'\xef\xbb\xbf \n{"a": [1]}\n\n', 4) == {"a": [1]}


def test_pieces_are_about_a_window_long():
    document = {"a": [{"id": i, "text": "x" * 80} for i in range(5000)]}
    pieces = [e for e in stream(io.BytesIO(json.dumps(document).encode()), "doc.json", window=64 << 10) if e.items]
    assert 5 <= len(pieces) <= 20
    assert max(len(p.items) for p in pieces) < 1400


def test_an_element_larger_than_the_window_comes_whole():
    big = {"counts": list(range(30_000))}
    document = {"a": [{"id": 1}, big, {"id": 2}], "b": {"c": big}}
    assert gathered(json.dumps(document).encode(), 1000) == document
