"""Columns are found by any of their names without case, and ``--map`` beats everything."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import NotFoundError, RequestError, SourceError
from counterbalance.ingest.columns import require, resolve
from counterbalance.ingest.laion import FIELDS


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["URL", "TEXT"], {"url": 0, "caption": 1}),
        (["url", "top_caption", "hash"], {"url": 0, "caption": 1, "key": 2}),
        (["TEXT", "caption", "url"], {"caption": 1, "url": 2}),
        (["Image URL", "Alt-Text", "WIDTH "], {"url": 0, "caption": 1, "width": 2}),
        (["nothing"], {}),
    ],
)
def test_found_by_name(names, found):
    assert resolve(names, FIELDS, {}, "a.csv") == found


def test_mapping_beats_names_and_may_use_any_of_the_fields_names():
    names = ["url", "caption", "Alt"]
    assert resolve(names, FIELDS, {"caption": "alt"}, "a.csv")["caption"] == 2
    assert resolve(names, FIELDS, {"text": "Alt"}, "a.csv")["caption"] == 2


def test_a_column_serves_one_field_only():
    found = resolve(["url", "text"], {"url": (), "caption": ("text",), "title": ("text",)}, {}, "a.csv")
    assert found == {"url": 0, "caption": 1}


def test_an_unknown_column_is_one_error_with_a_suggestion():
    with pytest.raises(NotFoundError, match=r"no column 'captoin' in a.csv; did you mean 'caption'") as caught:
        resolve(["url", "caption"], FIELDS, {"caption": "captoin"}, "a.csv")
    assert caught.value.hint == "columns: url, caption"


def test_an_unknown_field_is_one_error_with_a_suggestion():
    with pytest.raises(RequestError, match=r"no field 'captoin'.*did you mean 'caption'"):
        resolve(["url"], FIELDS, {"captoin": "url"}, "a.csv")


def test_two_columns_of_one_name_are_refused_unless_the_user_chooses():
    with pytest.raises(SourceError, match="2 columns for 'url'"):
        resolve(["url", "URL", "text"], FIELDS, {}, "a.csv")
    assert resolve(["url", "URL", "text"], FIELDS, {"url": "URL"}, "a.csv")["url"] == 1


def test_a_missing_field_names_what_is_there():
    with pytest.raises(SourceError, match=r"a.csv has no caption column; its columns are: x, y") as caught:
        require({}, ["caption"], ["x", "y"], "a.csv")
    assert caught.value.hint == "name it with --map caption=COLUMN"
