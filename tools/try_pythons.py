"""Install the wheel and the source distribution in fresh environments of several Pythons, and run the demo in each.

    python tools/try_pythons.py dist/* --python python3.11 --python ~/.pyenv/versions/3.13.0/bin/python

Prints a table: seconds of the installation, MB on disk, seconds of the demo. Ends with 1 where one fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory


def tried(python: str, archive: Path, folder: Path) -> str:
    """Install an archive with a Python, run its commands; the line of the table."""
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    bare = _megabytes(folder / "venv")
    own = folder / "venv" / "bin" / "python"
    version = subprocess.run([own, "-V"], check=True, capture_output=True, text=True).stdout.split()[1]
    begun = time.monotonic()
    subprocess.run([own, "-m", "pip", "install", "--quiet", archive.resolve()], check=True)
    installed = time.monotonic()
    command = folder / "venv" / "bin" / "counterbalance"
    subprocess.run([command, "-q", "demo", folder / "demo"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    ended = time.monotonic()
    if archive.suffix == ".whl":
        subprocess.run([command, "docs", "--no-browser"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    size = _megabytes(folder / "venv") - bare
    return f"| {version} | {archive.name} | {installed - begun:.0f} s | {size:,.0f} MB | {ended - installed:.0f} s |"


def _megabytes(folder: Path) -> float:
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*")) / 1e6


def main() -> int:
    """Try each archive with each Python."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", nargs="+", type=Path, help="wheels and source distributions")
    parser.add_argument("--python", action="append", dest="pythons", help="an interpreter, again for others")
    given = parser.parse_args()
    print("| Python | installed | in | takes | demo |\n|---|---|---|---|---|", flush=True)
    failed = 0
    for python in given.pythons or [sys.executable]:
        for archive in given.archives:
            with TemporaryDirectory() as folder:
                try:
                    print(tried(python, archive, Path(folder)), flush=True)
                except (OSError, subprocess.CalledProcessError) as error:
                    failed = 1
                    print(f"| {python} | {archive.name} | **failed**: {error} | | |", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
