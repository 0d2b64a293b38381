"""Group the members of a webdataset shard into samples; what does not fit is reported, nothing is lost silently.

A sample is a run of neighbouring members with one key: the path up to the first dot of the base name. Links, devices,
names that are absolute or hold ``..`` and members without a key are refused one by one. A key that comes back later in
the shard, its members being interleaved with others, is refused with what comes late.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterbalance.engine.images import EXTENSIONS, MAX_BYTES
from counterbalance.ingest.files import relative_name
from counterbalance.ingest.name_parts import member_key
from counterbalance.ingest.rows import MAX_TEXT, shorten
from counterbalance.ingest.tarstream import Damage, Member, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from counterbalance.ingest.csvtext import Stream

_CAPTIONS: Final = ("txt", "text", "caption")
_CAPTION: Final = re.compile(rf"({'|'.join(_CAPTIONS)})s?[_-]?\d*")
"""Last endings of texts: ``.txt``, ``.txt1``, ``.captions`` …"""
_FACTS: Final = frozenset({"json", "cls"})


@dataclass(frozen=True, slots=True)
class Part:
    """A member of a sample; ``data`` is ``None`` where it was too large or of no use."""

    name: str
    size: int
    data: bytes | None


@dataclass(slots=True)
class ShardSample:
    """Members with one key, by what follows the first dot of their names."""

    key: str
    parts: dict[str, Part] = field(default_factory=dict)

    def names(self) -> str:
        """Return some of its members, for a message."""
        return ", ".join(shorten(p.name) for p in list(self.parts.values())[:4])

    def image(self) -> Part | None:
        """Return the one picture of the sample: ``.jpg`` before ``.large.jpg``.

        Raises:
            ValueError: If it cannot be told which of several is meant.
        """
        name = self._picture()
        return None if name is None else self.parts[name]

    def text(self, ending: str) -> Part | None:
        """Return the member with an ending, or that of the picture's own name: ``.v2.txt`` beside ``.v2.jpg``.

        Raises:
            ValueError: If it cannot be told which picture is meant.
        """
        if ending in self.parts:
            return self.parts[ending]
        return self.parts.get(f"{(self._picture() or '').rpartition('.')[0]}.{ending}")

    def texts(self) -> dict[str, Part]:
        """Return the texts of the picture by their endings, ``.txt`` first: those named for another picture are not its own.

        Raises:
            ValueError: If it cannot be told which picture is meant.
        """
        picture = self._picture() or ""
        own = picture.rpartition(".")[0]
        others = {_name(e) for e in self.parts if _last_ending(e) in EXTENSIONS and e != picture}
        found = [e for e in self.parts if _CAPTION.fullmatch(_last_ending(e))]
        found = [e for e in found if _name(e) in {"", own} or not (own or _name(e) in others)]
        first = [e for kind in _CAPTIONS for e in dict.fromkeys((kind, f"{own}.{kind}")) if e in found]
        later = sorted((e for e in found if e not in first), key=lambda e: (len(e), e))
        return {ending: self.parts[ending] for ending in (*first, *later)}

    def others(self, read: Collection[str]) -> list[str]:
        """Return the endings of members that are neither the picture nor among those that are read, by their names."""
        picture = self.image()
        return [e for e, part in self.parts.items() if part is not picture and part.name not in read]

    def _picture(self) -> str | None:
        for wanted in (_only_ending, _last_ending):
            found = [ending for ending in self.parts if wanted(ending) in EXTENSIONS]
            if len(found) == 1:
                return found[0]
            if found:
                raise ValueError(self.names())
        return None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A refused item of a shard: the member it is about, or the byte, and why."""

    place: str
    code: str
    message: str


def _only_ending(ending: str) -> str:
    return ending


def _last_ending(ending: str) -> str:
    return ending.rpartition(".")[2]


def _name(ending: str) -> str:
    return ending.rpartition(".")[0]


def is_wanted(name: str, size: int) -> bool:
    """Return whether the content of a member is read: pictures and short texts."""
    parted = member_key(name)
    if parted is None:
        return False
    last = _last_ending(parted[1])
    if last in EXTENSIONS:
        return size <= MAX_BYTES
    return size <= MAX_TEXT and (last in _FACTS or _CAPTION.fullmatch(last) is not None)


def samples(stream: Stream) -> Iterator[ShardSample | Trouble]:
    """Yield samples of a shard in order, and troubles where they are found.

    A shard that ends too early gives its whole samples: the last one is whole when a member of another key has begun,
    and where that cannot be told, when it has all the endings that the one before it has.

    Args:
        stream: A tar archive, at its beginning.

    Raises:
        SourceError: If it cannot be read.
    """
    grouping = _Grouping()
    for item in walk(stream, is_wanted):
        if isinstance(item, Damage):
            yield from grouping.damaged(item)
        elif item.kind != "folder":
            yield from grouping.member(item)
    yield from grouping.close()


class _Grouping:
    def __init__(self) -> None:
        self._open: ShardSample | None = None
        self._before: frozenset[str] = frozenset()
        self._keys: set[str] = set()

    def member(self, member: Member) -> Iterator[ShardSample | Trouble]:
        parted = member_key(member.name) if member.sound else None
        bad = _refused(member, parted)
        if bad or parted is None:
            yield bad or Trouble(member.name, "bad_name", "no key and ending can be told from the name")
            return
        key, ending = parted
        if self._open is None or key != self._open.key:
            yield from self.close()
            self._open = ShardSample(key)
        if ending in self._open.parts:
            yield Trouble(member.name, "duplicate_member", f"a second .{ending} of key {shorten(key)}")
            return
        self._open.parts[ending] = Part(member.name, member.size, member.data)

    def damaged(self, damage: Damage) -> Iterator[ShardSample | Trouble]:
        if damage.code == "truncated_shard" and self._open is not None:
            cut = member_key(damage.name) if damage.name else None
            alike = bool(self._before) and self._before <= self._open.parts.keys()
            if not (alike if cut is None else cut[0] != self._open.key):
                key, self._open = self._open.key, None
                yield Trouble(key, damage.code, f"{damage.message}; sample {shorten(key)} may lack members")
                return
            yield from self.close()
        yield Trouble(damage.name or f"byte {damage.offset}", damage.code, damage.message)

    def close(self) -> Iterator[ShardSample | Trouble]:
        """Give the sample that is open."""
        sample, self._open = self._open, None
        if sample is None:
            return
        if sample.key in self._keys:
            yield Trouble(
                sample.key,
                "interleaved_key",
                f"the key was there before other samples; these come late: {sample.names()}",
            )
            return
        self._keys.add(sample.key)
        self._before = frozenset(sample.parts)
        yield sample


def _refused(member: Member, parted: tuple[str, str] | None) -> Trouble | None:
    if not member.sound or relative_name(member.name.removeprefix("./")) is None:
        return Trouble(
            _printable(member.name), "bad_name", f"the name {shorten(member.name)} is not a plain relative one"
        )
    if member.kind != "file":
        return Trouble(member.name, "bad_member", f"a {member.kind}; only plain files are read")
    if parted is None:
        return Trouble(member.name, "bad_name", "no key and ending can be told from the name")
    return None


def _printable(name: str) -> str:
    return name if name.isprintable() else repr(name)
