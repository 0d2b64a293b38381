"""swap_face: another face within an ellipse, in the old one's colours; not a bit changes outside of it."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from image_files import image_bytes
from PIL import Image

from counterbalance.engine import provenance
from counterbalance.engine.functions import functions
from counterbalance.engine.images import read_xmp

PIXELS = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
FACE = np.random.default_rng(1).integers(0, 256, (40, 40, 3), np.uint8)


def png(pixels):
    return image_bytes(Image.fromarray(np.asarray(pixels, np.uint8)))


def run(images, boxes, faces):
    sides = [pa.array([None if b is None else b[i] for b in boxes], pa.float64()) for i in range(4)]
    found = functions()["swap_face"].open({})([pa.array(images, pa.binary()), *sides, pa.array(faces, pa.binary())])
    return found.values.to_pylist(), found.errors


def swap(box, face=FACE, pixels=PIXELS):
    (data,), errors = run([png(pixels)], [box], [png(face)])
    assert not errors
    return np.asarray(Image.open(io.BytesIO(data)))


def outside(box):
    """Pixels whose middle lies outside the ellipse of a box."""
    x, y, width, height = box
    across = (np.arange(80) + 0.5 - x) / width * 2 - 1
    down = (np.arange(60) + 0.5 - y) / height * 2 - 1
    return across[None] ** 2 + down[:, None] ** 2 >= 1


@given(box=st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(1, 20), st.integers(1, 20)))
def test_nothing_changes_outside_the_ellipse(box):
    changed = (swap(box) != PIXELS).any(-1)
    assert not changed[outside(box)].any()


def test_the_new_face_is_inside():
    found = swap((20, 10, 40, 40))
    changed = (found != PIXELS).any(-1)
    assert changed[~outside((20, 10, 40, 40))].mean() > 0.95
    middle = np.s_[20:40, 30:50]
    for channel in range(3):  # a linear map of the face, whatever its colours were
        new, put = FACE[10:30, 10:30, channel].ravel(), found[middle][..., channel].ravel()
        clipped = (put == 0) | (put == 255)
        assert np.corrcoef(new[~clipped], put[~clipped])[0, 1] > 0.999


def test_colours_become_those_of_the_old_face():
    """Means and deviations: a dim, blue place makes a bright, red face dim and blue."""
    rng = np.random.default_rng(2)
    place = np.clip(rng.normal((40, 60, 120), (5, 5, 10), (60, 80, 3)), 0, 255).astype(np.uint8)
    face = np.clip(rng.normal((200, 120, 90), (20, 20, 20), (40, 40, 3)), 0, 255).astype(np.uint8)
    inside = np.s_[25:35, 35:45]
    found = swap((20, 10, 40, 40), face, place)[inside].reshape(-1, 3)
    assert np.abs(found.mean(0) - place.reshape(-1, 3).mean(0)).max() < 4
    assert np.abs(found.std(0) - place.reshape(-1, 3).std(0)).max() < 4


def test_the_same_face_is_the_same_picture():
    """Cut out and put back: nothing to match, and the mixture of equal parts is the part."""
    box = (13, 7, 33, 41)
    assert (swap(box, PIXELS[7:48, 13:46]) == PIXELS).all()


def test_a_face_of_one_colour_takes_the_mean():
    place = np.zeros((60, 80, 3), np.uint8)
    place[:, ::2] = 100
    found = swap((20, 10, 40, 40), np.full((9, 9, 3), 222), place)
    assert (found[28:32, 38:42] == 50).all()


def test_the_edge_is_soft():
    place, face = np.zeros((60, 80, 3), np.uint8), np.zeros((40, 40, 3), np.uint8)
    place[10:50, 20:40], face[:, 20:] = 200, 200  # the two halves are exchanged, means and deviations are not
    row = swap((20, 10, 40, 40), face, place)[30, :40, 0].astype(int)
    ramp = row[20:25]
    assert (np.diff(ramp) < 0).all()
    assert 150 < ramp[0] < 200
    assert row[25] == 0
    assert row[19] == 0


def test_a_face_is_cut_to_the_shape_of_the_box():
    """Around its middle, not squeezed."""
    face = np.zeros((40, 120, 3), np.uint8)
    face[:, 40:80] = np.random.default_rng(5).integers(0, 256, (40, 40, 3))
    assert (swap((20, 10, 40, 40), face) == swap((20, 10, 40, 40), face[:, 40:80])).all()


def test_a_box_that_reaches_out_is_cut():
    assert (swap((60, 40, 50, 90)) == swap((60, 40, 20, 20))).all()


def test_the_picture_says_what_it_is():
    (data,), _ = run([png(PIXELS)], [(10, 10, 9, 9)], [png(FACE)])
    source = provenance.parse(read_xmp(data))
    assert source.type == "compositeCapture"
    assert source.software.startswith("counterbalance ")
    assert source.model is source.prompt is source.seed is None


def test_rows_without_a_result():
    picture, face, box = png(PIXELS), png(FACE), (10, 10, 9, 9)
    images = [None, picture, picture, b"no", picture, picture, picture]
    boxes = [box, None, box, box, box, (90, 0, 5, 5), box]
    faces = [face, face, None, face, b"no", face, face]
    values, errors = run(images, boxes, faces)
    assert [v is None for v in values] == [True] * 6 + [False]
    assert set(errors) == {3, 4, 5}
    assert "no box" in errors[5]
