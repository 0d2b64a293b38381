"""Write tests/long.txt: the tests that take more than a second, of which a run with COUNTERBALANCE_SHARE tries a share.

    pytest -n 2 --dist loadfile --junitxml=times.xml && python tools/long_tests.py times.xml

What is written is a file and a test to a line, all its parameters together; times are those of the run, preparation included.
Tests that the run did not try, since it tried a share, stay listed.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONG = 1.0
"""Seconds."""
DOCS = "tests/docs/"
"""Tests that run what is written are always tried."""


def main(report: str) -> None:
    """Write the names of the long tests of a run."""
    seconds: Counter[str] = Counter()
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - of our own run
        file = case.get("classname", "").replace(".", "/") + ".py"
        seconds[f"{file}::{case.get('name', '').partition('[')[0]}"] += float(case.get("time", 0))
    listed = ROOT / "tests" / "long.txt"
    untried = set(listed.read_text().split()) - seconds.keys()
    found = sorted(test for test, time in seconds.items() if time > LONG and not test.startswith(DOCS))
    listed.write_text("".join(f"{test}\n" for test in sorted({*found, *untried})))
    share = sum(seconds[test] for test in found) / seconds.total()
    print(f"{len(found)} of {len(seconds)} tests take {share:.0%} of {seconds.total():.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
