"""The Dockerfile's steps work: what it may see builds a wheel, which runs the demo as a user without rights.

There is no Docker where tests run, so its lines are run as they stand, with other folders in the place of the image's.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def steps():
    """Instructions as (name, rest), in their order."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(" ", 1)) for line in lines]


def of(steps, name):
    return [rest for kind, rest in steps if kind == name]


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """What `COPY . .` copies: only what .dockerignore names."""
    first, *names, last = (ROOT / ".dockerignore").read_text().split()
    assert (first, last) == ("*", "**/__pycache__")
    assert all(re.fullmatch(r"![A-Za-z]+(\.\w+)?", name) for name in names)
    folder = tmp_path_factory.mktemp("context")
    for name in (n[1:] for n in names):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(
            ROOT / name,
            folder / name,
            **({"ignore": shutil.ignore_patterns("__pycache__")} if copy is shutil.copytree else {}),
        )
    return folder


def test_it_is_slim_has_no_secrets_and_does_not_run_as_root(steps):
    assert {name.split()[0] for name in of(steps, "FROM")} == {"python:3.11-slim"}
    assert not {"ENV", "ARG", "ADD", "EXPOSE", "VOLUME"} & {kind for kind, _ in steps}
    assert all("--no-cache-dir" in line for line in of(steps, "RUN") if "pip " in line)
    (user,) = of(steps, "USER")
    assert int(user) > 0
    assert f"--uid {user} " in of(steps, "RUN")[-1]
    assert [kind for kind, _ in steps].index("USER") > max(n for n, (kind, _) in enumerate(steps) if kind == "RUN")


@pytest.mark.thorough
@pytest.mark.slow
def test_its_steps_end_in_the_demo(steps, context, tmp_path):
    pytest.importorskip(
        "setuptools", minversion="77", reason="builds wheels with setuptools 77: pip install -e '.[test]'"
    )
    build, install, _ = of(steps, "RUN")
    assert of(steps, "COPY") == [". ."]
    words = shlex.split(build.replace("/wheels", str(tmp_path / "wheels")))
    subprocess.run([sys.executable, "-m", *words, "--no-build-isolation", "--quiet"], cwd=context, check=True)
    (wheel,) = (tmp_path / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        assert {"counterbalance/engine/lake.py", "counterbalance/queries/audits/demographics.sql"} <= names
        assert not [n for n in names if "tests/" in n or n.startswith(("engine/", "build/"))]
        file.extractall(tmp_path / "site")  # what `pip install --no-deps` would do; what it needs is here already
    assert install.endswith("pip install --no-cache-dir /wheels/*.whl")
    assert json.loads(of(steps, "ENTRYPOINT")[0]) == ["counterbalance"]
    command = [sys.executable, "-m", "counterbalance", *json.loads(of(steps, "CMD")[0])]
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    told = "import counterbalance.engine.lake as lake; print(lake.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", told], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert where.stdout.startswith(str(tmp_path))
    subprocess.run(command, env=env, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "demo" / "report.html").stat().st_size > 0
