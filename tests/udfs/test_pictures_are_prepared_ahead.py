"""Pictures come prepared in order, the same from processes as in place; bad ones fail alone."""

from __future__ import annotations

import importlib
import inspect
import time
from concurrent import futures

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.functions import functions
from counterbalance.engine.images import ImageError
from counterbalance.udfs.models import ahead


def png(value, size=(5, 4)):
    return image_bytes(Image.new("RGB", size, (value % 256, value // 256, 7)))


@pytest.fixture(scope="module")
def images():
    values = [png(n) for n in range(600)]
    values[3], values[599] = None, b"no picture"
    return pa.array(values, pa.binary())


@pytest.mark.parametrize("processes", [0, 2])
def test_every_picture_in_order(images, processes):
    working = ahead.Ahead(np.asarray, "cpu", processes)
    try:
        for _ in range(2):  # the processes are used again
            batches = list(working.batches(images, 64))
            rows = [row for found, _, _ in batches for row in found]
            assert [len(found) for found, _, _ in batches] == [64] * 9 + [22]
            assert rows == [n for n in range(600) if n not in {3, 599}]
            pixels = np.concatenate([arrays for _, arrays, _ in batches])
            assert pixels.shape == (598, 4, 5, 3)
            assert (pixels[:, 0, 0, 0] + 256 * pixels[:, 0, 0, 1].astype(int)).tolist() == rows
            assert {row for _, _, errors in batches for row in errors} == {599}
        [(rows, arrays, errors)] = working.batches(pa.array([b"x"] * 20), 32)
        assert (rows, arrays, sorted(errors)) == ([], None, list(range(20)))
    finally:
        working.close()


def test_few_pictures_start_no_process(images):
    working = ahead.Ahead(np.asarray, "cuda:0", 2)
    assert len(list(working.batches(images.slice(0, 100), 64))) == 2
    assert working._pool is None


def test_a_batch_without_a_readable_picture():
    [(rows, arrays, errors)] = ahead.Ahead(np.asarray, "cpu").batches(pa.array([b"x", b"y"]), 8)
    assert (rows, arrays, sorted(errors)) == ([], None, [0, 1])


def test_pictures_of_any_size_come_as_a_list():
    images = pa.array([png(1), png(2, (7, 2)), None, b"x"])
    [(rows, arrays, errors)] = ahead.Ahead(np.asarray, "cpu", stack=False).batches(images, 8)
    assert ([a.shape for a in arrays], rows, list(errors)) == ([(4, 5, 3), (2, 7, 3)], [0, 1], [3])


def test_what_else_there_is_of_a_row_goes_along():
    images = pa.array([png(1), png(2), None, b"x", png(5), png(6)])
    others = pa.array([4, None, 4, 4, 9, 3]), pa.array(["a", "b", "c", "d", "e", "f"])
    working = ahead.Ahead(only_small, "cpu", stack=False)
    batches = list(working.batches(images, 2, *others))
    assert [(rows, arrays) for rows, arrays, _ in batches] == [([0], [(5, 4, 4, "a")]), ([5], [(5, 4, 3, "f")])]
    assert [dict(errors) for *_, errors in batches] == [
        {3: "begins with b'x': none of JPEG, PNG, WEBP, GIF, BMP"},
        {4: "9"},
    ]


def only_small(picture, number, letter):
    if number > 8:
        raise ImageError(str(number))
    return (*picture.size, number, letter)


def test_a_full_batch_with_a_gap_is_worth_processes(images):
    """What functions are given at once is 256 rows, of which some are NULL."""
    working = ahead.Ahead(np.asarray, "cuda:0", 1)
    try:
        assert sum(len(rows) for rows, _, _ in working.batches(images.slice(0, 256), 64)) == 255
        assert working._pool is not None
    finally:
        working.close()


SLOWLY = """
import time
import numpy as np
def slowly(picture):
    began = time.monotonic()
    time.sleep(0.002)
    return np.array([began])
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """Four processes that tell when they began with a picture."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "preparing_slowly.py").write_text(SLOWLY)  # other processes cannot import this module
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        working = ahead.Ahead(importlib.import_module("preparing_slowly").slowly, "cuda:0", 4)
        list(working.batches(pa.array([png(n) for n in range(128)], pa.binary()), 128))  # the processes are there
        yield working
        working.close()


def test_pictures_are_prepared_while_the_device_computes(slow):
    """When the first of four batches is there, at most 23 of the 32 tasks of 16 pictures have been given out."""
    images = pa.array([png(n) for n in range(512)], pa.binary())
    began, computing = [], []
    for _, arrays, _ in slow.batches(images, 128):
        began += arrays[:, 0].tolist()
        computing.append(time.monotonic())
        time.sleep(0.1)
    during = sum(computing[0] < moment < computing[-1] for moment in began)
    assert len(began) == 512
    assert during >= 128, f"{during} of 512"


def test_the_next_call_is_begun_before_it_comes(slow):
    """Of its 16 tasks, as many as are under way at once but one: 8 of a batch and 8 more for four processes."""
    one, two, three = (pa.array([png(n + start) for n in range(256)], pa.binary()) for start in (0, 300, 600))
    slow.expect(two, 128)
    assert sum(len(rows) for rows, *_ in slow.batches(one, 128)) == 256
    futures.wait(slow._under_way, timeout=60)  # while the device computes the last batch
    slow.expect(three, 128)
    called = time.monotonic()
    began = np.concatenate([arrays[:, 0] for _, arrays, _ in slow.batches(two, 128)])
    assert len(began) == 256
    assert (began < called).sum() == 15 * 16


def test_what_comes_need_not_be_what_was_expected():
    values = [png(n) for n in range(600)]
    working = ahead.Ahead(np.asarray, "cpu", 1)
    try:
        for low, expected in ((0, 200), (200, 0), (400, 400), (400, 200), (0, 200), (200, None)):
            if expected is not None:
                working.expect(pa.array(values[expected : expected + 200]), 64)
            batches = list(working.batches(pa.array(values[low : low + 200]), 64))
            pixels = np.concatenate([arrays for _, arrays, _ in batches])
            assert (pixels[:, 0, 0, 0] + 256 * pixels[:, 0, 0, 1].astype(int)).tolist() == list(range(low, low + 200))
        working.expect(pa.array(values[200:400]), 64)
        next(working.batches(pa.array(values[:200]), 64))  # and no more of them, as where the device fails
        rows, arrays, _ = next(working.batches(pa.array(values[200:400]), 64))
        assert rows == list(range(64))
        assert arrays[0, 0, 0].tolist() == [200, 0, 7]
    finally:
        working.close()


def test_functions_of_pictures_take_what_comes_as_they_are_called():
    pytest.importorskip("torch")
    made = {name: f.call for name, f in functions().items() if hasattr(f.call, "expect")}
    assert {
        "embed_image",
        "clip_score",
        "classify_zero_shot",
        "detect",
        "detect_people",
        "ask",
        "caption_person",
    } <= set(made)
    for name, call in made.items():
        assert inspect.signature(call.expect).parameters.keys() == inspect.signature(call.__call__).parameters.keys(), (
            name
        )
