"""Find which image, and which box, a row of annotations is about."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.ingest import hashing
from counterbalance.ingest.name_parts import member_key
from counterbalance.ingest.rows import MAX_KEY, is_null

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.ingest_types import Images
    from counterbalance.ingest.rows import Sieve

FIELDS: Final = {
    "key": ("image_key",),
    "image_id": ("img_id",),
    "name": (
        "member_name",
        "file_name",
        "filename",
        "file",
        "image_file",
        "image_name",
        "image_path",
        "path",
        "image",
        "url",
    ),
}
"""Ways to name an image: its key as it is, its id (or key), or a file name, which ``image_keys`` makes a key of."""

_SEVERAL: Final = 2


def is_named(found: Mapping[str, int]) -> bool:
    """Return whether a source names images at all."""
    return any(f in found for f in FIELDS)


def image_keys(sieve: Sieve, images: Images) -> pa.Array:
    """Return the key (or id, as text) of each row's image; NULL where the row names none.

    A URL is a key as it stands; so is any other file name that the lake has as it stands, else its ending is dropped. What a
    picture of the same source is called is its key (``Images.names``). An image that goes by the number in its file's name, as
    those of COCO do, is named by that file, too.
    """
    names = sieve.text("name", MAX_KEY)
    unique = pc.unique(names)
    keys = pa.array([None if n is None else _key(n) for n in unique.to_pylist()], pa.string())
    if images.has is not None and len(keys) and not keys.equals(unique):
        whole = pc.replace_substring_regex(unique, r"^(\./)+", "")
        keys = pc.if_else(pa.array(images.has(hashing.key_ids(whole))), whole, keys)
    keys = _numbered(unique, keys, images)
    if images.names:
        keys = pc.coalesce(pa.array(_beside(unique.to_pylist(), images), pa.string()), keys)
    from_name = pc.take(keys, pc.index_in(names, unique))
    own = pc.coalesce(sieve.text("image_id", MAX_KEY), sieve.text("key", MAX_KEY))
    if images.names:  # tables of img2dataset and Open Images call by its stem the picture that lies in a folder
        own = pa.array([k if k is None else beside_of(k, images) or k for k in own.to_pylist()], pa.string())
    return pc.coalesce(own, from_name)


def picture_keys(names: pa.Array, folders: Sequence[str], images: Images) -> pa.Array:
    """Return what the lake calls images that a data set names by ids: the id itself, or its picture; NULL stays NULL.

    Args:
        names: Ids as texts.
        folders: In which pictures may lie, beside none: ``ID.jpg``, ``FOLDER/ID.jpg``.
        images: Those of the lake, and of the same source.
    """
    unique = pc.unique(names.drop_null())
    keys = unique
    if images.has is not None and len(unique):
        picture = pc.binary_join_element_wise(unique, pa.scalar("jpg"), ".")
        inside = [pc.binary_join_element_wise(pa.scalar(f), picture, "/") for f in folders]
        for way in reversed([unique, picture, *inside]):
            keys = pc.if_else(pa.array(images.has(hashing.key_ids(way))), way, keys)
    if images.names:
        keys = pc.coalesce(pa.array([beside_of(n, images) for n in unique.to_pylist()], pa.string()), keys)
    return pc.take(keys, pc.index_in(names, unique))


def _beside(names: Sequence[str | None], images: Images) -> list[str | None]:
    """Return the keys of pictures that different names mean; none of those that two names mean by the file's name alone."""
    found = [None if name is None else beside_of(name, images) for name in names]
    times = Counter(found)
    exact = [name is not None and images.names.get(re.sub(r"^(\./)+", "", name)) is not None for name in names]
    return [key if is_exact or times[key] < _SEVERAL else None for key, is_exact in zip(found, exact, strict=True)]


def beside_of(name: str, images: Images) -> str | None:
    """Return the key of the picture of the same source that a name means, if it means one.

    What lies in a folder that the source has not is told by its file's name alone, unless the picture of that name lies in
    another folder than the name says.

    Example:
        >>> from counterbalance.engine.ingest_types import Images
        >>> images = Images(names={"1.jpg": "dogs/1.jpg", "dogs/1.jpg": "dogs/1.jpg", "2.jpg": "2.jpg"})
        >>> [beside_of(name, images) for name in ("1.jpg", "set/dogs/1.jpg", "cats/1.jpg", "set/2.jpg")]
        ['dogs/1.jpg', 'dogs/1.jpg', None, '2.jpg']
    """
    plain = re.sub(r"^(\./)+", "", name)
    if (key := images.names.get(plain)) is not None:
        return key
    folder, _, file = plain.rpartition("/")
    key = images.names.get(file)
    home = "" if key is None else key.rpartition("/")[0]
    return key if not home or not folder or f"/{folder}".endswith(f"/{home}") else None


def _numbered(names: pa.Array, keys: pa.Array, images: Images) -> pa.Array:
    """Return the keys; of an unknown one the number at the end of the file's name, where the lake has that file under it."""
    numbers = pc.replace_substring_regex(names, r"^.*?0*([0-9]{1,18})\.\w+$", r"\1")
    if images.has is None or images.uris is None or numbers.equals(names):
        return keys
    is_there = pc.fill_null(pc.equal(_file(images.uris(hashing.key_ids(numbers))), _file(names)), fill_value=False)
    is_known = pa.array(images.has(hashing.key_ids(keys)))
    return pc.if_else(pc.and_not(is_there, is_known), numbers, keys)


def _file(paths: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(paths, r"^.*/", "")


def _key(name: str) -> str:
    parted = None if "://" in name else member_key(name)
    return parted[0] if parted else name


def image_ids(sieve: Sieve, keys: pa.Array) -> pa.Array:
    """Return ids of images; rows without a key are refused (``missing_key``)."""
    sieve.refuse(is_null(keys), "missing_key", "the row names no image")
    return hashing.key_ids(keys)
