"""What tests of the grid share: small pictures, lakes of them, and a client that is let in."""

from __future__ import annotations

import asyncio
import uuid
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from image_files import image_bytes
from PIL import Image
from starlette.testclient import TestClient

import counterbalance as cb
from counterbalance.ui.app import create

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from counterbalance.engine.lake import Lake

HOST = "127.0.0.1:8010"


@pytest.fixture
def serve() -> Callable[[Lake], TestClient]:
    """Return a client of pages about a lake, which goes by the name demo."""

    def client(lake: Lake) -> TestClient:
        app = create({"demo": lake}, token="secret", hosts=[HOST])
        return TestClient(app, base_url=f"http://{HOST}", headers={"Authorization": "Bearer secret"})

    return client


@pytest.fixture
def visit() -> Callable[[Lake], TestClient]:
    """Return a browser that came with the token: it may state a purpose."""

    def client(lake: Lake) -> TestClient:
        app = create({"demo": lake}, token="secret", hosts=[HOST])
        found = TestClient(app, base_url=f"http://{HOST}")
        assert found.get("/lakes/demo?token=secret").status_code == 200
        return found

    return client


def _picture(seed: int = 0, kind: str = "PNG", **more: Any) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    return image_bytes(Image.fromarray(np.kron(pixels, np.ones((10, 10, 1), dtype=np.uint8))), kind, **more)


@pytest.fixture(scope="session")
def picture() -> Callable[..., bytes]:
    """Return an encoded picture of 800 x 600 pixels: blurring shows as a loss of contrast."""
    return _picture


@pytest.fixture
def pictured(build: Any, picture: Callable[..., bytes]) -> Callable[..., Lake]:
    """Return a lake in memory, or in a folder, of the pictures that are given, numbered from 1."""

    def lake(*data: bytes | None, folder: Path | None = None, **columns: Any) -> Lake:
        made = cb.connect(folder or f"memory://browse-{uuid.uuid4().hex}")
        count = len(data)
        images = {"image_id": [*range(1, count + 1)], "width": [800] * count, "height": [600] * count, "image": [*data]}
        made.ingest({"images": build.images(**images, **columns)})
        return made

    return lake


@pytest.fixture
def request_of() -> Callable[[Lake], Any]:
    """Return what stands for a request of a lake's page, as far as thumbnails look at it."""

    def made(lake: Lake) -> Any:
        async def ask(_: Any, work: Callable[..., Any], **__: Any) -> Any:
            def run() -> Any:
                with lake.session() as session:
                    return work(lake, session)

            return await asyncio.to_thread(run)

        place = SimpleNamespace(lake=lambda _: lake, ask=ask)
        return SimpleNamespace(app=SimpleNamespace(state=SimpleNamespace(place=place)))

    return made
