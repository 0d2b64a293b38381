"""A text that is too long is refused by its length, before anybody looks for anything in it."""

from __future__ import annotations

import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import LimitError
from counterbalance.engine.isolation.remote import Remote
from counterbalance.engine.sql import arguments, statements
from counterbalance.shell import interpreter

LONG = f"SELECT '{'x' * 3_000_000}'"


def unread(*_, **__):
    pytest.fail("it was read")


@pytest.fixture
def filled(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    return disk_lake


@pytest.mark.parametrize("settings", [{}, {"timeout": 5}])
def test_in_python(filled, settings, monkeypatch):
    monkeypatch.setattr(arguments, "check_used", unread)
    monkeypatch.setattr(statements, "read", unread)
    monkeypatch.setattr(Remote, "_stays_here", unread)
    with filled.session(**settings) as session:
        for ask in (session.sql, session.expand, session.explain):
            with pytest.raises(LimitError, match="characters") as caught:
                ask(LONG)
            assert caught.value.code == "E5005"


@pytest.mark.parametrize("text", [LONG, f"SELECT 1;\n{LONG};\nSELECT 2", LONG.replace("xxx", "xx\n") + ";"])
def test_in_a_script(filled, text, monkeypatch, tmp_path, capsys):
    script = tmp_path / "long.sql"
    script.write_text(text)
    cut = interpreter.split
    monkeypatch.setattr(interpreter, "split", lambda text: unread() if len(text) > 2_000_000 else cut(text))
    monkeypatch.setattr(interpreter, "is_complete", lambda text: len(text) > 2_000_000 and unread())
    assert main(["sql", filled.uri, "-f", str(script)]) == 1
    assert "E5005" in capsys.readouterr().err
