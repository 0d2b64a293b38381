"""Runs that try a share of the long tests (tests/long.txt) try all of them in turn, and the others always."""

from __future__ import annotations

import ast

import shares


def test_each_is_in_one_of_five():
    tried = [{test for test in shares.LONG if shares.is_tried(test, f"{place}/5")} for place in range(5)]
    assert set.union(*tried) == shares.LONG
    assert sum(map(len, tried)) == len(shares.LONG)
    assert all(len(of_one) > len(shares.LONG) / 10 for of_one in tried)


def test_all_parameters_go_with_their_test():
    test = min(shares.LONG)
    (place,) = (f"{place}/5" for place in range(5) if shares.is_tried(test, f"{place}/5"))
    assert shares.is_tried(f"{test}[a-[b]]", place)
    assert shares.is_tried(f"{test}[a]", None)
    assert not shares.is_tried(f"{test}[a]", f"{(int(place[0]) + 1) % 5}/5")


def test_each_is_there(project_root):
    """One that was renamed would be tried always: ``tools/long_tests.py`` finds them anew."""
    gone, known = [], {}
    for test in sorted(shares.LONG):
        file, _, name = test.partition("::")
        if file not in known:
            path = project_root / file
            tree = ast.parse(path.read_text()) if path.is_file() else ast.Module([], [])
            known[file] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        if name not in known[file]:
            gone.append(test)
    assert gone == []
