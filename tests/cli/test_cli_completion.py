"""``completion`` prints a set-up that the shell accepts, for both names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from counterbalance.__main__ import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_both_programs_are_set_up(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert f"_COUNTERBALANCE_COMPLETE={shell}_complete" in text
    assert f"_CBAL_COMPLETE={shell}_complete" in text


AFTER = {
    "bash": "COMP_WORDS=({0} aud) COMP_CWORD=1\n_{0}_completion {0}\necho ${{COMPREPLY[@]}}",
    "zsh": "compadd() {{ print -r -- ${{(P)@[-1]}} }}\n_describe() {{ print -r -- ${{${{(P)3}}[1]%%:*}} }}\nwords=({0} aud) CURRENT=2\n${{_comps[{0}]}}",
    "fish": "complete -C '{0} aud' | string split -f 1 \\t",
}
SHELLS_OWN = "autoload -Uz compinit\ncompinit -D"
BEFORE = {"bash": [""], "zsh": ["", SHELLS_OWN], "fish": [""]}  # a new user's start-up file is empty
START = {"bash": ["bash", "--norc", "-c"], "zsh": ["zsh", "-f", "-c"], "fish": ["fish", "--no-config", "-c"]}


@pytest.mark.parametrize("name", ["counterbalance", "cbal"])
@pytest.mark.parametrize(("shell", "before"), [(shell, text) for shell, texts in BEFORE.items() for text in texts])
def test_a_shell_completes(shell, before, name, capsys, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    main(["completion", shell])
    script = "\n".join([before, capsys.readouterr().out, AFTER[shell].format(name)])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(
        [*START[shell], script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("audit\n", "")


@pytest.mark.parametrize(
    ("words", "found"),
    [("cbal ingest a.lake shards --format vi", "visualgenome"), ("cbal export a.lake images there --to image", "imagefolder")],
)  # fmt: skip
def test_names_of_formats_are_completed(words, found):
    environment = {
        **os.environ,
        "_CBAL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = subprocess.run(
        [Path(sys.executable).parent / "cbal"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"plain,{found}\n"
