"""Images in a grid, narrowed by what is known of them, and one image with all that is."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from starlette.background import BackgroundTask
from starlette.routing import Route

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, RequestError
from counterbalance.report import pictures
from counterbalance.report.svg import plain
from counterbalance.udfs import persons
from counterbalance.udfs.lemma import lemmas_of
from counterbalance.udfs.masks import decode
from counterbalance.ui import compare, facets, selection
from counterbalance.ui.answers import as_json, page, status_of
from counterbalance.ui.selection import Filters
from counterbalance.ui.thumbnails import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from starlette.requests import Request
    from starlette.responses import Response

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.ui.workplace import Workplace

PAGE: Final = 60
_MOST_PAGE: Final = 240
_TEXT: Final = 2_000
"""Characters of a text that are shown; a tile shows fewer."""
_TILE_TEXT: Final = 160
_TILE_TEXTS: Final = 20
"""Captions of an image among which one with a word that is looked for is found."""
_BEFORE: Final = 30
"""Characters of a text that are shown before a word that is marked, where a tile has no room for more."""
_ROWS: Final = 200
"""Captions, boxes and labels of an image that are shown, at most, of each."""
_SIMILAR: Final = 12
_MASK_CELLS: Final = 240
"""Rows and columns of a mask as it is drawn, at most."""
_MASK_TEXT: Final = 100_000
_MASK_LETTERS: Final = 1_000_000
_MASK_PIXELS: Final = 200_000_000
"""Letters of a mask's text, and letters and pixels of all masks of an image: further ones are not drawn."""
_COLOURS: Final = 8
_SIDE: Final = 320


async def browse(request: Request) -> Response:
    """Show the grid: its first page, what it can be narrowed by, and its SQL."""
    filters = Filters.read(request.query_params.multi_items())
    offset = _whole(request, "offset", 0, selection.MOST)

    def work(narrowed: Filters, lake: Lake, session: Session) -> dict[str, Any]:
        found = request.app.state.selections.get(lake, session, narrowed)
        total = len(found.ids)
        return {
            "images": _tiles(session, found.page(offset, PAGE), filters),
            "total": total,
            "facets": facets.facets(session, found, filters),
            "sorts": selection.sorts(found.columns),
            "numbers": facets.numbers(found.columns, filters),
            "sampled": total > facets.COUNTED,
            "most": total >= selection.MOST,
            "notes": found.notes,
            "sql": found.sql,
            "tags": compare.tags(session),
            "has_vectors": selection.vector_column(found.columns) is not None,
        }

    place: Workplace = request.app.state.place
    error = None
    try:
        found = await place.ask(request, partial(work, filters), **filters.session)
    except CounterbalanceError as failed:  # the form stays, to be mended
        error, all_of = failed, Filters()
        found = await place.ask(request, partial(work, all_of), **all_of.session)
        found |= {"images": [], "total": 0, "notes": [], "sql": ""}
    answer = page(
        request,
        "browse",
        status=200 if error is None else status_of(error),
        error=error,
        **found,
        before=_before(offset, found["total"]),
        after=offset + PAGE,
        filters=filters,
        offset=offset,
        limit=PAGE,
        address=filters.address(),
        seen=_seen(filters),
    )
    return _then_pictures(request, answer, found["images"], filters)


async def images(request: Request) -> Response:
    """List the images of a further page."""
    filters = Filters.read(request.query_params.multi_items())
    offset, limit = _whole(request, "offset", 0, selection.MOST), _whole(request, "limit", PAGE, _MOST_PAGE)

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        found = request.app.state.selections.get(lake, session, filters)
        total = len(found.ids)
        shown = total if total < selection.MOST else "many"
        return {"images": _tiles(session, found.page(offset, limit), filters), "offset": offset, "total": shown}

    found = await request.app.state.place.ask(request, work, **filters.session)
    return _then_pictures(request, as_json(found), found["images"], filters)


async def image(request: Request) -> Response:
    """Show one image with all that is known of it, between its neighbours in the grid that it was opened from."""
    image_id = number(request.path_params["image_id"])
    filters = Filters.read(request.query_params.multi_items())
    place: Workplace = request.app.state.place

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        told = session.sql(
            f"SELECT image_id, key, split, uri, width, height, license, nsfw, source, {pictures.IS_SAFE} AS is_safe "
            "FROM images AS i WHERE image_id = $id",
            id=image_id,
        )
        rows = told.to_arrow().to_pylist()
        if not rows:
            raise NotFoundError(f"no image {image_id}", code="E1059", hint="images go by the number in image_id")
        found = request.app.state.selections.get(lake, session, filters)
        at = found.place(image_id)
        around = [] if at is None else found.page(max(0, at - 1), 2 + (at > 0))
        beside = {} if at is None else {"before": around[0] if at else None}
        after = None if at is None or around[-1] == image_id else around[-1]
        return {
            "image": rows[0],
            "about": _about(rows[0]),
            "boxes": _boxes(session, rows[0]),
            "captions": _captions(session, image_id, filters),
            "similar": _similar(session, found.columns, image_id, unsafe=filters.unsafe),
            "place": at,
            "total": len(found.ids),
            "before": beside.get("before"),
            "after": after,
        }

    found = await place.ask(request, work, **filters.session)
    labels = await place.ask(request, lambda _, session: _labels(session, image_id), at=filters.at or None)
    at = 0 if found["place"] is None else found["place"] // PAGE * PAGE
    answer = page(
        request,
        "image",
        **found,
        labels=labels,
        filters=filters,
        address=filters.address(),
        grid=filters.address(**({"offset": at} if at else {})),
        seen=_seen(filters, unsafe=True),
        colours=_COLOURS,
    )
    return _then_pictures(request, answer, found["similar"], filters)


def _then_pictures(request: Request, answer: Response, images: Sequence[dict[str, Any]], filters: Filters) -> Response:
    """Have the pictures of a page made while it is on its way."""
    thumbnails = request.app.state.thumbnails
    ids = [i["image_id"] for i in images]
    answer.background = BackgroundTask(thumbnails.ahead, request, ids, _SIDE, blur=filters.blur)
    return answer


def _seen(filters: Filters, *, unsafe: bool = False) -> str:
    """Return what is added to the address of a picture."""
    return ("&blur=1" if filters.blur else "") + ("&unsafe=1" if filters.unsafe or unsafe else "")


def _before(offset: int, total: int) -> int | None:
    """Return where the page before one begins: that of one behind the end is the last one.

    Example:
        >>> _before(0, 100), _before(60, 100), _before(70, 100), _before(999_999, 100), _before(60, 0)
        (None, 0, 10, 60, None)
    """
    if not offset or not total:
        return None
    return max(0, offset - PAGE) if offset < total else (total - 1) // PAGE * PAGE


def _whole(request: Request, name: str, default: int, most: int) -> int:
    given = request.query_params.get(name) or str(default)
    if not re.fullmatch(r"[0-9]{1,12}", given):
        raise RequestError(
            f"{name} is a whole number, not {given[:40]!r}", code="E3747", hint=f"write {name}={default}"
        )
    return min(int(given), most)


def _shown(text: Any, most: int = _TEXT) -> str:
    """Return text of the data as it may be shown: without control signs, and not all of a book."""
    whole = str(text)
    return plain(whole[:most]) + (f" … ({len(whole):,} characters)" if len(whole) > most else "")


def _tiles(session: Session, ids: Sequence[int], filters: Filters) -> list[dict[str, Any]]:
    """Return id, size, boxes looked for and a caption of images, in their order: the first with a word looked for, else the first."""
    if not ids:
        return []
    wanted = ", ".join(map(str, ids))
    rows = session.sql(f"SELECT image_id, width, height FROM images WHERE image_id IN ({wanted})").fetchall()
    marks = filters.terms or filters.mark or filters.gendered
    most, letters = (_TILE_TEXTS, _TEXT) if marks else (1, _TILE_TEXT)
    texts = session.sql(
        f"SELECT image_id, list(left(text, {letters}) ORDER BY caption_id)[:{most}] FROM captions "
        f"WHERE image_id IN ({wanted}) AND text IS NOT NULL GROUP BY image_id"
    ).fetchall()
    captions, sizes = dict(texts), {image: (width, height) for image, width, height in rows}
    drawn = [*filters.category, *filters.box]
    boxes = pictures.boxes_of(session, ids, drawn) if drawn else {}
    return [
        {
            "image_id": i,
            "width": sizes[i][0],
            "height": sizes[i][1],
            **_caption(captions.get(i) or [], filters),
            "boxes": [_in_pixels(f, *sizes[i]) for f in pictures.frames_of(boxes.get(i, [])[:_ROWS], *sizes[i])],
        }
        for i in ids
        if i in sizes
    ]


def _in_pixels(frame: pictures.Frame, width: int, height: int) -> dict[str, Any]:
    """Return a box in the pixels of a picture of that size."""
    return {
        "category": _shown(frame.category, 80),
        "x": round(frame.x * width, 1),
        "y": round(frame.y * height, 1),
        "width": round(frame.width * width, 1),
        "height": round(frame.height * height, 1),
    }


def _caption(texts: Sequence[str], filters: Filters) -> dict[str, Any]:
    """Return what a tile shows of captions: of the first that has a word looked for, from a little before that word."""
    for text in map(plain, texts):
        parts = _parts(text, filters)
        if any(is_word for _, is_word in parts):
            break
    else:
        parts = [(plain(text), False) for text in texts[:1]]
    parts = _near_the_first_word(parts)
    return {"caption": "".join(text for text, _ in parts), "parts": [{"text": t, "marked": m} for t, m in parts]}


def _near_the_first_word(parts: Sequence[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Return as much of a text in parts as a tile has room for, with the first word that is marked.

    Example:
        >>> _near_the_first_word([("a picture from the archive that shows a ", False), ("dog", True), (" or two", False)])
        [('… the archive that shows a ', False), ('dog', True), (' or two', False)]
    """
    found, left = list(parts), _TILE_TEXT
    if len(found) > 1 and not found[0][1] and len(found[0][0]) > _BEFORE:
        found[0] = ("… " + found[0][0][-_BEFORE:].partition(" ")[2], False)
    shown = []
    for text, is_word in found:
        if left > 0:
            shown.append((text[:left], is_word))
        left -= len(text)
    return shown


def _about(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the row of an image says, as far as it says it."""
    size = f"{row['width']:,} by {row['height']:,} pixels" if row["width"] and row["height"] else None
    named = {"Size": size, **{n.capitalize(): row[n] for n in ("split", "source", "license", "nsfw", "key", "uri")}}
    return [(name, _shown(value)) for name, value in named.items() if value is not None]


def _boxes(session: Session, row: dict[str, Any]) -> dict[str, Any]:
    """Return the boxes of an image that lie in it, and their categories, each of a colour."""
    frames = pictures.frames_of(
        pictures.boxes_of(session, [row["image_id"]]).get(row["image_id"], []), row["width"], row["height"]
    )
    counts: dict[str, int] = {}
    for frame in frames:
        counts[frame.category] = counts.get(frame.category, 0) + 1
    ranked = sorted(counts, key=lambda c: (-counts[c], c))
    places = {category: n for n, category in enumerate(ranked)}
    drawn = [
        _in_pixels(f, row["width"], row["height"]) | {"number": places[f.category]} for f in frames[:_ROWS]
    ]  # without a size there are no frames
    masks, left_out = _masks(session, row, places)
    legend = [{"category": _shown(c, 80), "number": places[c], "count": counts[c]} for c in ranked[:_ROWS]]
    more = max(0, len(frames) - _ROWS)
    return {"drawn": drawn, "legend": legend, "more": more, "masks": masks, "left_out": left_out}


def _masks(session: Session, row: dict[str, Any], places: Mapping[str, int]) -> tuple[list[dict[str, Any]], int]:
    """Return the masks of an image's boxes as paths of SVG, and how many are not drawn: too large, or no masks."""
    told = session.sql(
        f"SELECT category, mask FROM detections WHERE image_id = $id ORDER BY detection_id LIMIT {_ROWS}",
        id=row["image_id"],  # a condition on the mask would read those of all images
    )
    texts = [(plain(str(category or "?")), text) for category, text in told.fetchall() if text]
    height, width = row["height"] or 0, row["width"] or 0
    found: list[dict[str, Any]] = []
    pixels, letters = _MASK_PIXELS, _MASK_LETTERS
    for category, text in texts:
        pixels -= height * width
        if pixels < 0 or letters < 0 or len(text) > _MASK_TEXT or category not in places:
            continue
        try:
            path = _path(decode(text, height, width))
        except ValueError:
            continue
        letters -= len(path)
        found.append({"category": _shown(category, 80), "number": places[category], "path": path})
    return found, len(texts) - len(found)


def _path(mask: NDArray[np.bool_]) -> str:
    """Return a mask as a path of SVG in its pixels: a bar for each run of a row, of coarser rows where there are many.

    Example:
        >>> _path(np.array([[0, 1, 1], [0, 0, 1]], bool))
        'M1 0h2v1h-2zM2 1h1v1h-1z'
    """
    step = -(-max(mask.shape) // _MASK_CELLS) or 1
    changes = np.diff(np.pad(mask[::step, ::step], ((0, 0), (1, 1))).astype(np.int8), axis=1)
    starts, ends = np.argwhere(changes == 1) * step, np.argwhere(changes == -1) * step
    bars = [(y, x, end - x) for (y, x), (_, end) in zip(starts.tolist(), ends.tolist(), strict=True)]
    return "".join(f"M{x} {y}h{n}v{step}h-{n}z" for y, x, n in bars)


def _captions(session: Session, image_id: int, filters: Filters) -> list[dict[str, Any]]:
    """Return the captions of an image in parts, of which those that are looked for are marked."""
    rows = session.sql(
        "SELECT text, origin, similarity FROM captions WHERE image_id = $id "
        f"ORDER BY text IS NULL, caption_id LIMIT {_ROWS}",  # a condition on the text would read those of all images
        id=image_id,
    ).fetchall()
    return [
        {
            "parts": _parts(_shown(text), filters),
            "origin": _shown(origin, 80) if origin else "",
            "similarity": similarity,
        }
        for text, origin, similarity in rows
        if text is not None
    ]


def _parts(text: str, filters: Filters) -> list[tuple[str, bool]]:
    """Return a text in parts, and of each whether it is looked for."""
    classes = persons.classes()
    people = (
        [m.span() for m in persons.named(text) if classes[m[0].lower()] in filters.gendered] if filters.gendered else []
    )
    return marked(text, [*filters.terms, *_standing(text, filters.mark)], people)


def _standing(text: str, terms: Sequence[str]) -> list[str]:
    """Return what stands for terms in a text: the terms, or where they do not occur as they are, words of their lemmas.

    Example:
        >>> _standing("Two men loot shops", ["loot", "looting shop"])
        ['loot', 'shops']
    """
    found = []
    for term in terms:
        if len(marked(text, [term])) > 1 or text.lower() == term.lower():
            found.append(term)
        else:
            wanted = {*lemmas_of(term)}
            found += [word for word in re.findall(r"\w+", text) if wanted & {*lemmas_of(word)}]
    return list(dict.fromkeys(found))


def marked(text: str, terms: Sequence[str], places: Sequence[tuple[int, int]] = ()) -> list[tuple[str, bool]]:
    """Return a text in parts, and of each whether it is one of some words, or at one of some places.

    Example:
        >>> marked("A dog, a hotdog", ["dog"], [(0, 1)])
        [('A', True), (' ', False), ('dog', True), (', a hotdog', False)]
    """
    found = [*places]
    if terms:
        either = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
        found += [m.span() for m in re.finditer(rf"(?<![^\W_])(?:{either})(?![^\W_])", text, re.IGNORECASE)]
    parts, end = [], 0
    for start, stop in sorted(found, key=lambda place: (place[0], -place[1])):
        if start >= end:
            parts += [(text[end:start], False), (text[start:stop], True)]
            end = stop
    return [part for part in (*parts, (text[end:], False)) if part[0]]


def _target(label: Mapping[str, Any]) -> str:
    """Return what a label is about."""
    of_edit = ":" in (label["attribute"] or "")
    return "image" if label["detection_id"] is None else f"{'edit' if of_edit else 'box'} {label['detection_id']}"


def _labels(session: Session, image_id: int) -> list[dict[str, Any]]:
    """Return the labels of an image and its boxes that the session reads: closed ones need a purpose."""
    rows = session.sql(
        "SELECT attribute, value, score, annotator, detection_id FROM labels WHERE image_id = $id "
        f"ORDER BY attribute, detection_id NULLS FIRST, value, annotator LIMIT {_ROWS}",
        id=image_id,
    )
    return [
        {
            "attribute": _shown(r["attribute"], 80),
            "value": _shown(r["value"], 300),
            "score": r["score"],
            "annotator": _shown(r["annotator"], 80) if r["annotator"] else "",
            "of": _target(r),
        }
        for r in rows.to_arrow().to_pylist()
    ]


def _similar(session: Session, columns: selection.Columns, image_id: int, *, unsafe: bool) -> list[dict[str, Any]]:
    """Return the nearest images by the lake's own vectors, where there are some and this image has one."""
    vector = selection.vector_column(columns)
    if vector is None:
        return []
    column = selection.name_of(vector)
    if not session.sql(f"SELECT 1 FROM images WHERE image_id = {image_id} AND {column} IS NOT NULL").fetchall():
        return []
    near = Filters(similar=image_id, unsafe=unsafe).query(columns)
    return _tiles(session, [i for (i,) in session.sql(f"{near}\nLIMIT {_SIMILAR}").fetchall()], Filters())


ROUTES: Final = (
    Route("/lakes/{lake}/browse", browse),
    Route("/lakes/{lake}/images/{image_id}", image),
    Route("/api/lakes/{lake}/images", images),
)
