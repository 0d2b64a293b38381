"""``cbal ui`` prints an address with a token, serves there, and ends at Ctrl-C; what it cannot do it says before."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from counterbalance.__main__ import main


def test_it_serves_at_the_address_that_it_prints(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    process = subprocess.Popen(
        [sys.executable, "-m", "counterbalance", "ui", disk_lake.uri, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = process.stdout.readline().strip()
    place, token = address.split("/?token=")
    assert place.startswith("http://127.0.0.1:")
    asked = urllib.request.Request(f"{place}/api/lakes", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked) as answer:
        assert b'"name":"test.lake"' in answer.read()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said == "Ctrl-C ends it\n"


def test_a_path_without_a_lake_is_told_before(tmp_path, capsys):
    assert main(["ui", str(tmp_path / "nothing.lake")]) == 1
    assert "E1005" in capsys.readouterr().err


def test_a_port_in_use_is_told_before(disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["ui", disk_lake.uri, "--port", str(port)]) == 1
    error = capsys.readouterr().err
    assert f"cannot listen on 127.0.0.1 port {port}" in error
    assert "E3741" in error


def test_what_is_not_installed_is_named(disk_lake, build, capsys, monkeypatch):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    for name in [
        m for m in sys.modules if m.partition(".")[0] in {"starlette", "uvicorn"} or m.startswith("counterbalance.ui")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["ui", disk_lake.uri, "--no-browser"]) == 1
    error = capsys.readouterr().err
    assert "uvicorn is not installed" in error
    assert "pip install counterbalance[ui]" in error
    assert "E3742" in error


@pytest.mark.parametrize("words", [[], ["a.lake", "--port", "70000"], ["a.lake", "--annotator", " "]])
def test_other_words_are_usage_errors(words):
    assert main(["ui", *words]) == 2
