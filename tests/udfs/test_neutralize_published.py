"""neutralize's published modes give, character by character, what the procedure of GenSynth's code gives."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.udfs.gender import neutralize

PAIRS = (
    "man:person boy:child male:person gentleman:person his:their he:they him:them son:child father:parent "
    "brother:sibling uncle:relative nephew:relative husband:partner boys:children men:people gentlemen:people "
    "sons:children fathers:parents brothers:siblings uncles:relatives nephews:relatives husbands:partners "
    "woman:person girl:child female:person lady:person her:their she:they hers:theirs daughter:child mother:parent "
    "sister:sibling aunt:relative niece:relative wife:partner girls:children women:people ladies:people "
    "daughters:children mothers:parents sisters:siblings aunts:relatives nieces:relatives wives:partners"
)
TABLE = [pair.split(":") for pair in PAIRS.split()]


def literally(text, mode):
    """One word after the other, everything anew for each, as described: nothing is skipped."""
    text = text.lower()
    for word, neutral in TABLE:
        if mode == "published_mask":
            text = re.sub(rf"\b{word}\b", "[MASK]", text, flags=re.IGNORECASE)
            continue
        text = re.sub(rf"\b{word}\b", neutral if mode == "published" else "", text)
        text = re.sub(r"\s+", " ", text)
        text = re.sub(r'\s([?.!,"](?:\s|$))', r"\1", text).strip()
    return text


MODES = ["published", "published_delete", "published_mask"]
PIECES = st.sampled_from([*(w for w, _ in TABLE), "Man", "WIVES", "dog", "snowman", "hi\u017f", "\u0130", "\u00e9"])
MARKS = st.sampled_from([*" \t\n.,?!\"'-_", "  ", " . ", " .", ". ", ' "', "\x1c", "\x0b", "\u00a0", "\u2003", ""])
TEXTS = st.lists(st.tuples(MARKS, PIECES, MARKS), max_size=6).map(lambda ps: "".join("".join(p) for p in ps))


def test_by_hand():
    texts = pa.array(["A Man , his DOG  and her .", "wives . . y", None])
    assert neutralize(texts, "published").to_pylist() == ["a person, their dog and their.", "partners.. y", None]
    assert neutralize(texts, "published_delete").to_pylist() == ["a, dog and.", ".. y", None]
    assert neutralize(texts, "published_mask").to_pylist() == [
        "a [MASK] , [MASK] dog  and [MASK] .",
        "[MASK] . . y",
        None,
    ]


@pytest.mark.parametrize("mode", MODES)
@given(texts=st.lists(st.one_of(TEXTS, st.text(max_size=8)), min_size=1, max_size=4))
def test_any_text(mode, texts):
    assert neutralize(pa.array(texts), mode).to_pylist() == [literally(t, mode) for t in texts]


@pytest.mark.parametrize("mode", MODES)
def test_real_captions(data_dir, mode):
    path = data_dir / "coco" / "captions_val2017.json"
    texts = [a["caption"] for a in json.loads(path.read_text(encoding="utf-8"))["annotations"]][::40]
    lines = (data_dir / "gcc" / "validation-8000.tsv").read_text(encoding="utf-8").splitlines()
    texts += [line.split("\t")[0] for line in lines][::20]
    assert neutralize(pa.array(texts), mode).to_pylist() == [literally(t, mode) for t in texts]
