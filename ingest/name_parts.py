"""Read what names say: the split in a path, the key in a member name."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = r"train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|dev|eval(?:uation)?"
_SPLIT: Final = re.compile(rf"(?:^|[^a-z])({_WORDS})(\d{{4}})?(?=$|[^a-z0-9])", re.IGNORECASE)
_FOLDER: Final = re.compile(rf"({_WORDS})(\d{{4}})?", re.IGNORECASE)


def split_of(name: str) -> str | None:
    """Return the split that a file or folder name tells, as it is written but ``training`` as ``train``.

    Example:
        >>> split_of("Train_GCC-training.tsv"), split_of("val2017"), split_of("validation-8000.tsv"), split_of("trains")
        ('train', 'val2017', 'validation', None)
    """
    found = _SPLIT.search(name)
    if not found:
        return None
    word = found[1].lower()
    return ("train" if word == "training" else word) + (found[2] or "")


def is_split(folder: str) -> bool:
    """Return whether a folder is called like a split.

    Example:
        >>> is_split("train2017"), is_split("Validation"), is_split("testing_ground")
        (True, True, False)
    """
    return _FOLDER.fullmatch(folder) is not None


def member_key(path: str) -> tuple[str, str] | None:
    """Return the key and ending of a member of a shard: folder and base name up to its first dot, and what follows that dot.

    Example:
        >>> member_key("a.b/0001.seg.PNG"), member_key("./0001.txt"), member_key(".hidden"), member_key("README")
        (('a.b/0001', 'seg.png'), ('0001', 'txt'), None, None)
    """
    while path.startswith("./"):
        path = path[2:]
    folder, slash, base = path.rpartition("/")
    stem, dot, ending = base.partition(".")
    return (folder + slash + stem, ending.lower()) if stem and dot and ending else None
