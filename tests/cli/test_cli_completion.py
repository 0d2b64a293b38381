"""``completion`` prints a set-up that the shell accepts, for both names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from counterbalance.__main__ import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_both_programs_are_set_up(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert f"_COUNTERBALANCE_COMPLETE={shell}_complete" in text
    assert f"_CBAL_COMPLETE={shell}_complete" in text


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes(capsys, tmp_path):
    main(["completion", "bash"])
    program = tmp_path / "counterbalance"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m counterbalance "$@"\n')
    program.chmod(0o755)
    script = f"{capsys.readouterr().out}\nCOMP_WORDS=(counterbalance aud) COMP_CWORD=1\n_counterbalance_completion counterbalance\necho ${{COMPREPLY[@]}}"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "audit\n"
