"""A lake that is sent to another process is opened there anew, with its place and its storage options."""

from __future__ import annotations

import importlib.util
import json
import pickle  # noqa: TID251 - multiprocessing's own way

import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.errors import RequestError


@pytest.mark.thorough
@pytest.mark.parametrize("library", ["torch", *again("")])
def test_spawned_workers_read_it(library, disk_lake, build, spawn):
    if library and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    texts = [f"text {i}" for i in range(4)]
    rows = build.captions(caption_id=range(4), image_id=[1] * 4, text=texts)
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"]), "captions": rows})
    out, err = spawn("lake_in_workers", disk_lake.uri, library or "none").communicate(timeout=300)
    found = json.loads(out) if out else err
    assert found["pool"] == [[texts, disk_lake.uri, {"some_option": "1"}]] * 2
    assert found["loader"] == (texts if library else None)


def test_nothing_but_its_place_goes_along():
    lake = cb.connect("s3://bucket/a.lake", {"aws_region": "eu"})
    made = pickle.loads(pickle.dumps(lake))
    assert (made.uri, dict(made.location.storage_options)) == (lake.uri, {"aws_region": "eu"})


def test_a_lake_in_memory_stays(empty_lake):
    with pytest.raises(RequestError, match="this process only") as caught:
        pickle.dumps(empty_lake)
    assert caught.value.code == "E3013"
