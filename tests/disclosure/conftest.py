"""A lake with planted values: whatever is closed in it holds ``MARK``, and what is open ``OPEN``."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.catalog import definitions
from counterbalance.engine.catalog.definitions import Definition
from counterbalance.engine.store import tables

WHY = "a test of closed columns"
BROKEN = {"after": 10**9}


@cb.udf(returns=pa.string(), parameters={"text": pa.string()}, version="1")
def perceived_mark(text: pa.Array) -> list[str]:
    """A stand-in for a classifier; it fails for texts that say so, and tells a label when it does."""
    for one in text.to_pylist():
        if "broken" in one:
            raise ValueError(f"MARKtold of {one}")
    return ["MARKcolumn" for _ in text]


@cb.udf(returns=pa.string(), parameters={"text": pa.string()}, version="1", batch_size=1)
def breaks_later(text: pa.Array) -> list[str]:
    """A stand-in that breaks for good after some rows."""
    BROKEN["after"] -= len(text)
    if BROKEN["after"] < 0:
        raise RuntimeError("MARKbroken for good")
    return ["MARKspooled" for _ in text]


@cb.udf(returns=pa.string(), parameters={"text": pa.string()}, version="1")
def forgets_one(text: pa.Array) -> pa.Array:
    """A stand-in that returns a value too few."""
    return text[1:]


@pytest.fixture
def why():
    """A purpose."""
    return WHY


@pytest.fixture
def open_folder():
    """A folder that every user of the machine can read."""
    folder = Path(tempfile.mkdtemp(prefix="counterbalance-open-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def marked(_marked, open_folder):
    """40 images, captions and perceived labels on a disk; nothing is declared."""
    return _copied(_marked, open_folder)


@pytest.fixture
def closed(_closed, open_folder):
    """The same with a closed view ``pg``, a closed column of captions, indexes on both, and what refreshes left behind."""
    return _copied(_closed, open_folder)


def _copied(lake, folder):
    return cb.connect(shutil.copytree(lake.location.path, folder / "test.lake"))


@pytest.fixture(scope="session")
def _marked(build, tmp_path_factory):
    ids = list(range(1, 41))
    lake = cb.connect(tmp_path_factory.mktemp("marked") / "test.lake")
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(
                caption_id=ids,
                image_id=ids,
                text=[f"OPEN caption {i}{' is broken' if i == 7 else ''}" for i in ids],
                origin=["human"] * 40,
            ),
            "labels": build.labels(
                label_id=ids,
                image_id=ids,
                attribute=["perceived_gender"] * 40,
                value=[f"MARKlabel{i % 2}" for i in ids],
                annotator=["x"] * 40,
            ),
        }
    )
    return lake


@pytest.fixture(scope="session")
def _closed(_marked, tmp_path_factory):
    marked = _copied(_marked, tmp_path_factory.mktemp("closed"))
    marked.create_materialized_view("pg", "SELECT label_id, image_id, value FROM labels", "label_id", purpose=WHY)
    marked.add_column("pg", "shout", "upper(value)", purpose=WHY)
    marked.add_column("captions", "perceived_gender", "perceived_mark(text)")
    marked.create_index("pg", "value", "bitmap", name="pg_value")
    marked.create_index("captions", "perceived_gender", "btree", name="captions_gender")
    marked.refresh(executor="inline", batch_size=1)
    return marked


@pytest.fixture(scope="session")
def store_closed():
    """Store rows of a closed view, as they are declared and refreshed, at less cost."""

    def store(lake, name, columns, key):
        tables.append(lake.location, name, pa.table(columns))
        select = f"SELECT * FROM {name}_before WHERE EXISTS (FROM labels)"
        definitions.declare(lake.location, Definition("view", name, name, select, key=(key,), sensitive=True))

    return store


@pytest.fixture
def seen_by_others(open_folder, spawn):
    """What another user of the machine finds of a text in the lake; needs root, to become that user."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")

    def find(text):
        out, err = spawn("read_as_another_user", open_folder, text).communicate(timeout=300)
        assert out, err
        return json.loads(out)

    return find


@pytest.fixture
def break_later():
    """Have ``breaks_later`` break after some rows."""

    def after(rows):
        BROKEN["after"] = rows

    yield after
    BROKEN["after"] = 10**9
