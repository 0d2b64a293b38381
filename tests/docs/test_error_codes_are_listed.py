"""A code of an error stands for one situation: it belongs to one module, or to the few situations that several meet."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from counterbalance.engine import errors

PACKAGES = ("engine", "ingest", "udfs", "queries", "counterbalance")
CODE = re.compile(r"E\d{4}")
SHARED = {
    "E1002": "a column or field that the user named is not in the source",
    "E1004": "no audit of that name",
    "E1006": "a source, or a part of one, is not there",
    "E1011": "no word list of that name",
    "E1012": "no word-list file at that path",
    "E1020": "a script cannot be read",
    "E3022": "a script is not UTF-8 text",
    "E3030": "a query file is not what one has to be",
    "E3102": "the SQL cannot be parsed",
    "E3113": "an argument that should be a relation is none",
    "E3116": "a required argument is missing",
    "E3120": "a number of things that are wanted is below 1",
    "E3126": "vectors have different lengths",
    "E3130": "no metric of that name",
    "E3412": "an option of an index cannot have that value",
    "E3453": "a search names a column that is not in its table",
    "E4001": "a file of a source cannot be read",
    "E4002": "a file of a source is too large",
    "E4010": "a source is not of the format that was asked for, or lacks what it needs",
    "E4011": "two columns of a source are meant for one",
    "E4012": "a file of a source is damaged or cut off",
    "E4020": "a file is no COCO document",
    "E4021": "a JSON document is broken or cut short",
    "E3041": "a session cannot have such a limit",
    "E5001": "a query ran too long",
    "E5002": "memory ran out",
    "E5004": "a query was cancelled",
    "E6001": "a table of the lake cannot be read",
    "E6003": "the lake cannot be written",
    "E6004": "a table is gone that was there before",
    "E6010": "a file that is no part of a lake cannot be read or written",
}
"""The situations that more than one module meets; a code that is added here needs a meaning that all its places have."""
FAMILIES = {
    "NotFoundError": "E1",
    "RequestError": r"E3[^123]",
    "SqlError": r"E3[^23]",
    "RefusedError": "E32",
    "SensitiveError": "E33",
    "SourceError": "E4",
    "LimitError": "E5",
    "StorageError": "E6",
    "BusyError": "E7",
}


@pytest.fixture(scope="module")
def trees(project_root):
    return {
        str(path.relative_to(project_root)): ast.parse(path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in sorted((project_root / package).rglob("*.py"))
    }


def given(node):
    """Codes that a part of a tree gives to errors, also by a table of codes; comparisons and sets of codes give none."""
    if isinstance(node, ast.Compare | ast.Set):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from given(child)


@pytest.fixture(scope="module")
def places(trees):
    found = defaultdict(set)
    for module, tree in trees.items():
        for code in given(tree):
            found[code].add(module)
    return found


def test_there_are_codes(places):
    assert len(places) > 100


def test_a_code_belongs_to_one_module_or_to_a_shared_situation(places):
    assert {c: sorted(m) for c, m in places.items() if len(m) > 1 and c not in SHARED and c not in defaults()} == {}


def defaults():
    return {c.default_code for c in vars(errors).values() if isinstance(c, type) and hasattr(c, "default_code")}


def test_shared_codes_are_used(places):
    assert set(SHARED) - set(places) == set()


def test_classes_have_different_default_codes():
    classes = [c for c in vars(errors).values() if isinstance(c, type) and hasattr(c, "default_code")]
    assert len({c.default_code for c in classes}) == len(classes)


def test_a_code_is_of_its_errors_family(trees):
    wrong = []
    for module, tree in trees.items():
        for node in ast.walk(tree):
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            for keyword in node.keywords if name in FAMILIES else ():
                code = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if keyword.arg == "code" and code is not None and not re.match(FAMILIES[name], code):
                    wrong.append((module, node.lineno, name, code))
    assert wrong == []
