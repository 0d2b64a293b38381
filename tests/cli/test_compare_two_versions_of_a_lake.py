"""`compare` and attached lakes take a lake as it was: LAKE@TAG or LAKE@MOMENT."""

from __future__ import annotations

import json

import pytest
from repeats import again

import counterbalance as cb
from counterbalance.__main__ import main

COUNTS = ({"amber": 30, "teal": 20}, {"amber": 30, "teal": 70})


def rows(build, counts):
    labels = [label for label, count in counts.items() for _ in range(count)]
    ids = list(range(1, len(labels) + 1))
    names = {"attribute": ["scene"] * len(ids), "value": labels, "annotator": ["x"] * len(ids)}
    return {
        "images": build.images(image_id=ids, key=[str(i) for i in ids]),
        "captions": build.captions(caption_id=ids, image_id=ids, text=["a man"] * len(ids)),
        "labels": build.labels(label_id=ids, image_id=ids, **names),
    }


@pytest.fixture(scope="module")
def grown(tmp_path_factory, build):
    """A lake that grew; nobody changes it."""
    lake = cb.connect(tmp_path_factory.mktemp("grown") / "a.lake")
    lake.ingest(rows(build, COUNTS[0]))
    lake.tag("v1")
    lake.ingest(rows(build, COUNTS[1]))
    lake.tag("v2")
    return lake.uri


def compared(capsys, *words):
    code = main(["compare", *words, "--attribute", "scene", "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return {
        r["label"]: (r["count_a"], r["count_b"])
        for r in json.loads(out)
        if r["measure"] == "demographics" and r["item"] == "all"
    }


@pytest.mark.parametrize(("one", "other"), [("@v1", "@v2"), ("", "@v1"), *again(("@v1", ""), ("@v1", "@v1"))])
def test_of_two_tags(grown, capsys, one, other):
    wanted = tuple(COUNTS[0 if side == "@v1" else 1] for side in (one, other))
    found = compared(capsys, grown + one, grown + other)
    assert {label: pair for label, pair in found.items() if label in wanted[0]} == {
        label: (wanted[0][label], wanted[1][label]) for label in wanted[0]
    }


def test_a_moment(grown, capsys):
    assert compared(capsys, f"{grown}@2999-01-01", grown)["teal"] == (70, 70)


@pytest.mark.thorough
@pytest.mark.parametrize("how", [{}, {"timeout": 60.0}])
def test_attached(grown, how):
    text = "SELECT (SELECT count(*) FROM images), (SELECT count(*) FROM old.images), (SELECT count(*) FROM new.images)"
    lake = cb.connect(grown)
    assert lake.sql(text, attach={"old": f"{grown}@v1", "new": grown}, **how).fetchall() == [(100, 50, 100)]


def test_what_is_no_version_is_told(grown, capsys):
    assert main(["compare", grown, f"{grown}@v3"]) == 1
    assert "no tag 'v3'" in capsys.readouterr().err
    assert main(["compare", f"{grown}@v1", grown, "--at", "v2"]) == 2
    assert "take one of them" in capsys.readouterr().err


def test_a_lake_may_have_the_sign_in_its_name(tmp_path, build, capsys):
    lake = cb.connect(tmp_path / "a@v1")
    lake.ingest(rows(build, COUNTS[0]))
    assert compared(capsys, lake.uri, lake.uri)["teal"] == (20, 20)


def test_states_of_one_lake_are_no_independent_samples(grown, capsys, tmp_path, build):
    note = "take them for independent samples"
    assert main(["compare", f"{grown}@v1", f"{grown}/", "--attribute", "scene"]) == 0
    assert capsys.readouterr().err.count(note) == 1
    other = cb.connect(tmp_path / "b.lake")
    other.ingest(rows(build, COUNTS[0]))
    assert main(["compare", grown, other.uri, "--attribute", "scene"]) == 0
    assert note not in capsys.readouterr().err


def test_a_lake_without_captions_is_told_and_passes_no_gate(grown, tmp_path, build, capsys):
    other = cb.connect(tmp_path / "b.lake")
    other.ingest({"images": build.images(image_id=[1])})
    assert main(["compare", grown, other.uri, "--fail-if", "q < 0.05"]) == 4
    err = capsys.readouterr().err
    assert f"note: {other.uri} has no captions: what is made of them, such as caption_gender, is empty there" in err
    assert "nothing was checked" in err
