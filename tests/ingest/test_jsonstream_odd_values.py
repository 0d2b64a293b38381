"""What orjson refuses inside a value is handed on for the reader to judge; the rows around it stay."""

from __future__ import annotations

import io
import math

import pytest

from counterbalance.ingest.jsonobjects import Repeated
from counterbalance.ingest.jsonstream import Items, stream


def elements(text, window):
    data = text if isinstance(text, bytes) else text.encode()
    return [i for e in stream(io.BytesIO(data), "doc.json", window=window) if isinstance(e, Items) for i in e.items]


def around(value, window):
    data = b'{"a": [' + b", ".join(b'{"id": %d, "t": "}, {"}' % i for i in range(20))
    data += b', {"id": 20, "v": ' + value + b"}, "
    data += b", ".join(b'{"id": %d}' % i for i in range(21, 40)) + b"]}"
    found = elements(data, window)
    assert [i["id"] for i in found] == list(range(40))
    return found[20]["v"]


@pytest.mark.parametrize("window", [1, 50, 400, 1 << 20])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"Infinity", math.inf),
        (b"-Infinity", -math.inf),
        (b"1e999", math.inf),
        (b"-1e999", -math.inf),
        (b"9" * 400, math.inf),
        (b"9" * 5000, math.inf),
        (b"1" + b"0" * 22, 1e22),
        (b'"\\ud800"', "\ud800"),
        (b'"\\udc00x"', "\udc00x"),
        (b'"\xff\xfe"', "\udcff\udcfe"),
        (b'"\xed\xa0\x80"', "\udced\udca0\udc80"),
        (b'"caf\xc3"', "caf\udcc3"),
    ],
)
def test_odd_values_come_through(value, expected, window):
    assert around(value, window) == expected


@pytest.mark.parametrize("window", [1, 50, 400, 1 << 20])
def test_nan_comes_through(window):
    assert math.isnan(around(b"NaN", window))


@pytest.mark.parametrize("window", [100, 3000, 1 << 20])
def test_an_odd_value_in_every_element_is_slow_but_right(window):
    text = '{"a": [' + ",".join(f'{{"id": {i}, "é": NaN}}' for i in range(3000)) + "]}"
    assert [i["id"] for i in elements(text, window)] == list(range(3000))


def test_an_element_that_holds_a_name_twice_is_told_from_others():
    found = elements('{"a": [{"id": 1, "id": 2}, {"id": 3}]}', 100)
    assert found == [Repeated("id"), {"id": 3}]
    assert type(found[0]) is Repeated
