"""A code of an error stands for one cause: `docs/errors.md` lists it, one module or a few raise it, and a test names it."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict

import pytest

from counterbalance.engine import errors

PACKAGES = ("engine", "ingest", "udfs", "queries", "counterbalance")
CODE = re.compile(r"E\d{4}")
SHARED = set(
    """
    E1002 E1003 E1004 E1006 E1011 E1012 E1020 E1034 E1042 E1052 E1120 E1160 E1270 E3022 E3030 E3031 E3041 E3051 E3102
    E3113 E3116 E3120 E3123 E3126 E3130 E3142 E3158 E3064 E3305 E3412 E3453 E3461 E3462 E3520 E3536 E3541 E3542
    E3546 E3559 E3571 E3700 E3702 E4001 E4002 E4010 E4011 E4012 E4020 E4021 E5001 E5002 E5004 E6001 E6003 E6010
    E6011 E7001 E8001 E8116 E8310
    """.split()  # noqa: SIM905 - one code after another
)
"""Causes that more than one module meets; what all their places have in common stands in `docs/errors.md`."""
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
    "FunctionError": "E8",
}


@pytest.fixture(scope="module")
def texts(project_root):
    return {
        str(path.relative_to(project_root)): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((project_root / package).rglob("*.py"))
    }


@pytest.fixture(scope="module")
def trees(texts):
    return {module: ast.parse(text) for module, text in texts.items()}


def given(node):
    """Yield codes that a part of a tree gives to errors, also by a table of codes; comparisons and sets of codes give none."""
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


@pytest.fixture(scope="module")
def listed(project_root):
    """Rows of the page: code, meaning, remedy."""
    text = (project_root / "docs" / "errors.md").read_text(encoding="utf-8")
    return re.findall(r"^\| (E\d{4}) \| (.+) \| (.+) \|$", text, re.MULTILINE)


def test_the_page_lists_what_the_code_gives(places, listed):
    assert sorted(code for code, *_ in listed) == sorted(places)


def test_every_meaning_and_every_remedy_is_a_sentence_and_no_two_codes_mean_the_same(listed):
    assert [row for row in listed if not all(re.fullmatch(r"[A-Z`].+\.", text) for text in row[1:])] == []
    assert [meaning for meaning, count in Counter(meaning for _, meaning, _ in listed).items() if count > 1] == []


def test_codes_that_texts_name_exist(texts, places):
    named = {(code, module) for module, text in texts.items() for code in re.findall(r"\bE\d{4}\b", text)}
    assert {(code, module) for code, module in named if code not in places} == set()


def test_a_code_belongs_to_one_module_or_to_a_shared_cause(places):
    assert {code for code, modules in places.items() if len(modules) > 1} == SHARED


def test_every_code_is_named_by_a_test(project_root, places):
    files = [path for path in (project_root / "tests").rglob("*.py") if path.name != "test_error_codes_are_listed.py"]
    named = {code for path in files for code in CODE.findall(path.read_text(encoding="utf-8"))}
    assert set(places) - named == set()


def test_classes_have_different_families():
    classes = [c for c in vars(errors).values() if isinstance(c, type) and hasattr(c, "family")]
    assert len({c.family for c in classes}) == len(classes)


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
