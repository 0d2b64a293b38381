"""Sample pictures for the report: decoded, made small, blurred where asked, encoded again; never copied as they are."""

from __future__ import annotations

import base64
import io
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.sql.parse import as_text
from counterbalance.report.svg import plain
from counterbalance.udfs.pictures import HEAD_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PIL.Image import Image

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

THUMB: Final = 320
"""Longer side of a thumbnail in pixels."""
QUALITY: Final = 70
_BUDGET: Final = 300_000
"""Bytes of pictures after which no further one is taken: the page stays small enough to send."""
_SAFE: Final = "('unlikely', 'safe', 'false', 'no', '0')"
IS_SAFE: Final = f"(i.nsfw IS NULL OR lower(i.nsfw) IN {_SAFE})"
"""Of images ``i``: those that their source calls safe, or does not call anything."""
MAY_HAVE_ONE: Final = "(i.sha256 IS NOT NULL OR starts_with(i.uri, '/'))"
"""Of images ``i``: those whose picture is stored, or may lie in a folder of this machine."""
_SHOWN: Final = f"""\
SELECT i.image_id, i.width, i.height,
  (SELECT c.text FROM captions AS c WHERE c.image_id = i.image_id ORDER BY c.caption_id LIMIT 1) AS caption
FROM images AS i
WHERE {IS_SAFE}
  AND {MAY_HAVE_ONE}"""
BLURRED: Final = (
    "Blurred: the upper part of every person's box, and whole pictures for which the lake has no boxes. "
    "A person without a box can still be seen."
)
SAMPLE_SQL: Final = f"""\
{_SHOWN}
ORDER BY md5(CAST(i.image_id AS VARCHAR)), i.image_id
LIMIT $most"""
"""Pictures chosen by a hash of their id: the same ones every time, and no pick of ours."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A box, in parts of the picture's width and height, and what it is about."""

    category: str
    x: float
    y: float
    width: float
    height: float
    is_crowd: bool = False

    def head(self) -> Frame:
        """Return the part in which a face is looked for: the upper third of a standing person, all of a wide box."""
        if self.is_crowd or self.height <= self.width:
            return self
        return Frame(self.category, self.x, self.y, self.width, self.height * HEAD_SHARE)


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A thumbnail with its boxes.

    Args:
        image_id: Which picture.
        uri: ``data:image/jpeg;base64,…``.
        width: Pixels of the thumbnail.
        height: Pixels of the thumbnail.
        caption: Its first caption, as it came.
        frames: Its boxes.
    """

    image_id: int
    uri: str
    width: int
    height: int
    caption: str
    frames: Sequence[Frame]

    @property
    def tally(self) -> str:
        """Return its boxes in words, such as ``person (2), dog``."""
        counts = Counter(f"{f.category} crowd" if f.is_crowd else f.category for f in self.frames)
        return ", ".join(name if n == 1 else f"{name} ({n})" for name, n in counts.items())


def sample(lake: Lake, session: Session, most: int = 12, *, blur: bool = False) -> tuple[list[Thumbnail], list[str]]:
    """Return some pictures of the lake, and what must be said about them.

    Args:
        lake: The lake.
        session: Whose pinned versions are read.
        most: How many.
        blur: Blur the head of every person's box, and the whole picture where the lake knows no boxes of it.
    """
    rows = session.sql(SAMPLE_SQL, most=most).to_arrow().to_pylist()
    if not rows:
        return [], ["This lake has no pictures; ingest once more with --images FOLDER to see some here."]
    found, broken = _made(lake, session, rows, THUMB, blur=blur, most_bytes=_BUDGET)
    notes = [f"{broken} pictures could not be read and are left out."] if broken else []
    return list(found.values()), [*notes, BLURRED] if blur else notes


def of_images(
    lake: Lake,
    session: Session,
    ids: Sequence[int],
    *,
    side: int = THUMB,
    blur: bool = False,
    most_bytes: int = _BUDGET,
) -> dict[int, Thumbnail]:
    """Return thumbnails of images by id, as many of the first as the page has room for.

    Args:
        lake: The lake.
        session: Whose pinned versions are read.
        ids: Which; those that are not stored, not safe or not to be decoded are left out.
        side: Longer side in pixels.
        blur: As in ``sample``.
        most_bytes: After so many bytes of pictures no further one is taken.
    """
    if not ids:
        return {}
    place = {image: number for number, image in reversed(list(enumerate(ids)))}
    rows = session.sql(f"{_SHOWN}\n  AND i.image_id IN ({', '.join(map(str, place))})").to_arrow().to_pylist()
    return _made(
        lake, session, sorted(rows, key=lambda r: place[r["image_id"]]), side, blur=blur, most_bytes=most_bytes
    )[0]


def _made(
    lake: Lake, session: Session, rows: Sequence[Mapping[str, Any]], side: int, *, blur: bool, most_bytes: int
) -> tuple[dict[int, Thumbnail], int]:
    """Return thumbnails by id in the order of the rows, until there are enough bytes of them; and how many could not be decoded."""
    ids = [r["image_id"] for r in rows]
    if not ids:
        return {}, 0
    stored, boxes = stored_bytes(lake, session, ids), boxes_of(session, ids)
    found: dict[int, Thumbnail] = {}
    broken = size = 0
    for row in rows:
        picture = _decoded(stored.get(row["image_id"]))
        if picture is None:
            broken += 1
            continue
        frames = frames_of(boxes.get(row["image_id"], []), row["width"], row["height"])
        made = found[row["image_id"]] = _thumbnail(row, picture, frames, side, blur=blur)
        size += len(made.uri)
        if size > most_bytes:
            break
    return found, broken


def stored_bytes(lake: Lake, session: Session, ids: Sequence[int]) -> Mapping[int, bytes | None]:
    """Return encoded pictures by image id, in the versions that a session reads; those that lie elsewhere are read there."""
    from counterbalance.engine.store import pictures, tables

    version = session.versions.get("images")
    dataset = None if version is None else tables.open_table(lake.location, "images", version)
    if dataset is None or "image" not in dataset.schema.names:
        return {}
    wanted = ", ".join(str(i) for i in ids)
    found: dict[int, bytes | None] = {}
    for batch in pictures.scan(dataset, ["image_id", "image"], filter=f"image_id IN ({wanted})"):
        found |= dict(zip(batch["image_id"].to_pylist(), batch["image"].to_pylist(), strict=True))
    return found


def boxes_of(session: Session, ids: Sequence[int], categories: Sequence[str] = ()) -> dict[int, list[dict[str, Any]]]:
    """Return boxes by image id, of all categories or of some: category, x, y, width and height in pixels, is_crowd."""
    wanted = ", ".join(str(i) for i in ids)
    among = f"AND category IN ({', '.join(map(as_text, categories))}) " if categories else ""
    text = (
        "SELECT image_id, category, x, y, width, height, is_crowd FROM detections "
        f"WHERE image_id IN ({wanted}) {among}ORDER BY image_id, detection_id"
    )
    found: dict[int, list[dict[str, Any]]] = {}
    for row in session.sql(text).to_arrow().to_pylist():
        found.setdefault(row["image_id"], []).append(row)
    return found


def frames_of(rows: Sequence[Mapping[str, Any]], width: int | None, height: int | None) -> list[Frame]:
    """Return boxes in parts of a picture of that size, as far as they lie in it; none where the size is unknown."""
    if not width or not height:
        return []
    found = []
    for row in rows:
        sides = [row[side] for side in ("x", "y", "width", "height")]
        if None in sides:
            continue
        x, y, right, below = (
            _clamped(side)
            for side in (
                sides[0] / width,
                sides[1] / height,
                (sides[0] + sides[2]) / width,
                (sides[1] + sides[3]) / height,
            )
        )
        if right > x and below > y:
            found.append(Frame(plain(str(row["category"] or "?")), x, y, right - x, below - y, bool(row["is_crowd"])))
    return found


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, float(share)))


def _decoded(data: bytes | None) -> Image | None:
    """Return the pixels as RGB, or ``None`` when the bytes are not a picture that is safe to decode."""
    from counterbalance.engine.images import ImageError, decode

    try:
        return decode(data or b"", side=2 * THUMB)
    except ImageError:
        return None


def _thumbnail(row: Mapping[str, Any], picture: Image, frames: Sequence[Frame], side: int, *, blur: bool) -> Thumbnail:
    picture.thumbnail((side, side))
    picture.info.clear()  # comments, places and colour profiles stay behind
    if blur:
        blur_heads(picture, frames)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    uri = "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
    return Thumbnail(row["image_id"], uri, picture.width, picture.height, plain(row["caption"] or ""), frames)


def blur_heads(picture: Image, frames: Sequence[Frame]) -> None:
    """Blur the head of every person in place, or all of a picture without frames: nothing of a face stays in the pixels."""
    from counterbalance.udfs.pictures import blur

    heads = [f.head() for f in frames if f.category == "person"]
    for frame in heads if frames else [Frame("", 0, 0, 1, 1)]:
        left, top = int(frame.x * picture.width), int(frame.y * picture.height)
        right = min(picture.width, left + max(2, round(frame.width * picture.width)) + 1)
        bottom = min(picture.height, top + max(2, round(frame.height * picture.height)) + 1)
        blur(picture, (left, top, right, bottom))
