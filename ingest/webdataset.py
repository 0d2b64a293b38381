"""Webdataset shards: tar files with a picture and its texts a sample, img2dataset's output among them.

A shard is read once, front to back, and never unpacked (``tarstream``, ``samples``). Of a sample this reader takes the
picture, its captions (all texts such as ``.txt``, and those in ``.json``, each once; else the sidecar's), similarity, safety
label and licence (``.json`` or sidecar) and the class (``.cls``, a label of attribute ``class``). Pictures are decoded and stored
unless told otherwise, and then checked by their header; other members are left alone, Python pickles above all, and told.

Every sample gives a row of ``images`` or a refusal. A text that cannot be used is refused and its picture is kept; a
sample without any text is an image without a caption. What the sidecar calls a success and the shard does not hold is
refused as ``missing_sample``; what it calls a failed download was never part of the dataset and is not counted.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import SourceError
from counterbalance.engine.images import ImageError, check, read_header, sha256
from counterbalance.ingest import hashing, ignored_options, sidecar
from counterbalance.ingest.compression import Decompressed, read_head
from counterbalance.ingest.files import expand, source_of
from counterbalance.ingest.lookahead import looked_ahead
from counterbalance.ingest.name_parts import is_split, split_of
from counterbalance.ingest.picture_rows import UNSTORED, Label, Picture, PictureRows
from counterbalance.ingest.rows import MAX_KEY
from counterbalance.ingest.samples import ShardSample, Trouble, samples
from counterbalance.ingest.sampletexts import FIELDS, SampleFacts, TextReader
from counterbalance.ingest.tarstream import BLOCK, is_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.images import Header
    from counterbalance.engine.ingest_types import Chunk, ReadOptions, Source
    from counterbalance.ingest.files import File

_PLACE: Final = 500
_MOST_ENDINGS: Final = 1_000
"""So many endings of members that are left out are counted."""
SUFFIXES: Final = (".tar", ".tar.gz", ".tgz")


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``images``, ``captions`` and ``labels`` from shards.

    Args:
        uri: File, folder, glob or brace range of tar files, gzip or plain.
        options: ``split``, ``store_images`` (default true), ``mapping`` (caption, similarity, nsfw, license, split to keys of
            the JSON or columns of the sidecar; caption also to the ending of a text), ``keep`` (keys of the JSON), ``origin``
            (default ``"alt_text"``), ``annotator`` of labels (default ``"source"``), ``limit`` (samples).

    Raises:
        NotFoundError: If there is no such file; while reading: no such key in ``mapping`` or ``keep``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a shard is not a tar file.
    """
    texts = TextReader(options.mapping, options.keep)
    files = expand(uri, options.storage_options, SUFFIXES)
    shards = [(f, _compression(f)) for f in files]
    notes = ignored_options.describe("webdataset", options, "images")
    notes += [UNSTORED] * (options.store_images is False)
    return source_of(uri, files, _chunks(uri, shards, options, texts, notes), notes)


def _compression(file: File) -> str | None:
    """Return the compression of a shard; refuses what is not a tar file."""
    head, kind = read_head(file, BLOCK)
    if not is_header(head):
        what = f"begins with {head[:12]!r}" if head else "is empty"
        hint = "webdataset reads .tar and .tar.gz shards"
        raise SourceError(f"{file.uri} is not a tar file: it {what}", code="E4010", hint=hint)
    return kind


def _chunks(
    uri: str, shards: Sequence[tuple[File, str | None]], options: ReadOptions, texts: TextReader, notes: list[str]
) -> Iterator[Chunk]:
    neighbours, seen, left = sidecar.FolderListings(), hashing.Seen(), options.limit
    others: Counter[str] = Counter()
    for file, kind in shards:
        rows = PictureRows(uri, file.uri, options.origin or "alt_text", seen)
        shard = _Shard(file, options, sidecar.load(neighbours, file, FIELDS, options.mapping), texts, rows)
        yield from shard.chunks(kind, left)
        others += shard.others
        if left is not None:
            left -= shard.taken
            if left <= 0:
                break
    if others:
        told = ", ".join(f".{ending} of {count:,}" for ending, count in others.most_common(5))
        notes.append(f"left out: members {told} samples, beside what is read")
    notes += texts.notes()


@dataclass(frozen=True, slots=True)
class _Found:
    """The picture of a sample."""

    name: str
    data: bytes
    header: Header
    digest: str


class _Shard:
    """Read one shard; not thread-safe."""

    def __init__(
        self, file: File, options: ReadOptions, beside: sidecar.Sidecar, texts: TextReader, rows: PictureRows
    ) -> None:
        self._file, self._beside, self._texts, self._rows = file, beside, texts, rows
        self._waiting = dict.fromkeys(beside.rows)
        folder = posixpath.basename(posixpath.dirname(file.path))
        self._asked = options.split
        self._split = split_of(file.name) or (folder if is_split(folder) else None)
        self._annotator = options.annotator or "source"
        self._store = options.store_images is not False
        self.taken = 0
        self.others: Counter[str] = Counter()

    def chunks(self, kind: str | None, limit: int | None) -> Iterator[Chunk]:
        """Yield rows of the shard, of at most ``limit`` samples."""
        if self._beside.problem:
            self._refuse(Trouble(self._beside.name, "bad_sidecar", self._beside.problem))
        with Decompressed(self._file, kind) as stream:
            for item, found in looked_ahead(samples(stream), self._image):
                if isinstance(item, Trouble):
                    self._refuse(item)
                else:
                    self._sample(item, found)
                    self.taken += 1
                if self._rows.full:
                    yield self._rows.flush(stream.consumed())
                if self.taken == limit:
                    break
            else:
                self._check_count()
            yield self._rows.flush(stream.consumed())

    def _refuse(self, trouble: Trouble) -> None:
        self._rows.refuse(f"{self._file.name}:{trouble.place[:_PLACE]}", trouble.code, trouble.message)

    def _check_count(self) -> None:
        """Hold the shard against its sidecar."""
        beside = self._beside
        for key in self._waiting:
            self._refuse(Trouble(key, "missing_sample", f"{beside.name} has it as a success; the shard lacks it"))
        if not beside.rows and beside.successes not in {None, self.taken}:
            message = f"{beside.name} counts {beside.successes} samples; the shard holds {self.taken}"
            self._refuse(Trouble(beside.name, "count_mismatch", message))

    def _sample(self, sample: ShardSample, found: _Found | Trouble) -> None:
        self._waiting.pop(sample.key, None)
        if isinstance(found, Trouble):
            self._refuse(found)
            return
        facts = self._texts.of(sample, self._beside.rows.get(sample.key, {}))
        self.others.update(e for e in sample.others(facts.read) if e in self.others or len(self.others) < _MOST_ENDINGS)
        for trouble in facts.troubles:
            self._refuse(trouble)
        labels = [Label(attribute, value, self._annotator) for attribute, value in facts.labels.items()]
        self._rows.add(self._picture(sample.key, found, facts), facts.captions, labels)

    def _picture(self, key: str, found: _Found, facts: SampleFacts) -> Picture:
        return Picture(
            key=key,
            uri=f"{self._file.uri}#{found.name}",
            place=f"{self._file.name}:{found.name}",
            width=found.header.width,
            height=found.header.height,
            split=self._asked or facts.split or self._split,
            license=facts.license,
            nsfw=facts.nsfw,
            sha256=found.digest,
            image=found.data if self._store else None,
        )

    def _image(self, sample: ShardSample | Trouble) -> _Found | Trouble:
        """Return the picture of a sample, or why there is none. Called in threads."""
        if isinstance(sample, Trouble):
            return sample
        if len(sample.key.encode()) > MAX_KEY:
            return Trouble(sample.key[:60], "too_long", f"a key of more than {MAX_KEY:,} bytes")
        try:
            part = sample.image()
            if part is None:
                return Trouble(sample.key, "missing_image", f"no picture among {sample.names()}")
            if part.data is None:
                return Trouble(part.name, "too_big", f"{part.size:,} bytes")
            header = (check if self._store else read_header)(part.data)
            return _Found(part.name, part.data, header, sha256(part.data))
        except ImageError as error:
            return Trouble(part.name if part else sample.key, error.code, str(error))
        except ValueError:
            message = f"several pictures with one key (a key ends at the first dot): {sample.names()}"
            return Trouble(sample.key, "ambiguous_image", message)
