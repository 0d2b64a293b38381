"""Read what the text members of a webdataset sample say: captions, similarity, safety label, licence, class."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, did_you_mean
from counterbalance.ingest import columns, laion
from counterbalance.ingest.jsonlines import as_text, parsed
from counterbalance.ingest.members import Members
from counterbalance.ingest.picture_rows import Caption
from counterbalance.ingest.rows import MAX_TEXT
from counterbalance.ingest.samples import Trouble

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from counterbalance.ingest.samples import Part, ShardSample

FIELDS: Final = {f: laion.FIELDS[f] for f in ("caption", "similarity", "nsfw", "license")} | {"split": ()}
_MORE: Final = ("captions", "texts", "sentences")
"""Keys of captions beside the one of ``FIELDS``."""
_TOLD: Final = columns.TOLD | {"key"}


@dataclass(slots=True)
class SampleFacts:
    """Describe what was found about a sample.

    Args:
        captions: In order; usually one.
        nsfw: The source's safety label.
        license: The licence.
        split: The split, such as an export of a lake writes it.
        labels: The class, and what is kept of the JSON.
        troubles: Members that could not be used.
        read: Names of the members that were read.
    """

    captions: list[Caption] = field(default_factory=list)
    nsfw: str | None = None
    license: str | None = None
    split: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)
    read: set[str] = field(default_factory=set)


class TextReader:
    """Read the text members of samples; not thread-safe.

    Args:
        mapping: Field of ``FIELDS`` (or one of its names) to key of the JSON or column of the sidecar, of the caption also to
            the ending of a text; nothing else is taken for it then.
        keep: Keys of the JSON to give as labels.

    Raises:
        RequestError: If ``mapping`` names no field.
    """

    def __init__(self, mapping: Mapping[str, str], keep: Sequence[str] = ()) -> None:
        self._asked = columns.asked(mapping, FIELDS)
        more = {"caption": _MORE}
        self._names = {f: [f, *FIELDS[f], *more.get(f, ())] for f in FIELDS}
        self._names |= {f: [columns.plain(key)] for f, key in self._asked.items()}
        self._keep = set(map(columns.plain, keep))
        self._unseen: dict[str, str | None] = dict.fromkeys(keep) | {key: f for f, key in self._asked.items()}
        self._members = Members(())

    def of(self, sample: ShardSample, row: Mapping[str, Any]) -> SampleFacts:
        """Return everything the texts of a sample say; what they leave open, the row of the sidecar says.

        Args:
            sample: The sample.
            row: Field to text, empty where there is no sidecar.

        Raises:
            NotFoundError: If the user named a key that the first sample does not have.
        """
        facts = SampleFacts()
        value = self._json(sample.text("json"), facts)
        said = {columns.plain(k): v for k, v in reversed(value.items())}
        texts = self._chosen(sample.texts(), said)
        self._check(said, row, texts)
        used = {f: self._used(said, f) for f in FIELDS}
        found = {f: said[names[0]] if names else row.get(f) for f, names in used.items()}
        captions = [text for part in texts.values() for text in self._plain(part, facts)]
        for cell in [said[name] for name in used["caption"]] or [found["caption"]] * (not texts):
            captions += _captions(cell, sample, facts)
        similarity = _finite(found["similarity"])
        once: dict[str, str] = {}
        for text in captions:
            once.setdefault(text.strip(), text)
        facts.captions = [Caption(t, None if n else similarity) for n, t in enumerate(once.values())]
        facts.nsfw, facts.license, facts.split = (_short(found[name]) for name in ("nsfw", "license", "split"))
        self._label(value, {name for names in used.values() for name in names}, facts)
        label = sample.text("cls")
        if label and (told := _decoded(label, facts)):
            facts.labels["class"] = told
        return facts

    def notes(self) -> list[str]:
        """Return notes about what was not found, and what was left out of the JSON."""
        absent = [f"no sample has {key!r}, which was asked for" for key in self._unseen]
        return absent + self._members.notes()

    def _chosen(self, texts: dict[str, Part], said: Mapping[str, Any]) -> dict[str, Part]:
        """Return the texts that are captions: all, or the one that was asked for."""
        if "caption" not in self._asked:
            return texts
        ending = self._asked["caption"].lower().removeprefix(".")
        return {ending: texts[ending]} if ending in texts and ending not in said else {}

    def _used(self, said: Mapping[str, Any], name: str) -> list[str]:
        """Return the keys of the JSON that are taken for a field: the first, and of captions also those of lists."""
        there = [n for n in self._names[name] if said.get(n) is not None]
        if name != "caption":
            return there[:1]
        return [n for i, n in enumerate(there) if i == 0 or n in _MORE or isinstance(said[n], list)]

    def _check(self, said: Mapping[str, Any], row: Mapping[str, Any], texts: Mapping[str, Part]) -> None:
        if not self._unseen:
            return
        self._unseen = {
            key: f
            for key, f in self._unseen.items()
            if not (columns.plain(key) in said or f in row or (f == "caption" and texts))
        }
        if self._unseen and (said or row):
            known, key = sorted({*said, *row}), next(iter(self._unseen))
            message = f"no key {key!r} in the JSON of the first sample{did_you_mean(key, known)}"
            raise NotFoundError(message, code="E1002", hint="keys: " + ", ".join(known))

    def _json(self, part: Part | None, facts: SampleFacts) -> dict[str, Any]:
        """Return the JSON object of a sample."""
        if part is None:
            return {}
        facts.read.add(part.name)
        if part.data is None:
            facts.troubles.append(_too_long(part))
            return {}
        value = parsed(part.data)
        if isinstance(value, str):
            facts.troubles.append(Trouble(part.name, "bad_json", value))
            return {}
        return value

    def _label(self, value: Mapping[str, Any], used: Collection[str], facts: SampleFacts) -> None:
        """Note what of the JSON is not used, and give what is kept."""
        self._members.add([{k: v for k, v in value.items() if columns.plain(k) not in _TOLD.union(used)}])
        for name in value:
            if columns.plain(name) in self._keep and (text := _short(self._members.kept(name, [value])[0])):
                facts.labels[name.strip()] = text

    def _plain(self, part: Part, facts: SampleFacts) -> list[str]:
        text = _decoded(part, facts)
        if text is None:
            return []
        if not text.strip():
            facts.troubles.append(Trouble(part.name, "missing_caption", "the caption is empty"))
            return []
        return [text]


def _decoded(part: Part, facts: SampleFacts) -> str | None:
    facts.read.add(part.name)
    if part.data is None:
        facts.troubles.append(_too_long(part))
        return None
    try:
        return part.data.decode().removeprefix("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError:
        facts.troubles.append(Trouble(part.name, "bad_utf8", "no UTF-8"))
        return None


def _captions(value: object, sample: ShardSample, facts: SampleFacts) -> list[str]:
    """Return captions from JSON: one text, or a list of texts."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    texts = [v for v in values if isinstance(v, str) and v.strip() and len(v.encode()) <= MAX_TEXT]
    if len(texts) < len(values):
        facts.troubles.append(Trouble(sample.key, "bad_caption", "no text"))
    return texts


def _too_long(part: Part) -> Trouble:
    return Trouble(part.name, "too_long", f"{part.size:,} bytes; at most {MAX_TEXT:,} are taken")


def _short(value: object) -> str | None:
    text = as_text(value)
    return text if text and text.strip() and len(text) <= MAX_TEXT else None


def _finite(value: object) -> float | None:
    """Return a number that float32 holds, or nothing."""
    try:
        number = float(value) if isinstance(value, (str, int, float)) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 3e38 else None
