"""caption_gender: labels from the words of captions, equal to the text function and to the published counts."""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.errors import SqlError
from counterbalance.udfs.gender import gender_label
from counterbalance.udfs.wordlists import terms

_names = itertools.count()
NAMES = {None: "unclear", "both": "mixed", "male": "male", "female": "female"}
WORDS = [
    *terms("gender_words"),
    "dog",
    "The",
    "a",
    "MAN",
    "caf\u00e9",
    "man\u00e9",
    "she-wolf",
    "he's",
    "\u0130",
    "human",
]
SPACES = [
    " ",
    "  ",
    "\t",
    "\n",
    "\u00a0",
    "\u2003",
    "\x0b",
    "\x1c",
    "\x85",
    "\u3000",
    ". ",
    ", ",
    "-",
    "_",
    "'",
    '"',
    "\u200b",
]


def coco_lake(build, texts, images):
    lake = cb.connect(f"memory://caption-gender-{os.getpid()}-{next(_names)}")
    lake.ingest(
        {
            "images": build.images(image_id=sorted(set(images))),
            "captions": build.captions(caption_id=list(range(len(texts))), image_id=images, text=texts),
        }
    )
    return lake


@pytest.mark.parametrize(
    ("texts", "words", "gensynth"),
    [
        (["A man rides."], "male", "male"),
        (["A ride by a man."], "male", "unclear"),
        (["a man", "a dog"], "male", "male"),
        (["a man", "a woman"], "mixed", "mixed"),
        (["a man and his wife"], "mixed", "mixed"),
        (["the man's hat"], "male", "unclear"),
        (["a dog", "", None], "unclear", "unclear"),
        (["her boyfriend"], "mixed", "female"),
    ],
)
def test_images_by_hand(empty_lake, build, texts, words, gensynth):
    empty_lake.ingest(
        {
            "images": build.images(image_id=[7]),
            "captions": build.captions(caption_id=list(range(len(texts))), image_id=[7] * len(texts), text=texts),
        }
    )
    assert empty_lake.sql("SELECT * FROM caption_gender").fetchall() == [(7, words)]
    assert empty_lake.sql("SELECT * FROM caption_gender_gensynth").fetchall() == [(7, gensynth)]


pieces = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), max_size=6)
text = st.one_of(st.none(), pieces.map(lambda p: "".join(w + s for w, s in p)), st.text(max_size=12))


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(texts=st.lists(text, min_size=1, max_size=30))
def test_captions_agree_with_the_function(build, texts):
    lake = coco_lake(build, texts, [1] * len(texts))
    with lake.session() as session:
        for rule, words in (("words", "lists.gender_words"), ("gensynth", "lists.gender_gensynth")):
            query = f"SELECT label FROM caption_labels({words}, '{rule}') ORDER BY caption_id"
            labels = [label for (label,) in session.sql(query).fetchall()]
            assert labels == [NAMES[v] for v in gender_label(pa.array(texts, pa.string()), rule).to_pylist()]


@pytest.mark.parametrize("view", ["caption_labels", "caption_gender"])
def test_an_unknown_rule_is_refused(lake, view):
    with pytest.raises(SqlError, match="'rule' of caption_"):
        lake.sql(f"SELECT * FROM {view}(rule := 'paper')")


def test_own_words_of_any_classes(lake):
    animals = pa.table({"term": ["horse", "dogs"], "class": ["equine", "canine"]})
    with lake.session() as session:
        name = session.bind("animals", animals)
        rows = session.sql(f"SELECT image_id, label FROM caption_gender({name}) WHERE label <> 'unclear' ORDER BY 1")
        assert rows.fetchall() == [(1, "equine"), (3, "canine")]


def test_counts_of_coco(data_dir, build):
    path = data_dir / "coco" / "captions_val2017.json"
    captions = json.loads(path.read_text(encoding="utf-8"))["annotations"]
    lake = coco_lake(build, [c["caption"] for c in captions], [c["image_id"] for c in captions])
    labels = Counter(label for _, label in lake.sql("SELECT * FROM caption_gender_gensynth").fetchall())
    assert labels == {"male": 1_205, "female": 513, "unclear": 3_055, "mixed": 227}
    labels = Counter(label for _, label in lake.sql("SELECT * FROM caption_gender").fetchall())
    assert labels == {"male": 1_184, "female": 498, "unclear": 3_078, "mixed": 240}  # a dog's ball is not "his"
