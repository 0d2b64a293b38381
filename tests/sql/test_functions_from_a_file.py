"""A user's own Python file declares functions: loaded once, named in errors, usable in queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import functions, load_file

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.engine.lake import Lake

GOOD = '''
import pyarrow as pa, pyarrow.compute as pc
import counterbalance as cb

print("loaded")

@cb.udf(returns=pa.string(), parameters={"text": pa.string()}, version="7", name="%s")
def reverse(text):
    """Text, backwards."""
    return pc.utf8_reverse(text)
'''


def test_its_functions_answer_queries(tmp_path: Path, lake: Lake) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GOOD % "file_reverse")
    assert load_file(str(file)) == ["file_reverse"]
    assert functions()["file_reverse"].version == "7"
    assert functions()["file_reverse"].source == str(file.resolve())
    found = lake.sql("SELECT file_reverse(text) FROM captions WHERE caption_id = 11").fetchall()
    assert found == [("a man rides a horse"[::-1],)]


def test_the_same_file_runs_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "once.py"
    file.write_text(GOOD % "file_once")
    assert load_file(str(file)) == load_file(str(file)) == ["file_once"]
    assert capsys.readouterr().out == "loaded\n"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no file of functions at") as caught:
        load_file(str(tmp_path / "nowhere.py"))
    assert caught.value.code == "E1031"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("x = 1", "E3061", "declares no function"),
        ("import no_such_module", "E3060", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def broken(:", "E3060", "SyntaxError"),
        (GOOD % "vader", "E3060", "function 'vader' is already declared by counterbalance.udfs.vader"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, code: str, said: str) -> None:
    file = tmp_path / "bad.py"
    file.write_text(text)
    for _ in range(2):  # the second time too: nothing half-loaded stays
        with pytest.raises(RequestError, match="(?s)" + said) as caught:
            load_file(str(file))
        assert caught.value.code == code


def test_what_to_do_is_said_where_a_function_is_declared_wrongly(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("from counterbalance import udf\n@udf\ndef f(text) -> float:\n    return 1.0\n")
    with pytest.raises(RequestError, match="line 2 cannot be loaded: f: text has no type hint") as caught:
        load_file(str(tmp_path / "bad.py"))
    assert str(caught.value.hint).startswith("hint str, int, float")
