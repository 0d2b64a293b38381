"""Pictures of images by id and size: decoded, made small, encoded anew, and kept; never the bytes as they are stored."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import re
import secrets
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.routing import Route

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.images import ImageError, decode
from counterbalance.engine.store import tables
from counterbalance.report import pictures
from counterbalance.ui.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from starlette.requests import Request

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

SIDES: Final = (160, 320, 640, 1280)
"""Longer sides that can be asked for, in pixels."""
_QUALITY: Final = 80
_KNOWN: Final = 100_000
"""Images of which is remembered what they are, at most."""
_GATHER: Final = 0.004
"""Seconds that a picture waits for others that are asked for at once: they are read together."""
_SERVER: Final = secrets.token_hex(8)
_ID: Final = re.compile(r"-?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Known:
    """What an image is, in a version of a lake.

    Args:
        digest: Of what its picture is made of.
        is_safe: Whether it is shown to those who did not ask for unsafe ones.
        is_broken: Whether it has no picture that can be decoded.
    """

    digest: str
    is_safe: bool
    is_broken: bool = False

    def name(self, side: int, *, blur: bool) -> str:
        """Return what tells its thumbnails apart."""
        return f"{self.digest}.{side}{'b' if blur else ''}"


@dataclass(frozen=True, slots=True)
class Shape:
    """Which thumbnails of which state of a lake: those of one kind are made together."""

    root: str
    versions: tuple[int | None, ...]
    side: int
    blur: bool


class Thumbnails:
    """Makes thumbnails, several at once, and remembers them."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._known: OrderedDict[tuple[str, tuple[int | None, ...], int], Known | None] = OrderedDict()
        self._swept: dict[str, int | None] = {}
        self._waiting: dict[Shape, dict[int, asyncio.Future[bytes | None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._making: dict[tuple[Shape, int], asyncio.Future[bytes | None]] = {}

    async def get(
        self, request: Request, image_id: int, side: int, *, blur: bool = False, unsafe: bool = False
    ) -> tuple[bytes, str] | None:
        """Return a JPEG and what it was made of; nothing where there is no such image, or no picture of it.

        Args:
            request: Whose lake.
            image_id: Which.
            side: One of ``SIDES``.
            blur: Blur heads, as the report does.
            unsafe: Also one that its source does not call safe.
        """
        lake = request.app.state.place.lake(request)
        shape, known, data = await asyncio.to_thread(self._found, lake, image_id, side, blur)
        if data is None and not (known is not None and known.is_broken):
            data = await self._made(request, shape, [image_id])[0]
            known = self._remembered(shape, image_id)
        if data is None or known is None or not (known.is_safe or unsafe):
            return None
        return data, known.name(side, blur=blur)

    async def ahead(self, request: Request, images: Sequence[int], side: int, *, blur: bool = False) -> None:
        """Make thumbnails that will be asked for."""
        shape = await asyncio.to_thread(_shape, request.app.state.place.lake(request), side, blur=blur)
        await asyncio.gather(*self._made(request, shape, [i for i in images if self._remembered(shape, i) is None]))

    def _found(self, lake: Lake, image_id: int, side: int, blur: bool) -> tuple[Shape, Known | None, bytes | None]:
        """Return a thumbnail as far as it was made before."""
        shape = _shape(lake, side, blur=blur)
        known = self._remembered(shape, image_id)
        if known is None or known.is_broken:
            return shape, known, None
        return shape, known, self._of(shape.root).read(image_id, known.name(side, blur=blur))

    def _of(self, root: str) -> Kept:
        return self._kept.setdefault(root, Kept(root))

    def _remembered(self, shape: Shape, image_id: int) -> Known | None:
        return self._known.get((shape.root, shape.versions, image_id))

    def _made(self, request: Request, shape: Shape, images: Iterable[int]) -> list[asyncio.Future[bytes | None]]:
        """Return pictures to come, of one kind together."""
        loop = asyncio.get_running_loop()
        found = []
        for image in images:
            if (future := self._making.get((shape, image))) is None:
                future = self._making[shape, image] = loop.create_future()
                if shape not in self._waiting:
                    self._waiting[shape] = {}
                    task = loop.create_task(self._make(request, shape))
                    self._tasks.add(task)  # a loop forgets those that nobody holds
                    task.add_done_callback(self._tasks.discard)
                self._waiting[shape][image] = future
            found.append(asyncio.shield(future))
        return found

    async def _make(self, request: Request, shape: Shape) -> None:
        await asyncio.sleep(_GATHER)
        futures, loop = self._waiting.pop(shape), asyncio.get_running_loop()

        def told(image: int, known: Known | None, data: bytes | None) -> None:
            self._known[shape.root, shape.versions, image] = known
            futures[image].set_result(data)

        def tell(image: int, known: Known | None, data: bytes | None) -> None:
            loop.call_soon_threadsafe(told, image, known, data)

        try:
            work = partial(self._work, shape=shape, images=list(futures), tell=tell)
            await request.app.state.place.ask(request, work, watched=False, plain=True)
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            for future in futures.values():
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # it is no news where nobody waits any more
        finally:
            while len(self._known) > _KNOWN:
                self._known.popitem(last=False)
            for image in futures:
                del self._making[shape, image]

    def _work(
        self,
        lake: Lake,
        session: Session,
        *,
        shape: Shape,
        images: Sequence[int],
        tell: Callable[[int, Known | None, bytes | None], object],
    ) -> None:
        """Tell of each image what it is, and its thumbnail, as soon as that is made: on all cores, for Pillow leaves Python's lock."""
        kept = self._of(lake.location.root)
        self._sweep(session, kept)
        rows = {
            row["image_id"]: row
            for row in session.sql(
                f"SELECT i.image_id, i.sha256, i.uri, i.width, i.height, {pictures.IS_SAFE} AS is_safe FROM images AS i "
                f"WHERE i.image_id IN ({', '.join(map(str, images))})"
            )
            .to_arrow()
            .to_pylist()
        }
        known = {i: Known(_digest(row, session.pinned, blur=shape.blur), row["is_safe"]) for i, row in rows.items()}
        missing = []
        for image in images:
            fact = known.get(image)
            data = None if fact is None else kept.read(image, fact.name(shape.side, blur=shape.blur))
            if fact is None or data is not None:
                tell(image, fact, data)
            else:
                missing.append(image)
        if not missing:
            return
        stored = pictures.stored_bytes(lake, session, missing)
        boxes = pictures.boxes_of(session, missing) if shape.blur else {}

        def make(image: int) -> None:
            row, fact = rows[image], known[image]
            frames = pictures.frames_of(boxes.get(image, []), row["width"], row["height"]) if shape.blur else None
            data = jpeg(stored.get(image), shape.side, frames)
            if data is not None:
                kept.write(image, fact.name(shape.side, blur=shape.blur), data)
            tell(image, replace(fact, is_broken=data is None), data)

        with ThreadPoolExecutor(os.cpu_count(), "counterbalance-pictures") as pool:
            list(pool.map(make, missing))  # what one raises is raised here

    def _sweep(self, session: Session, kept: Kept) -> None:
        """Remove thumbnails of images that are no more, once a version."""
        version = session.pinned.get("images")
        root = session.location.root
        if root in self._swept and self._swept[root] == version:
            return
        self._swept[root] = version
        images = kept.images()
        if images:
            import pyarrow as pa

            held = pa.table({"image_id": pa.array(sorted(images), pa.int64())})
            there = session.sql("SELECT image_id FROM images WHERE image_id IN (SELECT image_id FROM held)", held=held)
            kept.leave_out(images.difference(there.to_arrow()["image_id"].to_pylist()))


def _shape(lake: Lake, side: int, *, blur: bool) -> Shape:
    """Return what is asked for, in the newest versions: a picture is shown as long as its image is there, and no longer."""
    names = ("images", "detections") if blur else ("images",)
    return Shape(lake.location.root, tuple(tables.latest_version(lake.location, name) for name in names), side, blur)


def _digest(row: Mapping[str, object], versions: Mapping[str, int], *, blur: bool) -> str:
    """Return a digest of what a picture is made of: its bytes, or where it lies in which version, and boxes where it is blurred.

    A picture whose bytes nobody has told is made anew by the next server: the lake may be another one at this place by then.
    """
    parts = [
        row["sha256"] or (row["uri"], versions.get("images"), _SERVER),
        versions.get("detections") if blur else None,
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def jpeg(data: bytes | None, side: int, blurred: Sequence[pictures.Frame] | None = None) -> bytes | None:
    """Return a picture made small, or nothing where the bytes are none that is safe to decode."""
    try:
        picture = decode(data or b"", side=side)
    except ImageError:
        return None
    picture.thumbnail((side, side))
    picture.info.clear()  # comments, places and colour profiles stay behind
    if blurred is not None:
        pictures.blur_heads(picture, blurred)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=_QUALITY)
    return buffer.getvalue()


def whole(text: str) -> int | None:
    """Return the id that an address names, or nothing where it is none."""
    return int(text) if _ID.fullmatch(text) and -(1 << 63) <= int(text) < 1 << 63 else None


def number(text: str) -> int:
    """Return the id of the image that an address names.

    Raises:
        NotFoundError: It is none.
    """
    found = whole(text)
    if found is None:
        raise NotFoundError(f"no image {text[:40]!r}", code="E1057", hint="images go by the number in image_id")
    return found


def side_of(request: Request) -> int:
    """Return how large a picture is asked for.

    Raises:
        RequestError: Pictures are not made in that size.
    """
    asked = request.query_params.get("side", "320")
    if asked not in map(str, SIDES):
        raise RequestError(
            f"no pictures of side {asked[:40]!r}", code="E3743", hint=f"sides: {', '.join(map(str, SIDES))}"
        )
    return int(asked)


async def picture(request: Request) -> Response:
    """Show the picture of an image."""
    image_id, side = number(request.path_params["image_id"]), side_of(request)
    blur, unsafe = (request.query_params.get(name) == "1" for name in ("blur", "unsafe"))
    found = await request.app.state.thumbnails.get(request, image_id, side, blur=blur, unsafe=unsafe)
    if found is None:
        raise NotFoundError(
            f"no picture of image {image_id} to show",
            code="E1058",
            hint="it is not there, not stored, not to be decoded, or not called safe by its source",
        )
    data, name = found
    headers = {"cache-control": "private, no-cache", "etag": f'"{name}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type="image/jpeg", headers=headers)


ROUTES: Final = (Route("/api/lakes/{lake}/images/{image_id}/picture", picture),)
