"""Query files say in TOML what they are; every shipped one is complete, parses and runs."""

from __future__ import annotations

import os
import re
from importlib.resources import files

import pytest
import sqlglot
from repeats import again
from sqlglot import exp

import counterbalance as cb
from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.sql import queries, query_files
from counterbalance.engine.sql.query_model import Among, Meeting

WHOLE = """\
/*--- toml
answers = "How many."
details = \"\"\"
A longer text:
of two lines. C:\\\\path
\"\"\"
subject = "who is in the pictures"
source = \"\"\"
Somebody (2024), with: a colon
and a second line\"\"\"
# a comment
level = "image"
open_labels = true
apart = ["groups"]
together = ["terms", "words"]
meets = { left = "groups.label", right = "terms.class", watched = "found" }
among = [{ labels = ["name"], relations = ["words", "groups"] }]

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.terms]
relation = ["term", "class"]

[params.words]
relation = []
default = "(SELECT term FROM lists.x WHERE class = 'a : b' AND term <> $name)"
about = "with a colon inside"

[params.k]
type = "integer[]"
default = [5, 10]
min = 1
about = "cut-offs"

[params.name]
type = "varchar"
default = "it's"
values = "labels.attribute"
about = "a text"

[params.least]
type = "double"
default = 0.5
above = 0
below = 1
grid = [0.5, 0.75]
free = true

[params.most]
type = "integer"
optional = true

[params.rule]
type = "varchar"
default = "a"
choices = ["a", "b"]
about = "which"

[[cells]]
count = "n"

[[cells]]
count = "m"
of = "n"
by = ["label"]
within = ["step"]
totals = ["pooled"]
measures = ["share"]
omit = true
---*/
-- a comment with $nothing
SELECT * FROM groups, terms, words WHERE $k IS NOT NULL AND $rule = '$no' -- inner comment
AND $least > 0 AND $most > 0;
"""
SHORT = '/*--- toml\nanswers = "Counts."\n---*/\nSELECT 1 AS x'


def test_a_whole_file():
    query = query_files.parse(WHOLE, "audit", "shares.sql")
    assert (query.name, query.kind, query.doc) == ("shares", "audit", "How many.")
    assert query.text == "A longer text:\nof two lines. C:\\path"
    assert query.source == "Somebody (2024), with: a colon and a second line"
    assert (query.subject, query.level) == ("who is in the pictures", "image")
    assert (query.open_labels, query.apart, query.together) == (True, {"groups"}, {"terms", "words"})
    assert query.meets == Meeting(("groups", "label"), ("terms", "class"), "found")
    assert query.among == (Among(("name",), ("words", "groups")),)
    got = [(p.name, p.type, p.default, p.doc) for p in query.parameters]
    assert got == [
        ("groups", "relation", "caption_gender", "(image_id, label): group relation"),
        ("terms", "relation", None, "(term, class)"),
        (
            "words",
            "relation",
            "(SELECT term FROM lists.x WHERE class = 'a : b' AND term <> $name)",
            "with a colon inside",
        ),
        ("k", "integer[]", "[5, 10]", "at least 1; cut-offs"),
        ("name", "varchar", "'it''s'", "a text"),
        ("least", "double", "0.5", "between 0 and 1"),
        ("most", "integer", "NULL", ""),
        ("rule", "varchar", "'a'", "one of 'a', 'b'; which"),
    ]
    by_name = {p.name: p for p in query.parameters}
    assert by_name["name"].label_column == "attribute"
    assert (by_name["least"].grid, by_name["least"].free, by_name["k"].grid) == ((0.5, 0.75), True, None)
    assert query.cells == (Cells("n"), Cells("m", "n", ("label",), ("step",), ("pooled",), ("share",), omit=True))
    assert query.sql.startswith("-- a comment")
    assert query.sql.endswith("$most > 0")
    assert query.signature.startswith("shares(groups := caption_gender, terms, words := ")
    assert hash(query) == hash(query_files.parse(WHOLE, "audit", "shares.sql"))


def test_the_file_is_sql_for_any_tool():
    (tree,) = sqlglot.parse(WHOLE, dialect="duckdb")
    assert isinstance(tree, exp.Select)


def test_the_shortest_file():
    query = query_files.parse(SHORT, "view", "n.sql")
    assert (query.parameters, query.text, query.source, query.level) == ((), "", "", None)
    assert (query.meets, query.among, query.cells, query.sql) == (None, (), (), "SELECT 1 AS x")
    assert query.since == "0.2.0"
    later = SHORT.replace("---*/", 'since = "0.3.0"\n---*/')
    assert query_files.parse(later, "view", "n.sql").since == "0.3.0"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("/*--- toml\n", "", "1: the file has no front matter"),
        ("/*--- toml", "-- shares: How many.", "1: the file has no front matter"),
        ("---*/", "", "1: the front matter is never closed"),
        ('answers = "How many."', 'answers = "How /* many."', "2: the front matter is an SQL comment"),
        ('answers = "How many."', "answers = How many.", "2: this is no TOML: Invalid value"),
        ('level = "image"', "level", "12: this is no TOML: Expected '='"),
        ('about = "which"', 'about = "which"\nabout = "again"', "61: this is no TOML: Cannot overwrite a value"),
        ('answers = "How many."', "", "1: 'answers' is missing"),
        ('answers = "How many."', 'answers = " "', "2: 'answers' is missing"),
        ("open_labels = true", 'reads = "open labels"', "13: no key 'reads' is known here"),
        ("level =", "levle =", "12: no key 'levle' is known here; did you mean 'level'?"),
        ("open_labels = true", 'open_labels = "yes"', "13: 'open_labels' must be true or false, not 'yes'"),
        ('apart = ["groups"]', 'apart = "groups"', "14: 'apart' must be a list of texts, not 'groups'"),
        ('apart = ["groups"]', 'apart = ["grups"]', "14: no parameter is called 'grups'; did you mean 'groups'?"),
        ('left = "groups.label"', 'left = "groups"', "16: 'groups' is not a relation.column"),
        ('left = "groups.label"', 'left = "grops.label"', "16: no parameter is called 'grops'"),
        ('left = "groups.label", ', "", "16: 'left' is missing"),
        ('labels = ["name"]', 'labels = ["nam"]', "17: no parameter is called 'nam'; did you mean 'name'?"),
        ("[params.terms]", "[params.te-rms]", "24: 'te-rms' is not a name of a parameter"),
        ("[params.terms]", "[params.Terms]", "24: 'Terms' is not a name of a parameter"),
        ('relation = ["term", "class"]', "", "24: parameter 'terms' needs either 'relation' or 'type'"),
        ('relation = ["term", "class"]', "relation = true", "25: 'relation' must be a list of texts, not True"),
        ('relation = ["term", "class"]', 'relation = ["term, class"]', "25: 'term, class' is not a name of a column"),
        ("relation = []", 'relation = []\nchoices = ["a"]', "29: a relation has no 'choices'"),
        ('default = "caption_gender"', "default = 3", "21: 'groups' is a relation, and its values SQL text, not 3"),
        (
            'type = "integer[]"',
            'type = "intger[]"',
            "33: 'intger[]' is not a type of a parameter; did you mean 'integer'?",
        ),
        ("default = [5, 10]", "default = 5", "34: a value of 'k' must be integer[], not 5"),
        ("default = [5, 10]", "default = [5, 0]", "34: 'k' cannot be 0"),
        ("default = [5, 10]", "default = [5, true]", "34: a value of 'k' must be integer[], not [5, True]"),
        ("min = 1", 'min = "1"', "35: 'min' must be a number, not '1'"),
        ("min = 1", "minimum = 1", "35: no key 'minimum' is known here; did you mean 'min'?"),
        ('default = "it\'s"', "default = 1", "40: a value of 'name' must be varchar, not 1"),
        ('values = "labels.attribute"', 'values = "labels.colour"', "41: 'values' cannot be 'labels.colour'"),
        ('values = "labels.attribute"', "min = 1", "38: 'name' is not a number, and has no range"),
        ("default = 0.5", "default = 1", "46: 'least' cannot be 1"),
        ("grid = [0.5, 0.75]", "grid = [0.5, 2]", "49: 'least' cannot be 2"),
        ("free = true", "free = 1", "50: 'free' must be true or false, not 1"),
        ('type = "integer"\noptional', "optional", "52: parameter 'most' needs either 'relation' or 'type'"),
        ('default = "a"', 'default = "c"', "58: 'rule' cannot be 'c'"),
        ('choices = ["a", "b"]', "choices = [1]", "59: 'choices' must be a list of texts, not [1]"),
        ("[params.terms]", "[param.terms]", "24: no key 'param' is known here; did you mean 'params'?"),
        ('count = "m"\n', "", "65: 'count' is missing"),
        ('of = "n"', 'off = "n"', "67: no key 'off' is known here; did you mean 'of'?"),
        ('by = ["label"]', 'by = "label"', "68: 'by' must be a list of texts, not 'label'"),
        ("AND $least > 0 ", "AND $leest > 0 ", "76: no parameter declares $leest; did you mean 'least'?"),
        ("AND $least > 0 ", "", "44: the SQL does not use $least"),
        (" AND term <> $name)", " AND term <> $nam)", "29: no parameter declares $nam; did you mean 'name'?"),
        (" AND term <> $name)", ")", "38: the SQL does not use $name"),
        ("FROM groups, terms, words", "FROM groups, words", "24: the SQL does not use terms"),
    ],
)
def test_a_file_that_is_not_right_is_refused_with_its_line(old, new, told):
    assert WHOLE.count(old) == 1
    with pytest.raises(RequestError) as caught:
        query_files.parse(WHOLE.replace(old, new), "audit", "odd.sql")
    assert caught.value.message.startswith(f"odd.sql:{told}")
    assert caught.value.code == "E3030"


def test_the_hint_says_what_may_stand_there():
    with pytest.raises(RequestError) as caught:
        query_files.parse(WHOLE.replace('default = "a"', 'default = "c"'), "audit", "odd.sql")
    assert caught.value.hint == "one of 'a', 'b'"
    with pytest.raises(RequestError, match="'two-words' is not a name for audit"):
        query_files.parse(SHORT, "audit", "two-words.sql")


def test_files_are_read_when_they_are_asked_for(monkeypatch):
    read = []
    parse = query_files.parse
    monkeypatch.setattr(queries, "parse", lambda text, kind, where: read.append(where) or parse(text, kind, where))
    known = queries.Library({"audits": "audit", "views": "view"})
    assert "demographics" in known
    assert len(known) > 100
    assert read == []
    assert known["demographics"] is known["demographics"]
    assert read == ["demographics.sql"]


def test_audits_are_found_by_name():
    assert cb.audits() == queries.audits()
    assert {"demographics", "crime_words", "retrieval_bias"} <= set(cb.audits())
    assert queries.audit("demographics").kind == "audit"
    with pytest.raises(NotFoundError, match="did you mean 'demographics'"):
        queries.audit("demografics")
    with pytest.raises(NotFoundError):
        queries.audit("caption_gender")


SHIPPED = sorted(queries.queries().items())


@pytest.mark.parametrize(("name", "query"), SHIPPED)
def test_a_shipped_file_is_complete(name, query):
    folder = {"audit": "audits", "view": "views"}[query.kind]
    text = (files("counterbalance.queries") / folder / f"{name}.sql").read_text(encoding="utf-8")
    assert query_files.parse(text, query.kind, name) == query
    assert query.doc.endswith((".", "?"))
    assert len(query.doc) < 140
    assert query.source, "where it comes from"
    assert all(p.doc for p in query.parameters)


@pytest.mark.parametrize(("name", "query"), SHIPPED)
def test_a_shipped_file_is_one_query_of_its_parameters(name, query):
    trees = sqlglot.parse(query.sql, dialect="duckdb")
    assert len(trees) == 1
    (tree,) = trees
    assert isinstance(tree, exp.Query)
    known = {p.name for p in query.parameters} - {"preset"}  # which sets others
    text = " ".join([query.sql, *(p.default or "" for p in query.parameters), "min_count" if query.cells else ""])
    text += " " + " ".join(name for cells in query.cells for name in cells.places[1:])
    assert not {n for n in known if not re.search(rf"\b{n}\b", text)}
    assert {n.name for n in tree.find_all(exp.Placeholder, exp.Parameter)} <= known


ALSO_FUNCTIONS = {"sentiment"}
"""Audits in FROM whose name is a function's where a value stands; tests/udfs/test_sentiment_models.py uses both at once."""


@pytest.mark.parametrize(("name", "query"), SHIPPED)
def test_a_shipped_file_never_shares_a_name(name, query):
    from counterbalance.engine.schema import BASE_TABLES
    from counterbalance.engine.search import SIGNATURES

    assert name not in BASE_TABLES
    assert name not in SIGNATURES
    assert name not in cb.functions() or name in ALSO_FUNCTIONS


REQUIRED = {
    "attribute": "'scene'",
    "kind": "'object'",
    "groups": "caption_gender",
    "model_bias": "(SELECT 'dog' AS category, 0.5 AS value)",
    "predictions": "(SELECT image_id, 'dog' AS predicted FROM images)",
    "generations": "(SELECT caption_id AS image_id, 'a' AS category, 1 AS place FROM captions)",
    "tables": "(SELECT 9 AS n, 4 AS n_label, 5 AS n_concept, count(*) AS count FROM captions WHERE caption_id < 3)",
    "items": "(SELECT caption_id AS item_id, image_id, text, [{'feature': 1, 'activation': 0.5}] AS features FROM captions)",
    "features": "(SELECT caption_id AS item_id, image_id, 0 AS sae, 1 AS feature, 0.5 AS activation FROM captions)",
    "sources": "(SELECT caption_id AS image_id, image_id AS source_id FROM captions)",
    "shares": "(SELECT 1 AS step, 0 AS sae, 1 AS feature, 'a' AS cluster, 1.0 AS share)",
    "clusters": "(SELECT 1 AS step, 'a' AS cluster, 'a' AS topic)",
    "topic_vectors": "(SELECT 'a' AS topic, [1.0, 2.0] AS embedding)",
    "cluster_vectors": "(SELECT 'a' AS cluster, [1.0, 2.0] AS embedding WHERE 1 = 0)",
    "checkpoint": "'nowhere'",
    "terms": "lists.crime_words",
    "others": "image_labels('scene')",
    "hits": "top_k(captions, captions, 'random')",
    "labelled_hits": "top_k(captions, captions, 'random', 3)",
    "predicted": "detections",
    "labels": "person_labels('scene')",
    "reference": "person_labels('scene')",
    "crossed": "image_labels('scene')",
    "others_crossed": "image_labels('weather')",
    "other_texts": "captions",
    "left_side": "(SELECT 'all' AS item, label, count, n, images, effective, share AS value, low, high, true AS in_table FROM label_shares())",
    "right_side": "(SELECT 'all' AS item, label, count, n, images, effective, share AS value, low, high, true AS in_table FROM label_shares())",
    "item_groups": "(SELECT caption_id AS item_id, 'male' AS label FROM captions)",
    "item_images": "(SELECT caption_id AS item_id, image_id FROM captions)",
    "query_images": "(SELECT caption_id AS query_id, image_id FROM captions)",
    "relevant": "(SELECT caption_id AS query_id, caption_id AS item_id FROM captions)",
    "ratings": "label_ratings('scene')",
    "candidates": "(SELECT caption_id AS edit_id, image_id, 'a' AS label, 0 AS seed, 0e0 AS s_prompt, 0e0 AS s_object, 0e0 AS s_color FROM captions)",
    "contrast": "(SELECT caption_id AS edit_id, image_id, 'a' AS label FROM captions)",
    "colors": "(SELECT caption_id AS edit_id, [0.5, 0.25, 1.0] AS grid FROM captions)",
    "edits": "(SELECT caption_id AS edit_id, image_id, 'a' AS label, 'b' AS template, true AS accepted, 'a' AS predicted, 0 AS background FROM captions)",
    "pairs": "(SELECT caption_id AS pair_id, text AS original, concat(text, ' too') AS counterfactual FROM captions)",
    "scores": "(SELECT caption_id AS pair_id, 0.3 AS rr, 0.2 AS r_o, 0.1 AS o_r, 0.4 AS cc, 0.1 AS c_o, 0.2 AS o_c FROM captions)",
    "judgements": "(SELECT image_id, 'a' AS first, 'b' AS second, 'a' AS winner FROM captions)",
    "other_words": "lists.group_words_skin_tone",
    "model": "image_labels('scene', annotator := 'ann')",
    "originals": "(SELECT image_id, [0.0] AS embedding FROM images)",
    "real": "(SELECT detection_id, 'a' AS label, [x, y]::FLOAT[2] AS embedding FROM detections)",
    "images": "(SELECT image_id, [1.0, image_id]::FLOAT[2] AS embedding FROM images)",
    "categories": "(SELECT text AS category, [caption_id, 1.0]::FLOAT[2] AS embedding FROM captions)",
    "prompts": "(SELECT text AS category, [caption_id, 1.0]::FLOAT[2] AS embedding FROM captions)",
    "words": "(SELECT text AS category, [caption_id, 1.0]::FLOAT[2] AS embedding FROM captions)",
    "vectors": "(SELECT 'x' AS class, [caption_id, 1.0]::FLOAT[2] AS embedding FROM captions)",
    "targets": "(SELECT 'x' AS label, [caption_id, 1.0] AS embedding, image_id AS source FROM captions)",
    "attributes": "(SELECT image_id, 'a' AS label, [caption_id, 1.0] AS embedding FROM captions)",
    **{letter: f"'{letter}'" for letter in "xyab"},
    "edited": "(SELECT detection_id AS edit_id, image_id, 'a' AS label, [y, x]::FLOAT[2] AS embedding FROM detections)",
}


LONG = "(SELECT image_id, attribute AS category, value AS attribute, score FROM labels)"
TERMS = "(SELECT text AS term, [caption_id, 1.0] AS embedding FROM captions)"
OWN = {
    "attribute_auc": {"scores": LONG, "labels": LONG},
    "average_precision": {"predictions": "(SELECT image_id, category AS concept, 0.5 AS score FROM detections)"},
    "ratio_shift": dict.fromkeys(("original", "inpainted"), "(SELECT image_id, text FROM captions)"),
    "attribute_matrix": {"attributes": LONG, "category": "'scene'", "other": "'weather'"},
    **{
        name: {"attributes": LONG}
        for name in ("attribute_confounding", "attribute_frequencies", "attribute_shares", "attribute_topics")
    },
    "scene_topics": {
        "clusters": "(SELECT image_id, caption_id % 2 AS cluster FROM captions)",
        "words": "(SELECT 1 AS cluster, ['a', 'b'] AS words FROM captions)",
    },
    "text_topics": {
        "features": "(SELECT caption_id AS item_id, image_id, 0 AS sae, 1 AS feature, 0.5 AS activation FROM captions)",
        "shares": "(SELECT 1 AS step, 0 AS sae, 1 AS feature, 'a' AS cluster, 1.0 AS share FROM captions)",
    },
    "cluster_representation": {"clusters": "(SELECT image_id, caption_id % 2 AS cluster FROM captions)"},
    "distinctive_words": {"texts": "(SELECT image_id AS part, text FROM captions)"},
    "compare_attributes": {"attributes": LONG, "others": LONG},
    "proposal_recall": {"proposal": TERMS, "reference": TERMS},
    "mean_rankings": {
        "rows": "(SELECT 'hits' AS ranking, 'bias' AS metric, 5 AS k, 'a' AS image, 0.5 AS value FROM captions)"
    },
    "ranked_labels": {
        "hits": "(SELECT 'hits' AS ranking, caption_id AS item_id, 1 AS rank FROM captions)",
        "labelled_hits": "(SELECT 'hits' AS ranking, caption_id AS item_id, 1 AS rank FROM captions)",
    },
    "counterfactual_retrieval": {
        f"{part}{name}": given
        for part in ("", "original_")
        for name, given in (
            (
                "texts",
                "(SELECT caption_id AS text_id, image_id, image_id AS source_id, [1.0, 2.0] AS embedding FROM captions)",
            ),
            ("images", "(SELECT image_id, [2.0, 1.0] AS embedding FROM images)"),
        )
    },
    "subject_errors": {
        "alterations": "(SELECT caption_id AS pair_id, 'man' AS original, 'boy' AS counterfactual FROM captions)",
        "answers": "(SELECT caption_id AS pair_id, 'original' AS side, 'a' AS annotator, 'both' AS answer FROM captions)",
    },
    "two_way_ranks": {
        "texts": "(SELECT caption_id AS text_id, image_id, image_id AS source_id FROM captions)",
        "text_hits": "top_k(captions, captions, 'random')",
        "image_hits": "top_k(captions, captions, 'random')",
    },
    "retrieval_bias_models": {
        "columns": "['embedding']",
        "asked": "(SELECT caption_id AS query_id, image_id, [1.0, 2.0] AS embedding FROM captions)",
        "ranked": "(SELECT image_id AS item_id, image_id, [2.0, 1.0] AS embedding FROM images)",
    },
    "retrieval_bias_sets": {
        "asked": "(SELECT caption_id AS query_id, image_id, [1.0, 2.0] AS embedding FROM captions)",
        **dict.fromkeys(
            ("original", "balanced", "contrast"),
            "(SELECT image_id AS item_id, image_id, 'male' AS label, [2.0, 1.0] AS embedding FROM images)",
        ),
    },
    "hits_with_own": {
        "asked": "(SELECT caption_id AS query_id, [1.0, 2.0] AS embedding FROM captions)",
        "pool": "(SELECT image_id AS item_id, [2.0, 1.0] AS embedding FROM images)",
        "own": "(SELECT caption_id AS query_id, caption_id AS item_id, [1.0, 1.0] AS embedding FROM captions)",
    },
    "label_differences": {"label": "'female'", "against": "'male'"},
    "swapped_captions": {"edits": "(SELECT caption_id AS edit_id, image_id, 'male' AS label FROM captions)"},
    "image_map": {"vectors": "(SELECT image_id, [image_id, 1.0]::FLOAT[2] AS embedding FROM images)"},
    "random_others": {"pairs": "(SELECT caption_id AS pair_id, image_id FROM captions)"},
    "matching_scores": {
        "pairs": "(SELECT caption_id AS pair_id, image_id, [1.0] AS text_o, [1.0] AS image_o, [1.0] AS text_c, [1.0] AS drawn_o, "
        "[1.0] AS drawn_c FROM captions)"
    },
    "false_discovery": {"tests": "(SELECT image_id / 9 AS p FROM images)"},
}
"""Where a parameter of that name is another thing elsewhere."""


def call_of(name, query):
    own = OWN.get(name, {})
    named = [p.name for p in query.parameters if p.default is None or p.name in own]
    given = REQUIRED | own
    return f"{name}({', '.join(f'{p} := {given[p]}' for p in named)})"


@pytest.fixture(scope="module")
def nothing(build):
    """A lake without a row."""
    lake = cb.connect(f"memory://nothing-{os.getpid()}")
    lake.ingest({"images": build.images(image_id=[])})
    return lake


@pytest.mark.cases(30)
@pytest.mark.slow
@pytest.mark.parametrize(  # every audit runs in tests/audits/test_audits_say_what_they_are.py
    ("name", "query"),
    [s for name, query in SHIPPED for s in ([(name, query)] if query.kind == "view" else again((name, query)))],
)
def test_a_shipped_file_runs_on_a_small_lake(name, query, lake):
    result = lake.sql(f"SELECT * FROM {call_of(name, query)}")
    assert result.to_arrow().schema == result.schema
    assert ("params" in result.columns) == (query.kind == "audit")


EVERY = range(0, len(SHIPPED), 12)
"""Places of files that are planned over an empty lake by default, views and audits; nothing of a lake's rows is planned by."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "query"), [*(SHIPPED[i] for i in EVERY), *again(*(s for i, s in enumerate(SHIPPED) if i not in EVERY))]
)
def test_a_shipped_file_has_the_same_columns_in_an_empty_lake(name, query, lake, nothing):
    text = f"SELECT * FROM {call_of(name, query)}"
    assert nothing.sql(text).columns == lake.sql(text).columns
