"""Commands of a page, run in order in an empty folder; what they print is what is shown there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


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
    done = subprocess.run(words, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def same(shown: str, printed: str) -> bool:
    """Equal, but that ``…`` stands for anything, and white space at line ends for nothing."""
    tidy = "\n".join(line.rstrip() for line in shown.strip().splitlines())
    pattern = ".*?".join(re.escape(part) for part in tidy.split("…"))
    return (
        re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.strip().splitlines()), re.DOTALL) is not None
    )


def check(files: tuple[str, ...], folder: Path, before: list[str], least: int = 5) -> int:
    """Run the commands of some files, one after the other in a folder, behind some words; returns how many there are, at least so many."""
    count = 0
    for kind, commands in blocks(files):
        for command, shown in commands:
            if kind == "python":
                (folder / "example.py").write_text(command)
                run(f"{sys.executable} example.py", folder, before)
            else:
                printed = run(command, folder, before)
                assert not shown.strip() or same(shown, printed), f"$ {command}\n{printed}"
            count += 1
    assert count >= least
    return count
