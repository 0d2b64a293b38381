"""Find which image, and which box, a row of annotations is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.ingest import hashing
from counterbalance.ingest.name_parts import member_key
from counterbalance.ingest.rows import MAX_KEY, is_null

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.engine.ingest_types import Images
    from counterbalance.ingest.rows import Sieve

FIELDS: Final = {
    "key": ("image_key",),
    "image_id": ("img_id",),
    "name": ("member_name", "file_name", "filename", "image_file", "image_name", "image_path", "path", "image", "url"),
}
"""Ways to name an image: its key as it is, its id (or key), or a file name, which ``image_keys`` makes a key of."""


def is_named(found: Mapping[str, int]) -> bool:
    """Return whether a source names images at all."""
    return any(f in found for f in FIELDS)


def image_keys(sieve: Sieve, images: Images) -> pa.Array:
    """Return the key (or id, as text) of each row's image; NULL where the row names none.

    A URL is a key as it stands; so is any other file name that the lake has as it stands, else its ending is dropped.
    """
    names = sieve.text("name", MAX_KEY)
    unique = pc.unique(names)
    keys = pa.array([None if n is None else _key(n) for n in unique.to_pylist()], pa.string())
    if images.has is not None and len(keys) and not keys.equals(unique):
        whole = pc.replace_substring_regex(unique, r"^(\./)+", "")
        keys = pc.if_else(pa.array(images.has(hashing.key_ids(whole))), whole, keys)
    from_name = pc.take(keys, pc.index_in(names, unique))
    return pc.coalesce(sieve.text("image_id", MAX_KEY), sieve.text("key", MAX_KEY), from_name)


def _key(name: str) -> str:
    parted = None if "://" in name else member_key(name)
    return parted[0] if parted else name


def image_ids(sieve: Sieve, keys: pa.Array) -> pa.Array:
    """Return ids of images; rows without a key are refused (``missing_key``)."""
    sieve.refuse(is_null(keys), "missing_key", "the row names no image")
    return hashing.key_ids(keys)
