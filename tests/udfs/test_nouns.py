"""Words have the same places for every tagger; nouns are what NLTK, spaCy and TextBlob say when they are called directly."""

from __future__ import annotations

import sys

import pytest
from function_calls import called

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.udfs import taggers
from counterbalance.udfs.spans import spans

TEXTS = [
    "A man riding a horse near the T-shirt shop's doors.",
    "Man riding wave on surfboard",
    "Two dogs aren't playing with 3.5 balls...",
    "a 12:30 train, in Rome--at last",
    "café près de la gare 😀",
    None,
    "",
    "Two dogs aren't playing with 3.5 balls...",
]


def nouns(texts, tagger="textblob"):
    return called("nouns", {"tagger": tagger}, texts).to_pylist()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TEXTS[0], "A|man|riding|a|horse|near|the|T-shirt|shop|'s|doors|."),
        (TEXTS[2], "Two|dogs|are|n't|playing|with|3.5|balls|..."),
        (TEXTS[3], "a|12:30|train|,|in|Rome|--|at|last"),
        (TEXTS[4], "café|près|de|la|gare|😀"),
        ("we'll can't won\u2019t I'm", "we|'ll|ca|n't|wo|n\u2019t|I|'m"),
        ("\tthe  'dog' \"cat\" (a/b) x_y 5th", "the|'|dog|'|\"|cat|\"|(|a|/|b|)|x_y|5th"),
        ("nn't mother-in-law - rock'n'roll", "n|n't|mother-in-law|-|rock|'|n|'|roll"),
        ("", ""),
    ],
)
def test_words_and_marks(text, wanted):
    places = spans(text)
    assert [text[a:b] for a, b in places] == wanted.split("|") * bool(wanted)
    assert not "".join(text.split()).replace("".join(text[a:b] for a, b in places), ""), "nothing is lost"


def test_words_are_the_treebanks():
    """But for what it rewrites: as NLTK cuts captions."""
    treebank = pytest.importorskip("nltk.tokenize").NLTKWordTokenizer()
    for text in [
        "A man's dog isn't on the well-known beach, is it?",
        "two cats; one (red) bed: they'll sleep!",
        TEXTS[0],
    ]:
        assert [text[a:b] for a, b in spans(text)] == treebank.tokenize(text)


def test_textblob():
    library = pytest.importorskip("textblob.en")
    found = nouns(TEXTS)
    assert found[5:7] == [None, []]
    assert found[7] == found[2]
    assert [n["word"] for n in found[0]] == ["man", "horse", "T-shirt", "shop", "doors"]
    assert [(n["word"], n["tag"]) for n in found[1]] == [("Man", "NN"), ("wave", "NN"), ("surfboard", "NN")]
    for text, row in zip(TEXTS, found, strict=True):
        for noun in row or ():
            assert text[noun["start"] : noun["end"]] == noun["word"]
            assert spans(text)[noun["position"]] == (noun["start"], noun["end"])
    words = ["two", "dogs", "are", "n't", "playing", "with", "3.5", "balls", "..."]
    direct = [(i, t) for i, (_, t) in enumerate(library.parser.find_tags(words)) if t in {"NN", "NNS"}]
    assert [(n["position"], n["tag"]) for n in found[2]] == direct == [(1, "NNS"), (7, "NNS")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A man rides a horse", "man horse"),
        ("he rides two horses", "horses"),
        ("the rides at a fair", "rides"),
        ("a boy swings his bat", "boy bat"),
        ("two bears near the tracks and a stop sign", "bears tracks stop sign"),
        ("A man tries to surf the waves", "man waves"),
    ],
)
def test_verbs_are_told_from_nouns_by_their_neighbours(text, wanted):
    pytest.importorskip("textblob")
    assert [n["word"] for n in nouns([text])[0]] == wanted.split()


def test_nltk_with_its_data(tmp_path, monkeypatch):
    perceptron = pytest.importorskip("nltk.tag.perceptron")
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(NotFoundError, match="averaged_perceptron_tagger_eng") as caught:
        nouns(["a dog"], "nltk")
    assert caught.value.code == "E1220"
    folder = tmp_path / "taggers" / "averaged_perceptron_tagger_eng"
    folder.mkdir(parents=True)
    made = perceptron.PerceptronTagger(load=False)
    sentences = [
        [("a", "DT"), ("dog", "NN"), ("runs", "VBZ")],
        [("two", "CD"), ("cats", "NNS"), ("run", "VBP"), (".", ".")],
    ]
    made.train(sentences * 10)
    made.save_to_json("eng", str(folder))
    texts = ["a dog runs.", "two cats run", "a horse runs"]
    found = nouns(texts, "nltk")
    tagger = perceptron.PerceptronTagger()
    wanted = [[(w, t) for w, t in tagger.tag(x.replace(".", " .").split()) if t in {"NN", "NNS"}] for x in texts]
    assert [[(n["word"], n["tag"]) for n in row] for row in found] == wanted
    assert ("dog", "NN") in wanted[0]
    before = taggers.digest("nltk")
    file = next(folder.glob("*.weights.json"))
    file.write_text(file.read_text() + " ")
    assert taggers.digest("nltk") != before


def test_spacy_with_a_pipeline(tmp_path):
    spacy = pytest.importorskip("spacy")
    made = spacy.blank("en")
    rules = made.add_pipe("attribute_ruler")
    for word, tag in {"dog": "NN", "cats": "NNS", "rome": "NNP", "runs": "VBZ"}.items():
        rules.add([[{"LOWER": word}]], {"TAG": tag})
    made.to_disk(tmp_path / "rules")
    name = f"spacy:{tmp_path / 'rules'}"
    assert [[(n["word"], n["tag"], n["position"]) for n in row] for row in nouns(["the Dog's cats, in Rome", ""], name)] == [
        [("Dog", "NN", 1), ("cats", "NNS", 3)], []
    ]  # fmt: skip
    before = taggers.digest(name)
    rules.add([[{"LOWER": "bed"}]], {"TAG": "NN"})
    made.to_disk(tmp_path / "rules")
    assert taggers.digest(name) != before
    package = tmp_path / "xx_of_a_test"
    (package / "xx_of_a_test-1.0").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    made.to_disk(package / "xx_of_a_test-1.0")
    sys.path.insert(0, str(tmp_path))
    try:
        assert [n["word"] for n in nouns(["a bed"], "spacy:xx_of_a_test")[0]] == ["bed"]
    finally:
        sys.path.remove(str(tmp_path))


def test_taggers_that_are_not_there():
    for name, code, kind in (
        ("brill", "E3051", RequestError),
        ("spacy:", "E3051", RequestError),
        ("spacy:xx_never_installed", "E1221", NotFoundError),
    ):
        with pytest.raises(kind) as caught:
            nouns(["a"], name)
        assert caught.value.code == code
        assert caught.value.hint


def test_a_column_of_nouns_knows_its_tagger(lake):
    pytest.importorskip("textblob")
    lake.add_column("captions", "nouns", "nouns(text)")
    lake.refresh(executor="inline")
    asked = "SELECT caption_id, list_transform(nouns, lambda n: n.word) FROM captions WHERE caption_id IN (13, 14, 17) ORDER BY 1"
    assert lake.sql(asked).fetchall() == [(13, ["woman", "book"]), (14, ["dogs", "grass"]), (17, None)]
    assert lake.refresh(executor="inline").mode == "no_op"
