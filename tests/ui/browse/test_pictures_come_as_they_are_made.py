"""A picture of a page is shown as soon as it is made: it does not wait for the others that are made with it."""

from __future__ import annotations

import asyncio
import threading

from counterbalance.ui import thumbnails


def test_the_first_does_not_wait_for_the_last(pictured, picture, request_of, monkeypatch):
    request = request_of(pictured(*map(picture, range(3))))
    shown, last, real = threading.Event(), picture(2), thumbnails.jpeg

    def jpeg(data, *how):
        assert data != last or shown.wait(30)
        return real(data, *how)

    monkeypatch.setattr(thumbnails, "jpeg", jpeg)

    async def page():
        made = thumbnails.Thumbnails()
        coming = [asyncio.create_task(made.get(request, image, 160)) for image in (1, 2, 3, 4)]
        found = await asyncio.wait_for(coming[0], 20)
        shown.set()
        return [found, *await asyncio.gather(*coming[1:])]

    found = asyncio.run(page())
    assert all(found[:3])
    assert found[3] is None
