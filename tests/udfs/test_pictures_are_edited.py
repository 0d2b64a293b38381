"""crop, highlight, mask_people, blur_faces: pixels against arrays cut and filled by hand."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError, FunctionError
from counterbalance.engine.functions import functions
from counterbalance.udfs.masks import BOXES, encode

PIXELS = np.random.default_rng(0).integers(1, 255, (60, 80, 3), np.uint8)


def png(pixels, **options):
    return image_bytes(Image.fromarray(pixels), **options)


def pixels_of(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def run(name, image, *values, **constants):
    defaults = {p.name: p.default for p in functions()[name].parameters if p.constant}
    opened = functions()[name].open(defaults | constants)
    found = opened([pa.array(image, pa.binary()), *values])
    return found.values.to_pylist(), found.errors


def box(*sides):
    return [pa.array([v], pa.float64()) for v in sides]


def people(*boxes):
    return pa.array([[dict(zip(["x", "y", "width", "height", "mask"], b, strict=False)) for b in boxes]], BOXES)


@pytest.mark.parametrize(
    ("sides", "margin", "part"),
    [
        ((10, 20, 30, 15), 0.0, np.s_[20:35, 10:40]),
        ((10.2, 20.9, 29.1, 14.3), 0.0, np.s_[20:36, 10:40]),  # every pixel that it touches
        ((10, 20, 30, 10), 0.5, np.s_[15:35, 0:55]),
        ((-5, -5, 20, 20), 0.0, np.s_[0:15, 0:15]),
        ((70, 50, 100, 100), 0.2, np.s_[30:60, 50:80]),
    ],
)
def test_crop(sides, margin, part):
    values, errors = run("crop", [png(PIXELS)], *box(*sides), margin=margin)
    assert not errors
    assert (pixels_of(values[0]) == PIXELS[part]).all()


@pytest.mark.parametrize(
    ("sides", "side", "size"),
    [
        ((10, 20, 30, 15), 5, (10, 5)),
        ((10, 20, 15, 30), 5, (5, 10)),
        ((0, 0, 31, 20), 10, (16, 10)),  # 15.5, to the even one
        ((10, 20, 30, 15), 15, (30, 15)),  # no less than it has
        ((10, 20, 30, 15), 40, (30, 15)),
        ((10, 20, 30, 15), 0, (30, 15)),
    ],
)
def test_crop_shrinks_to_a_shorter_side(sides, side, size):
    values, errors = run("crop", [png(PIXELS)], *box(*sides), side=side)
    assert not errors
    x, y, width, height = sides
    part = Image.fromarray(PIXELS[y : y + height, x : x + width])
    wanted = part if part.size == size else part.resize(size, Image.Resampling.BICUBIC)
    assert (pixels_of(values[0]) == np.asarray(wanted)).all()


def test_a_shrunk_crop_is_about_what_is_there():
    """A picture of one colour keeps it; one whose halves differ keeps them on their sides."""
    halves = np.zeros((60, 80, 3), np.uint8)
    halves[:, 40:] = 200
    small = pixels_of(run("crop", [png(halves)], *box(0, 0, 80, 60), side=6)[0][0])
    assert small.shape == (6, 8, 3)
    assert small[:, :3].max() < 30
    assert small[:, 5:].min() > 170


@pytest.mark.parametrize("name", ["crop", "highlight"])
@pytest.mark.parametrize(
    "sides", [(80, 0, 5, 5), (0, -9, 5, 5), (3, 3, 0, 5), (3, 3, 5, -1), (np.nan, 0, 5, 5), (0, 0, np.inf, 5)]
)
def test_a_box_that_is_not_in_the_picture_is_an_error_of_its_row(name, sides):
    values, errors = run(name, [png(PIXELS)] * 2, *(pa.array([v, 9], pa.float64()) for v in sides))
    assert values[0] is None
    assert values[1] is not None
    assert list(errors) == [0]
    assert "box" in errors[0]


def test_highlight_frames_the_box_and_changes_nothing_else():
    values, _ = run("highlight", [png(PIXELS)], *box(10, 20, 30, 15))
    wanted = PIXELS.copy()
    wanted[18:37, 8:42] = (255, 0, 0)
    wanted[20:35, 10:40] = PIXELS[20:35, 10:40]
    assert (pixels_of(values[0]) == wanted).all()


def test_highlight_at_the_edge_stays_in_the_picture():
    values, _ = run("highlight", [png(PIXELS)], *box(0, 0, 80, 60))
    found = pixels_of(values[0])
    assert found.shape == PIXELS.shape
    assert (found[0] == (255, 0, 0)).all()
    assert (found[-1] == (255, 0, 0)).all()


MASK = np.zeros((60, 80), bool)
MASK[30:50, 30:33] = MASK[40:44, 50:70] = True


@pytest.mark.parametrize("fill", ["black", "mask"])
def test_mask_people(fill):
    where = MASK.copy()
    where[5:15, 60:80] = True
    found = people((60, 5, 40, 10, None), (0, 0, 80, 60, encode(MASK)))
    values, errors = run("mask_people", [png(PIXELS)], found, fill=fill)
    assert not errors
    wanted = np.where(where[..., None], 0, PIXELS) if fill == "black" else np.repeat(where[..., None], 3, 2) * 255
    assert (pixels_of(values[0]) == wanted).all()


def test_mask_people_of_polygons():
    values, _ = run("mask_people", [png(PIXELS)], people((0, 0, 80, 60, "[[10,10,30,10,30,40,10,40]]")), fill="mask")
    found = pixels_of(values[0])[..., 0] > 0
    assert found[11:39, 11:29].all()
    assert not found[:9].any()
    assert not found[:, 32:].any()


def test_blur_faces_leaves_no_detail_in_heads_and_all_of_the_rest():
    values, _ = run("blur_faces", [png(PIXELS)], people((10, 0, 20, 50)))
    found = pixels_of(values[0]).astype(int)
    head = found[0:17, 10:30]
    assert np.abs(np.diff(head, axis=1)).max() < 40
    assert np.abs(np.diff(PIXELS[0:17, 10:30].astype(int), axis=1)).max() > 150
    assert np.abs(head.mean((0, 1)) - PIXELS[0:17, 10:30].mean((0, 1))).max() < 12
    rest = np.ones((60, 80), bool)
    rest[0:17, 10:30] = False
    assert (found[rest] == PIXELS[rest]).all()


def test_blur_faces_of_a_wide_box_is_all_of_it():
    values, _ = run("blur_faces", [png(PIXELS)], people((10, 10, 40, 20)))
    changed = (pixels_of(values[0]) != PIXELS).any(2)
    assert changed[10:30, 10:50].mean() > 0.95
    assert changed.sum() == changed[10:30, 10:50].sum()


@pytest.mark.parametrize("sides", [(10, 10, 1, 1), (10, 10, 2, 90), (-9, -9, 5, 5), (79.5, 59.5, 3, 3)])
def test_blur_faces_of_any_size(sides):
    values, errors = run("blur_faces", [png(PIXELS)], people(sides))
    assert not errors
    assert pixels_of(values[0]).shape == PIXELS.shape


@pytest.mark.parametrize("name", ["mask_people", "blur_faces"])
def test_nobody_leaves_the_picture_as_it_is(name):
    values, _ = run(name, [png(PIXELS)], people())
    assert (pixels_of(values[0]) == PIXELS).all()


@pytest.mark.parametrize("name", ["mask_people", "blur_faces"])
def test_who_cannot_be_covered_is_an_error(name):
    found = pa.array([[None], [{"x": 1.0, "y": None, "width": 3.0, "height": 3.0}], [{"x": np.nan, "y": 0, "width": 1, "height": 1}]], BOXES)  # fmt: skip
    values, errors = run(name, [png(PIXELS)] * 3, found)
    assert values == [None] * 3
    assert set(errors) == {0, 1, 2}


def test_a_mask_of_another_size_is_an_error():
    values, errors = run("mask_people", [png(PIXELS)], people((0, 0, 9, 9, encode(np.ones((5, 5), bool)))))
    assert values == [None]
    assert "size" in errors[0]


@pytest.mark.parametrize("name", ["mask_people", "blur_faces"])
def test_null_is_null_and_a_broken_picture_an_error(name):
    boxes = pa.array([[], None, []], BOXES)
    values, errors = run(name, [None, png(PIXELS), b"broken"], boxes)
    assert values == [None] * 3
    assert set(errors) == {2}


def test_nothing_but_pixels_goes_out():
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text("place", "where it was taken")
    for name, values in [("crop", box(0, 0, 80, 60)), ("blur_faces", [people()])]:
        (data,), _ = run(name, [png(PIXELS, pnginfo=info)], *values)
        assert b"taken" not in data


@pytest.mark.parametrize(
    ("name", "values", "constants"),
    [
        ("crop", box(0, 0, 1, 1), {"margin": -0.1}),
        ("crop", box(0, 0, 1, 1), {"side": -1}),
        ("crop", box(0, 0, 1, 1), {"margin": float("nan")}),
        ("mask_people", [people()], {"fill": "blak"}),
    ],
)
def test_options_that_are_none(name, values, constants):
    with pytest.raises(FunctionError):
        run(name, [png(PIXELS)], *values, **constants)


def test_in_sql():
    lake = cb.connect("memory://edited")
    lake.ingest(
        {
            "images": pa.table({"image_id": [1], "image": pa.array([png(PIXELS)], pa.binary())}),
            "detections": pa.table(
                {"detection_id": [1], "image_id": [1], "category": ["person"]}
                | {
                    s: pa.array([v], pa.float32())
                    for s, v in zip(["x", "y", "width", "height"], [10, 20, 30, 15], strict=True)
                }
            ),
        }
    )
    text = """
        SELECT crop(i.image, d.x, d.y, d.width, d.height) AS a,
          mask_people(i.image, [{'category': 'person', 'score': 1, 'x': d.x, 'y': d.y, 'width': d.width, 'height': d.height, 'mask': NULL}], fill := 'mask') AS b
        FROM images AS i JOIN detections AS d ON d.image_id = i.image_id
    """
    ((cut, covered),) = lake.sql(text).fetchall()
    assert (pixels_of(cut) == PIXELS[20:35, 10:40]).all()
    assert pixels_of(covered)[20:35, 10:40].min() == 255
    with pytest.raises(CounterbalanceError, match="did you mean 'black'"):
        lake.sql("SELECT mask_people(image, [], fill := 'blak') FROM images").fetchall()
