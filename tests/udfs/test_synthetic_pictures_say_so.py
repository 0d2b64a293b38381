"""Synthetic pictures carry where they came from, as any reader of XMP finds it; synthetic_source believes no packet blindly."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_files import image_bytes
from PIL import Image

from counterbalance.engine import provenance
from counterbalance.engine.functions import function
from counterbalance.engine.images import encode
from counterbalance.engine.provenance import Provenance

WHOLE = Provenance(
    provenance.COMPOSITE, software="a program 1.0", model="timbrooks/instruct-pix2pix", weights="0123456789abcdef",
    prompt='make "this" <person> a wo\u2028man & more\nlines\t✓', seed=-(2**62), settings='{"guidance": 9.5}',
)  # fmt: skip
FOREIGN = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">{}</rdf:Description></rdf:RDF></x:xmpmeta>"""
UNWRITABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # XML 1.0, section 2.2
KIND = "http://cv.iptc.org/newscodes/digitalsourcetype/"
AS_TEXT = FOREIGN.format(
    f"<Iptc4xmpExt:DigitalSourceType>{KIND}trainedAlgorithmicMedia</Iptc4xmpExt:DigitalSourceType>"
)
AS_LINK = FOREIGN.format(f'<Iptc4xmpExt:DigitalSourceType rdf:resource="{KIND}algorithmicMedia"/>')
CAMERA = FOREIGN.format(f"<Iptc4xmpExt:DigitalSourceType>{KIND}digitalCapture</Iptc4xmpExt:DigitalSourceType>")
LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>' + AS_TEXT.replace("trained", "&b;trained")


def sources(*images):
    opened = function("synthetic_source").open({})
    return opened([pa.array(images, pa.binary())])


def saved(kind, **more):
    return image_bytes(Image.new("RGB", (8, 6), (1, 2, 3)), kind, **more)


def test_a_packet_is_what_other_readers_expect():
    with Image.open(io.BytesIO(encode(Image.new("RGB", (5, 4)), xmp=WHOLE.packet()))) as picture:
        root = ET.fromstring(picture.info["XML:com.adobe.xmp"].strip("\ufeff"))
        assert picture.getxmp()["xmpmeta"]["RDF"]["Description"]["CreatorTool"] == "a program 1.0"
    description = root.find(".//{http://www.w3.org/1999/02/22-rdf-syntax-ns#}Description")
    iptc = "{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}"
    assert description.attrib[iptc + "DigitalSourceType"] == KIND + "compositeWithTrainedAlgorithmicMedia"
    assert description.attrib[iptc + "AISystemUsed"] == "timbrooks/instruct-pix2pix"
    assert description.attrib[iptc + "AIPromptInformation"] == WHOLE.prompt


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_what_was_written_is_read(kind):
    picture = Image.new("RGB", (5, 4), (9, 8, 7))
    picture.info["comment"] = "secret"
    data = encode(picture, kind, xmp=WHOLE.packet())
    assert b"secret" not in data
    expected = {f: getattr(WHOLE, f) for f in ("type", "software", "model", "weights", "prompt", "seed", "settings")}
    assert sources(data).values.to_pylist() == [expected]


@given(st.text(max_size=40), st.integers(-(2**63), 2**63 - 1))
def test_any_prompt_and_seed_come_back(prompt, seed):
    found = provenance.parse(Provenance(provenance.GENERATED, prompt=prompt, seed=seed).packet())
    assert found == Provenance(provenance.GENERATED, prompt=UNWRITABLE.sub("\ufffd", prompt), seed=seed)


@pytest.mark.parametrize(
    ("image", "kind"),
    [
        (saved("PNG"), None),
        (saved("GIF"), None),
        (saved("JPEG", xmp=AS_TEXT.encode()), "trainedAlgorithmicMedia"),
        (saved("WEBP", xmp=AS_LINK.encode()), "algorithmicMedia"),
        (saved("JPEG", xmp=CAMERA.encode()), None),
        (saved("JPEG", xmp=AS_TEXT.encode()[:-20]), None),
        (saved("JPEG", xmp=b"\xff\xfe\0"), None),
        (saved("JPEG", xmp=LAUGHS.encode()), None),
    ],
)
def test_pictures_of_other_programs(image, kind):
    result = sources(image)
    assert result.errors == {}
    found = result.values[0].as_py()
    assert (found and found["type"]) == kind
    assert found is None or found["prompt"] is None


def test_null_and_unreadable_pictures():
    result = sources(None, b"no picture", saved("PNG"))
    assert result.values.to_pylist() == [None, None, None]
    assert list(result.errors) == [1]
