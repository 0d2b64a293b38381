"""Large files are streamed: memory does not grow with the file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, re, sys, time
from pathlib import Path
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read
def high_water():  # of this program alone; ru_maxrss keeps what the parent had before exec
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = high_water()
source = read(sys.argv[1], ReadOptions())
started, rows, rejects = time.perf_counter(), {}, 0
for chunk in source.chunks:
    rejects += len(chunk.rejects)
    for name, table in chunk.tables.items():
        rows[name] = rows.get(name, 0) + table.num_rows
seconds = time.perf_counter() - started
peak = high_water()
print(json.dumps({"rows": rows, "rejects": rejects, "seconds": seconds, "before": before >> 10, "peak": peak >> 10}))
"""


def write(path, size, annotation, extra=""):
    """A file of about ``size`` bytes: many images, then many annotations, the categories last."""
    image = {"license": 1, "file_name": "000000397133.jpg", "height": 427, "width": 640, "id": 397133}
    image |= {
        "coco_url": "http://images.cocodataset.org/val2017/000000397133.jpg",
        "date_captured": "2013-11-14 17:02:52",
    }
    counts = []
    with path.open("w") as file:
        file.write('{"info": {"description": "Made"}, "licenses": [{"id": 1, "name": "CC BY"}]')
        for name, item, share in (("images", image, 0.2), ("annotations", annotation, 0.8)):
            text = json.dumps(item)
            block = ", ".join([text] * 1000)
            blocks = max(1, int(size * share / len(block)))
            file.write(f', "{name}": [')
            for i in range(blocks):
                file.write(block if i == 0 else ", " + block)
            file.write(f"{extra if name == 'annotations' else ''}]")
            counts.append(1000 * blocks)
        file.write(', "categories": [{"id": 1, "name": "person"}]}')
    return counts


def measure(path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], capture_output=True, text=True, check=True, cwd=path.parent
    )
    found = json.loads(done.stdout)
    speed = path.stat().st_size / 1e6 / found["seconds"]
    print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB, {speed:.0f} MB/s, peak {found['peak']} MiB")  # noqa: T201
    return found


CAPTION = {"image_id": 397133, "id": 70, "caption": "A man is in a kitchen making pizzas on a large wooden table."}
POLYGON = [[round(300 + 7.31 * i % 97, 2) for i in range(60)]]
BOX = {
    "image_id": 397133,
    "id": 7,
    "category_id": 1,
    "bbox": [217.62, 240.54, 38.99, 57.75],
    "area": 1481.38,
    "iscrowd": 0,
}


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["captions", "instances"])
def test_memory_does_not_grow_with_the_file(tmp_path, kind):
    annotation = CAPTION if kind == "captions" else {**BOX, "segmentation": POLYGON}
    table = "captions" if kind == "captions" else "detections"
    peaks = {}
    for size in (20, 200):
        path = tmp_path / f"{kind}_{size}.json"
        images, annotations = write(path, size * 1_000_000, annotation, ", " + json.dumps({**annotation, "id": None}))
        found = measure(path)
        path.unlink()
        assert found["rows"] == {"images": images, table: annotations}
        assert found["rejects"] == 1
        peaks[size] = found["peak"]
    assert peaks[200] < 600
    assert peaks[200] < peaks[20] + 250
