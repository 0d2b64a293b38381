"""Words that every image of a label has make no sum less sure: a rare scene still has company where all captions say 'a', too."""

from __future__ import annotations

import random

import pytest

import counterbalance as cb

SCENES = ("beach", "hall", "kitchen", "office")
GENDER = "image_labels('perceived_gender')"
CALLS = {
    "cooccurrence": f"SELECT concept, count FROM cooccurrence({GENDER}, word_concepts(captions)) WHERE label = 'female'",
    "keyword_profile": f"SELECT keyword, count FROM keyword_profile({GENDER}) WHERE label = 'female'",
}


def scenes_left(build, folder, call, seed, word):
    """Return how many of the female images are in none of the scenes shown, and in how many scenes they can be; few are in the rare one."""
    draw, size = random.Random(seed), 220
    female = [draw.random() < 0.5 for _ in range(size)]
    rare = draw.choice(SCENES)
    few = draw.sample([i for i in range(size) if female[i]], draw.randint(1, 9))
    common = [s for s in SCENES if s != rare]
    scenes = [(rare if i in few else draw.choice(common)) if female[i] else draw.choice(SCENES) for i in range(size)]
    lake, ids = cb.connect(str(folder)), [*range(size)]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"{word} {s}" for s in scenes]),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["perceived_gender"] * size, value=["female" if f else "male" for f in female]
            ),
        }
    )  # fmt: skip
    shown = {name: count for name, count in lake.sql(CALLS[call]).fetchall() if name in SCENES and count is not None}
    return sum(female) - sum(shown.values()), len(SCENES) - len(shown)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("word", ["a", ""])
@pytest.mark.parametrize("seed", range(4))
def test_the_rare_scene_is_not_what_is_left(build, tmp_path, call, word, seed):
    left, scenes = scenes_left(build, tmp_path / "a.lake", call, seed, word)
    assert scenes > 1
    assert left >= 10
