"""Read what the text members of a webdataset sample say: captions, similarity, safety label, licence, class."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, did_you_mean
from counterbalance.ingest import columns, laion
from counterbalance.ingest.jsonlines import as_text, parsed
from counterbalance.ingest.picture_rows import Caption
from counterbalance.ingest.rows import MAX_TEXT
from counterbalance.ingest.samples import Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.ingest.samples import Part, ShardSample

FIELDS: Final = {f: laion.FIELDS[f] for f in ("caption", "similarity", "nsfw", "license")}
_TEXTS: Final = ("txt", "text", "caption")


@dataclass(slots=True)
class SampleFacts:
    """Describe what was found about a sample.

    Args:
        captions: In order; usually one.
        nsfw: The source's safety label.
        license: The licence.
        label: The class, as text.
        troubles: Members that could not be used.
    """

    captions: list[Caption] = field(default_factory=list)
    nsfw: str | None = None
    license: str | None = None
    label: str | None = None
    troubles: list[Trouble] = field(default_factory=list)


class TextReader:
    """Read the text members of samples.

    Args:
        mapping: Field of ``FIELDS`` (or one of its names) to key of the JSON or column of the sidecar.

    Raises:
        RequestError: If ``mapping`` names no field.
    """

    def __init__(self, mapping: Mapping[str, str]) -> None:
        asked = columns.asked(mapping, FIELDS)
        self._unseen = dict(asked)
        self._names = {f: [columns.plain(asked[f])] if f in asked else [f, *FIELDS[f]] for f in FIELDS}

    def of(self, sample: ShardSample, row: Mapping[str, Any]) -> SampleFacts:
        """Return everything the texts of a sample say; what they leave open, the row of the sidecar says.

        Args:
            sample: The sample.
            row: Field to text, empty where there is no sidecar.

        Raises:
            NotFoundError: If the user mapped a field to a key that the first sample does not have.
        """
        facts = SampleFacts()
        said = self._json(sample.text("json"), facts)
        self._check(said, row)
        found = {f: self._value(said, f) for f in FIELDS}
        found = {f: row.get(f) if v is None else v for f, v in found.items()}
        part = next((p for p in map(sample.text, _TEXTS) if p), None)
        similarity = _finite(found["similarity"])
        texts = self._plain(part, facts) if part else _captions(found["caption"], sample, facts)
        facts.captions = [Caption(t, similarity) for t in texts]
        facts.nsfw, facts.license = _short(found["nsfw"]), _short(found["license"])
        label = sample.text("cls")
        facts.label = _decoded(label, facts) if label else None
        return facts

    def _value(self, said: Mapping[str, Any], name: str) -> Any:
        return next((said[n] for n in self._names[name] if said.get(n) is not None), None)

    def _check(self, said: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        if not self._unseen or not (said or row):
            return
        for name, column in self._unseen.items():
            if columns.plain(column) not in said and name not in row:
                known = sorted({*said, *row})
                message = f"no key {column!r} in the JSON of the first sample{did_you_mean(column, known)}"
                raise NotFoundError(message, code="E1002", hint="keys: " + ", ".join(known))
        self._unseen = {}

    def _json(self, part: Part | None, facts: SampleFacts) -> dict[str, Any]:
        """Return the JSON object of a sample, its keys without case."""
        if part is None:
            return {}
        if part.data is None:
            facts.troubles.append(_too_long(part))
            return {}
        value = parsed(part.data)
        if isinstance(value, str):
            facts.troubles.append(Trouble(part.name, "bad_json", value))
            return {}
        return {columns.plain(k): v for k, v in reversed(value.items())}

    def _plain(self, part: Part, facts: SampleFacts) -> list[str]:
        text = _decoded(part, facts)
        if text is None:
            return []
        if not text.strip():
            facts.troubles.append(Trouble(part.name, "missing_caption", "the caption is empty"))
            return []
        return [text]


def _decoded(part: Part, facts: SampleFacts) -> str | None:
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
