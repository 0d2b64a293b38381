"""Items that are worked on ahead come as a plain loop would give them."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.ingest.lookahead import looked_ahead


class BrokenError(Exception):
    """What a source or a look raises."""


def taken(items, cores, *, breaks=()):
    """What is given before it ends, and how it ends."""

    def look(item):
        if item in breaks:
            raise BrokenError(item)
        return -item

    given_, end = [], None
    try:
        given_.extend(looked_ahead(items, look, cores=cores))
    except BrokenError as error:
        end = error.args
    return given_, end


@given(count=st.integers(0, 60), breaks=st.sets(st.integers(0, 60), max_size=3))
def test_as_a_plain_loop(count, breaks):
    assert taken(range(count), 3, breaks=breaks) == taken(range(count), 1, breaks=breaks)


@given(count=st.integers(0, 40), breaks=st.sets(st.integers(0, 60), max_size=2))
def test_a_source_that_breaks(count, breaks):
    def source():
        yield from range(count)
        raise BrokenError("the source")

    assert taken(source(), 3, breaks=breaks) == taken(source(), 1, breaks=breaks)


def test_several_at_once():
    together = threading.Barrier(3)
    found = looked_ahead(range(9), lambda _: together.wait(timeout=60), cores=3)
    assert [item for item, _ in found] == list(range(9))


def test_few_are_taken_ahead():
    source = itertools.count()
    found = looked_ahead(source, lambda item: item, cores=2)
    assert [next(found) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
    assert next(source) <= 3 + 2 * 4
    found.close()


def test_the_source_is_read_in_the_calling_thread():
    seen = []
    items = (seen.append(threading.get_ident()) or i for i in range(20))
    list(looked_ahead(items, abs, cores=2))
    assert set(seen) == {threading.get_ident()}


def test_nothing():
    assert list(looked_ahead([], abs)) == []
    with pytest.raises(StopIteration):
        next(looked_ahead([], abs))
