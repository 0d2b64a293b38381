"""Where a synthetic picture came from, written into the picture itself: an XMP packet with IPTC's digital source type.

Readers of the IPTC Photo Metadata Standard (2025.1) see that a model made the picture, which one, and from what prompt; seed
and settings stand beside in a namespace of our own. Nothing in a packet depends on time or place, so that equal pictures
stay equal bytes. Nothing in one that was read is trusted: entities are refused, and a broken packet is none.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

GENERATED: Final = "trainedAlgorithmicMedia"
"""Made by a model alone."""
COMPOSITE: Final = "compositeWithTrainedAlgorithmicMedia"
"""A photograph of which a model made a part."""
CAPTURES: Final = "compositeCapture"
"""Put together from photographs."""
SYNTHETIC: Final = frozenset(
    {GENERATED, COMPOSITE, CAPTURES, "algorithmicMedia", "compositeSynthetic", "virtualRecording"}
)
"""Digital source types of pictures that no camera took, or not all of."""
MAX_BYTES: Final = 1 << 20
_SEED: Final = re.compile(r"-?[0-9]{1,19}")
_TYPES: Final = "http://cv.iptc.org/newscodes/digitalsourcetype/"
_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_XMP: Final = "http://ns.adobe.com/xap/1.0/"
_IPTC: Final = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
_OWN: Final = "urn:counterbalance:1:"
_PREFIXES: Final = {"rdf": _RDF, "xmp": _XMP, "Iptc4xmpExt": _IPTC, "counterbalance": _OWN}
_PLACES: Final = {
    "type": ("Iptc4xmpExt", "DigitalSourceType"),
    "software": ("xmp", "CreatorTool"),
    "model": ("Iptc4xmpExt", "AISystemUsed"),
    "weights": ("Iptc4xmpExt", "AISystemVersionUsed"),
    "prompt": ("Iptc4xmpExt", "AIPromptInformation"),
    "seed": ("counterbalance", "seed"),
    "settings": ("counterbalance", "settings"),
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made a picture; what is not known is ``None``.

    Args:
        type: IPTC's digital source type, one of ``SYNTHETIC``.
        software: Program and its version.
        model: Name of the model.
        weights: Digest of its weights.
        prompt: What it was told.
        seed: Of its random numbers.
        settings: The other settings, as a JSON object.
    """

    type: str
    software: str | None = None
    model: str | None = None
    weights: str | None = None
    prompt: str | None = None
    seed: int | None = None
    settings: str | None = None

    def packet(self) -> bytes:
        """Return it as an XMP packet, UTF-8.

        Example:
            >>> made = Provenance(GENERATED, prompt="a dog & a cat", seed=7)
            >>> parse(made.packet()) == made
            True
        """
        values = {name: getattr(self, name) for name in _PLACES}
        values["type"] = _TYPES + self.type
        said = [
            f" {prefix}:{key}={quoteattr(_writable(str(values[name])))}"
            for name, (prefix, key) in _PLACES.items()
            if values[name] is not None
        ]
        spaces = "".join(f" xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in _PREFIXES.items())
        return (
            '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
            f'<rdf:RDF{spaces}><rdf:Description rdf:about=""{"".join(said)}/></rdf:RDF></x:xmpmeta><?xpacket end="r"?>'
        ).encode()


def settings(**values: Any) -> str:
    """Return settings as one line of JSON, always in the same order.

    Example:
        >>> settings(steps=50, guidance=7.5)
        '{"guidance": 7.5, "steps": 50}'
    """
    return json.dumps(values, sort_keys=True, ensure_ascii=False)


def parse(packet: bytes) -> Provenance | None:
    """Return what an XMP packet says of a synthetic picture; ``None`` for one that says of none, or cannot be read.

    Args:
        packet: As it stands in a picture, from whatever program.
    """
    values = _values(packet)
    kind = values.pop("type", "").rpartition("/")[2]
    if kind not in SYNTHETIC:
        return None
    seed = values.pop("seed", "")
    number = int(seed) if _SEED.fullmatch(seed) else None
    if number is not None and not -(1 << 63) <= number < 1 << 63:
        number = None
    return Provenance(type=kind, seed=number, **values)


def _values(packet: bytes) -> dict[str, str]:
    """Return texts by the names of ``Provenance``, from attributes or elements."""
    from xml.etree import ElementTree as ET

    wanted = {f"{{{_PREFIXES[prefix]}}}{key}": name for name, (prefix, key) in _PLACES.items()}
    if len(packet) > MAX_BYTES or b"<!" in packet or b"\0" in packet:
        return {}
    try:
        root = ET.fromstring(packet.decode("utf-8-sig").strip().strip("\0"))  # noqa: S314 - what could expand is refused above
    except (ET.ParseError, UnicodeDecodeError, ValueError):
        return {}
    found: dict[str, str] = {}
    for element in root.iter():
        for key, text in _said(element):
            if key in wanted:
                found.setdefault(wanted[key], text)
    return found


def _said(element: Element) -> Iterator[tuple[str, str]]:
    yield from element.attrib.items()
    resource = element.attrib.get(f"{{{_RDF}}}resource")
    yield element.tag, resource or "".join(element.itertext()).strip()


def _writable(text: str) -> str:
    """Replace what XML 1.0 cannot hold (section 2.2)."""
    return "".join(
        c if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "\ufffd"
        for c in text
    )
