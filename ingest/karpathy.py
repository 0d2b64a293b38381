"""Captions as Karpathy's splits of Flickr8k, Flickr30k and COCO are published: a JSON object of images with their sentences.

A sentence is a caption, ``split`` the split of its image (``restval``, too). An image of COCO is called by its ``cocoid``, as
COCO's own files call it; any other by its ``filename``, as in ``captions``, whose rules these are. Other members are told, and
those of images stored as labels where ``keep`` names them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import Images
from counterbalance.ingest import captions, columns, ignored_options, tabular
from counterbalance.ingest.coco_document import check
from counterbalance.ingest.files import expand, relative_name, source_of
from counterbalance.ingest.jsonstream import Items, stream
from counterbalance.ingest.members import Members, chosen
from counterbalance.ingest.rows import Refusal, Rows, kind_of, shorten
from counterbalance.ingest.validate import MAX_ID, is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.ingest_types import Chunk, ReadOptions, Source
    from counterbalance.ingest.files import File

SUFFIXES: Final = (".json",)
_FIELDS: Final = ("caption", "key", "name", "split")


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``captions``, and of ``images`` that the lake does not have.

    Args:
        uri: File, folder or glob of JSON files.
        options: ``split`` in the place of what the file says; ``keep``; ``origin`` (default ``"human"``); ``annotator`` of what
            is kept (default ``"source"``); ``limit`` (captions).

    Raises:
        NotFoundError: If there is no such file; while reading: the first images of one have no such member (``E1002``).
        SourceError: If a file is no JSON object (``E4020`` to ``E4022``), or has no images with sentences (``E4029``).

    Source:
        Karpathy and Fei-Fei, Deep Visual-Semantic Alignments for Generating Image Descriptions, 2015.
    """
    files = expand(uri, options.storage_options, SUFFIXES)
    for file in files:
        check(file)
    images, notes = Images(), ignored_options.describe("karpathy", options, "mapping", "images", "store_images")
    return source_of(uri, files, _chunks(uri, files, options, images, notes), notes, images)


def _chunks(uri: str, files: Sequence[File], options: ReadOptions, images: Images, notes: list[str]) -> Iterator[Chunk]:
    of_images, of_sentences = Members(("cocoid", "filename", "split", "sentences")), Members(("raw",))
    parts = (rows for file in files for rows in _rows(file, options.keep, of_images, of_sentences))
    yield from captions.chunks(uri, tabular.limited(parts, options.limit), options, images, notes)
    notes += of_images.notes()
    notes += columns.cannot_keep("karpathy", [f"sentences.{name}" for name in of_sentences.names()])


def _rows(file: File, keep: Sequence[str], of_images: Members, of_sentences: Members) -> Iterator[Rows]:
    found, passed = False, 0
    kept: Sequence[str] = ()
    with file.open() as opened:
        for event in stream(opened, file.uri):
            passed += event.read
            if event.name == "images" and isinstance(event, Items):
                of_images.add(event.items)
                if event.start == 0:
                    kept = chosen(event.items, keep, file.uri)
                rows = _of_images(event, file.uri, kept, of_images, of_sentences)
                found |= rows.table.num_rows > 0
                yield replace(rows, bytes_read=passed)
                passed = 0
    if not found:
        raise SourceError(
            f"{file.uri} has no images with sentences",
            code="E4029",
            hint="Karpathy's files are objects with images, each of which has filename and sentences with raw",
        )


def _of_images(event: Items, uri: str, kept: Sequence[str], of_images: Members, of_sentences: Members) -> Rows:
    """Return a row a sentence of some images."""
    cells: dict[str, list[str | None]] = {f: [] for f in (*_FIELDS, *(columns.LABEL + name for name in kept))}
    numbers: list[int] = []
    refused: list[Refusal] = []
    for number, image in enumerate(event.items, event.start + 1):
        sentences = image.get("sentences") if isinstance(image, dict) else None
        if not isinstance(sentences, list):
            refused.append(
                Refusal(number, "bad_value", f"an image with a list of sentences was expected, not {kind_of(image)}")
            )
            continue
        of_image = {
            "key": _key(image.get("cocoid")),
            "name": _text(image.get("filename")),
            "split": _text(image.get("split")),
            **{columns.LABEL + name: of_images.kept(name, [image])[0] for name in kept},
        }
        if not all(t is None or is_utf8(t) for t in of_image.values()):
            refused.append(Refusal(number, "bad_utf8", "filename, split or what is kept is not UTF-8"))
            continue
        if of_image["name"] is not None and relative_name(of_image["name"]) is None:
            why = f"filename must be a plain relative name, not {shorten(of_image['name'])}"
            refused.append(Refusal(number, "bad_file_name", why))
            continue
        of_sentences.add(sentences)
        for sentence in sentences:
            text = _text(sentence.get("raw") if isinstance(sentence, dict) else sentence)
            if text is not None and not is_utf8(text):
                refused.append(Refusal(number, "bad_utf8", "a sentence is not UTF-8"))
                continue
            for field, values in cells.items():
                values.append(text if field == "caption" else of_image[field])
            numbers.append(number)
    table = pa.table({field: pa.array(values, pa.string()) for field, values in cells.items()})
    return Rows(table, np.array(numbers, np.int64), "image", uri, refused)


def _key(value: object) -> str | None:
    """Return a cocoid as a key, if it is a whole number."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole and 0 <= value <= MAX_ID else None  # type: ignore[operator]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
