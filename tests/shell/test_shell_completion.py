"""What Tab offers in the shell."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from counterbalance.shell.complete import SqlCompleter


@pytest.fixture
def offers(lake):
    with lake.session() as session:
        completer = SqlCompleter(session)

        def of(text, after=""):
            document = Document(text + after, len(text))
            return [c.text for c in completer.get_completions(document, CompleteEvent())]

        yield of


def test_keywords_follow_the_case_that_is_typed(offers):
    assert "SELECT" in offers("SEL")
    assert "select" in offers("sel")


def test_relations_after_from(offers):
    assert {"captions", "caption_gender"} <= set(offers("select * from cap"))
    assert "meta.runs" in offers("select * from meta.r")
    assert "retrieval_bias" in offers("select * from retr")
    assert "select" not in offers("select * from s")


def test_columns_of_the_relations_that_are_named(offers):
    found = offers("select te", " from captions")
    assert "text" in found
    assert "category" not in offers("select cat", " from captions")
    assert "category" in offers("select cat", " from captions join detections using (image_id)")


def test_columns_of_everything_before_anything_is_named(offers):
    assert "category" in offers("select cat")


def test_columns_after_an_alias(offers):
    assert offers("select c.te", " from captions as c") == ["c.text"]
    assert offers("select captions.te", " from captions") == ["captions.text"]
    assert offers("select c.cat", " from captions c") == []
    assert offers("select c.cat") == ["c.category"]


def test_parameters_inside_a_call(offers):
    assert "skew_k := " in offers("from retrieval_bias(sk")
    assert "skew_k := " in offers("from retrieval_bias(k := [1], ")
    assert "skew_k := " not in offers("from retrieval_bias_queries(k := 1) where sk")


def test_functions(offers):
    assert "gender_words" in offers("select gender_w")


def test_dot_commands_and_their_arguments(offers):
    assert offers(".t") == [".tables", ".timer"]
    assert offers(".mode js") == ["json", "jsonl"]
    assert offers(".audits retrieval_bias_") == [
        "retrieval_bias_models",
        "retrieval_bias_queries",
        "retrieval_bias_sets",
    ]
    assert "captions" in offers(".schema c")
    assert offers(".once ") == []


def test_every_word_once(offers):
    found = offers("select ", " from captions, images")
    assert len(found) == len(set(found))


def test_after_a_schema_its_relations_alone(offers):
    found = offers("select * from meta.")
    assert "meta.runs" in found
    assert all(f.startswith("meta.") and "." not in f[5:] for f in found)
    assert not {"meta.caption_id", "meta.image_id", "meta.text"} & {*found}
    assert "lists.crime_words" in offers("select * from lists.")
    assert "lists.image_id" not in offers("select * from lists.")


def test_relations_after_the_name_of_an_argument(offers):
    assert {"caption_gender", "captions"} <= {*offers("from demographics(groups := cap")}
    assert "groups := " not in offers("from demographics(groups := ")


def test_columns_of_views_and_system_tables(offers):
    assert offers("select p.image", " from persons p") == ["p.image_id", "p.image_share"]
    assert "label" in offers("select la", " from caption_gender_gensynth")
    assert offers("select r.rows_", " from meta.runs r") == ["r.rows_read"]


def test_parameters_of_views_and_table_functions(offers):
    assert offers("from image_labels(attr")[0] == "attribute := "
    assert "exclude_own := " in offers("from top_k(captions, ex")


def test_statements_that_declare(offers):
    assert offers("refr") == ["refresh"]
    assert "captions" in offers("ALTER TABLE capti")
    assert "captions" in offers("refresh cap")


def test_what_was_made_since(lake):
    def of(text):
        return [c.text for c in completer.get_completions(Document(text), CompleteEvent())]

    with lake.session() as session:
        completer = SqlCompleter(session)
        assert of("from my_o") == []
        session.sql("CREATE MATERIALIZED VIEW my_own WITH (key = 'image_id') AS SELECT image_id FROM images")
        completer.forget()
        assert of("from my_o") == ["my_own"]
