"""The commands of README and docs run, in order, in an empty folder, without a network, and print what is shown there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


README, TOUR = (
    ("README.md",),
    ("docs/tour.md", "docs/safety.md", "docs/models.md", "docs/contrast-sets.md", "docs/association.md"),
)
"""Files whose commands go on with one lake."""


def blocks(files: tuple[str, ...]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Fenced ``console`` and ``python`` blocks in order; of a console block, each command with the output shown."""
    found = []
    text = "\n".join((ROOT / file).read_text() for file in files)
    for kind, body in re.findall(r"^```(console|python)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if kind == "python":
            found.append((kind, [(body, "")]))
            continue
        commands: list[tuple[str, str]] = []
        for line in body.splitlines(keepends=True):
            if line.startswith("$ "):
                commands.append((line[2:], ""))
            elif line.startswith("> "):
                commands[-1] = (commands[-1][0] + line[2:], "")
            else:
                commands[-1] = (commands[-1][0], commands[-1][1] + line)
        found.append((kind, commands))
    return found


def run(command: str, folder: Path, before: list[str]) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    words = [*before, "bash", "-c", command]
    done = subprocess.run(words, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def same(shown: str, printed: str) -> bool:
    """Equal, but that ``…`` stands for anything, and white space at line ends for nothing."""
    tidy = "\n".join(line.rstrip() for line in shown.strip().splitlines())
    pattern = ".*?".join(re.escape(part) for part in tidy.split("…"))
    return (
        re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.strip().splitlines()), re.DOTALL) is not None
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_commands_of_spark_print_what_is_shown(tmp_path):
    test_every_command_prints_what_is_shown(("docs/spark.md",), tmp_path, [], None)


@pytest.mark.parametrize("files", [README, TOUR], ids=["readme", "docs"])
def test_every_command_prints_what_is_shown(files, tmp_path, without_network, record_property):
    count = 0
    for kind, commands in blocks(files):
        for command, shown in commands:
            if kind == "python":
                (tmp_path / "example.py").write_text(command)
                run(f"{sys.executable} example.py", tmp_path, without_network)
            else:
                printed = run(command, tmp_path, without_network)
                assert not shown.strip() or same(shown, printed), f"$ {command}\n{printed}"
            count += 1
    assert count >= 5
    if without_network:
        record_property("commands", count)


def test_every_audit_function_and_format_is_in_the_docs():
    import counterbalance as cb

    text = "\n".join(file.read_text() for file in sorted((ROOT / "docs").glob("*.md")))
    shipped = [n for n, f in cb.functions().items() if f.call.__module__.startswith("counterbalance.udfs.")]
    assert len(shipped) > 10
    for name in (*cb.audits(), *shipped, *cb.formats()):
        assert f"`{name}`" in text, name


def test_readme_is_one_screen_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 140
    for file in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", file.read_text()):
            assert not target or (file.parent / target).exists(), (file.name, target)
