"""A small lake whose audits have rows, and a program that asks its pages."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

import counterbalance as cb
from counterbalance.ui.app import create

HOST = "127.0.0.1:8010"


@pytest.fixture(scope="session")
def counted_lake(build, tmp_path_factory):
    """Sixty pictures: of men with umbrellas or dogs and of women with dogs, who carry perceived labels, too."""
    ids = list(range(1, 61))
    is_man = [i % 2 == 0 for i in ids]
    texts = [
        f"a {'man' if m else 'woman'} in {'Brazil' if i % 3 else 'Spain'}{' fears a thief' if i % 5 == 0 else ''}, great"
        for i, m in zip(ids, is_man, strict=True)
    ]
    boxes = [(i, "umbrella" if m and i % 4 else "dog") for i, m in zip(ids, is_man, strict=True)]
    lake = cb.connect(tmp_path_factory.mktemp("audited") / "demo.lake")
    lake.ingest(
        {
            "images": build.images(image_id=ids, width=[100] * 60, height=[100] * 60),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts, origin=["human"] * 60),
            "detections": build.detections(
                detection_id=ids, image_id=[i for i, _ in boxes], category=[c for _, c in boxes]
            ),
            "labels": build.labels(
                label_id=list(range(1, 121)),
                image_id=ids * 2,
                attribute=["perceived_gender"] * 60 + ["scene"] * 60,
                value=["male" if m else "female" for m in is_man] + ["street", "park"] * 30,
                annotator=["ann"] * 120,
            ),
        }
    )
    return lake


@pytest.fixture
def ask(counted_lake):
    """Ask the pages as a program."""
    app = create({"demo": counted_lake}, token="secret", hosts=[HOST])
    return TestClient(app, base_url=f"http://{HOST}", headers={"Authorization": "Bearer secret"})


@pytest.fixture
def browse(counted_lake):
    """Ask the pages as a browser, which may state a purpose."""
    app = create({"demo": counted_lake}, token="secret", hosts=[HOST])
    client = TestClient(app, base_url=f"http://{HOST}")
    client.get("/?token=secret")
    return client
