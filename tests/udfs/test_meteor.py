"""METEOR equals NLTK's of the same words, counts synonyms of WordNet where its data are, and says so where they are not."""

from __future__ import annotations

import gc
import zipfile

import pytest
from function_calls import called

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.udfs import meteor

score = pytest.importorskip("nltk.translate.meteor_score")

# NLTK leaves files of an archive to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

GLOSSES = {"noun": [("couch", "sofa")], "verb": [("run", "jog")], "adj": [], "adv": []}


def meteors(texts, references, **settings):
    return called("meteor", settings, texts, references).to_pylist()


def save_wordnet(folder):
    """The files of a WordNet of two synsets, as Princeton's are written."""
    folder.mkdir(parents=True)
    for name in ("index.sense", "cntlist.rev"):
        (folder / name).write_text("")
    (folder / "lexnames").write_text("".join(f"{number:02d}\tnoun.artifact\t1\n" for number in range(45)))
    for kind, synsets in GLOSSES.items():
        data, index = "  1 a licence\n", "  1 a licence\n"
        for words in synsets:
            named = " ".join(f"{word} 0" for word in words)
            frames = " 01 + 02 00" if kind == "verb" else ""
            offset = len(data)
            data += f"{offset:08d} {'06' if kind == 'noun' else '38'} {kind[0]} {len(words):02x} {named} 000{frames} | a thing\n"
            index += "".join(f"{word} {kind[0]} 1 0 1 0 {offset:08d}  \n" for word in sorted(words))
        (folder / f"data.{kind}").write_text(data)
        (folder / f"index.{kind}").write_text(index)
        (folder / f"{kind}.exc").write_text("")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """The only folder in which NLTK looks for data."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    return tmp_path


def test_by_hand_and_beside_nltk():
    """Three of five words in one piece: P = R = 3/5, one chunk of three matches."""
    text, other = "The man on a couch.", "the man on my sofa"
    found = meteors(
        [text, "dogs running", "nothing", None, "a dog"],
        [[other], ["the dog runs", None], ["a cat"], ["x"], []],
        synonyms="none",
    )
    assert found[0] == pytest.approx(3 / 5 * (1 - 0.5 * (1 / 3) ** 3))
    assert found[1] == pytest.approx(
        score.meteor_score([["the", "dog", "runs"]], ["dogs", "running"], wordnet=meteor._NoSynonyms())
    )
    assert found[2:] == [0.0, None, None]
    best = meteors([text], [["a dog", text]], synonyms="none")
    assert best == [pytest.approx(1 - 0.5 * (1 / 5) ** 3)]


@pytest.mark.parametrize("is_packed", [False, True])
def test_synonyms_of_wordnet(data, is_packed):
    """As ``nltk.downloader`` leaves it, packed, or unpacked."""
    save_wordnet(data / "corpora" / "wordnet")
    before = meteor.digest()
    if is_packed:
        with zipfile.ZipFile(data / "corpora" / "wordnet.zip", "w") as archive:
            for file in sorted((data / "corpora" / "wordnet").iterdir()):
                archive.write(file, f"wordnet/{file.name}")
                file.unlink()
        (data / "corpora" / "wordnet").rmdir()
    with_them, without = (meteors(["a couch"], [["a sofa"]], **how) for how in ({}, {"synonyms": "none"}))
    assert with_them == [pytest.approx(1 - 0.5 * (1 / 2) ** 3)]
    assert without == [pytest.approx(0.5 * 0.5)]
    assert (meteor.digest() == before) != is_packed
    assert meteor.digest("none") != meteor.digest()
    gc.collect()  # files of the archive


def test_data_that_are_not_there(data):
    with pytest.raises(NotFoundError, match="WordNet") as caught:
        meteors(["a dog"], [["a dog"]])
    assert caught.value.code == "E1220"
    with pytest.raises(RequestError, match="no synonyms") as refused:
        meteors(["a dog"], [["a dog"]], synonyms="thesaurus")
    assert refused.value.code == "E3051"
