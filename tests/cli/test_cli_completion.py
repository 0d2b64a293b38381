"""``completion`` prints a set-up that the shell accepts, for both names."""

from __future__ import annotations

import os
import re
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


SHELLS_OWN = "autoload -Uz compinit\ncompinit -D"
BEFORE = {"bash": [""], "zsh": ["", SHELLS_OWN], "fish": [""]}  # a new user's start-up file is empty
START = {"bash": ["bash", "--norc", "-c"], "zsh": ["zsh", "-f", "-c"], "fish": ["fish", "--no-config", "-c"]}


def _asked(shell, words):
    """Return what asks a shell for the completions of the last of some words, and prints one a line."""
    name, last = words[0], len(words) - 1
    if shell == "bash":  # which takes key, = and value for three words
        split = [part for word in words for part in re.split(r"(?<=[^=])(=)", word) if part]
        return f"COMP_WORDS=({' '.join(split)}) COMP_CWORD={len(split) - 1}\n_{name}_completion {name}\nprintf '%s\\n' ${{COMPREPLY[@]}}"
    if shell == "zsh":
        said = "compadd() { print -r -- ${(P)@[-1]} }\n_describe() { print -r -- ${${(P)3}[1]%%:*}; print -rn -- ${@[5,-1]} }\n"
        return f"{said}words=({' '.join(words)}) CURRENT={last + 1}\n${{_comps[{name}]}}"
    return f"complete -C '{' '.join(words)}' | cut -f 1"


def _completes(shell, words, capsys, folder, before=""):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    main(["completion", shell])
    script = "\n".join([before, capsys.readouterr().out, _asked(shell, words)])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(
        [*START[shell], script], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("name", ["counterbalance", "cbal"])
@pytest.mark.parametrize(("shell", "before"), [(shell, text) for shell, texts in BEFORE.items() for text in texts])
def test_a_shell_completes(shell, before, name, capsys, tmp_path):
    assert _completes(shell, [name, "aud"], capsys, tmp_path, before) == ("audit\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_parameters_of_an_audit_and_their_values_are_completed(shell, disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    folder = disk_lake.location.path.parent
    audit = ["cbal", "audit", disk_lake.location.path.name]
    assert _completes(shell, [*audit, "cooccurrence", "gro"], capsys, folder)[0].startswith("groups=\n")
    whole = "" if shell == "bash" else "groups="
    assert _completes(shell, [*audit, "cooccurrence", "groups=caption_gender_g"], capsys, folder)[0] == (
        f"{whole}caption_gender_gensynth\n"
    )
    whole = "" if shell == "bash" else "unit="
    assert _completes(shell, [*audit, "crime_words", "unit=p"], capsys, folder)[0] == f"{whole}person\n"


def test_no_blank_follows_the_name_of_a_parameter(capsys):
    for shell, told in (("bash", "compopt -o nospace"), ("zsh", "bare=(-S '')"), ("fish", "split -m 1")):
        main(["completion", shell])
        assert capsys.readouterr().out.count(told) == 2


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
