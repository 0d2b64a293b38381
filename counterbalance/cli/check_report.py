"""Write what came of checks: as rows, JUnit XML or SARIF, which continuous integration shows beside the code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from counterbalance.cli import gate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterbalance.cli.check_file import Check

STATES: Final = ("passed", "failed", "warning", "empty", "error")
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SUITE: Final = "counterbalance"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a check.

    Args:
        check: The check.
        state: One of ``STATES``; ``"empty"`` where the answer has no rows, or the condition is NULL in all, so that nothing was checked: it fails as rows do.
        rows: Rows of the answer.
        failing: How many of them must not be there.
        untold: How many of them the condition tells nothing of, which do not fail: a hidden cell is NULL.
        shown: The first failing rows.
        message: The error, if there was one.
        seconds: Wall time.
    """

    check: Check
    state: str
    rows: int = 0
    failing: int = 0
    untold: int = 0
    shown: Sequence[dict[str, Any]] = field(default_factory=list)
    message: str = ""
    seconds: float = 0.0

    @property
    def fails(self) -> bool:
        """Tell whether the run fails by it; a warning does not."""
        return self.state == "failed" or (self.state == "empty" and self.check.level == "error")

    def describe(self) -> str:
        """Return it in words."""
        if self.state == "error":
            return self.message
        if self.state == "empty":
            return gate.nothing_checked(self.rows, self.untold)
        told = f"{self.failing:,} of {self.rows:,} rows fail ({self.check.fail_if})"
        return told + f"; the condition is NULL in {self.untold:,}" * bool(self.untold)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return {
            "name": self.check.name,
            "state": self.state,
            "rows": self.rows,
            "failing": self.failing,
            "untold": self.untold,
            "message": self.describe(),
            "seconds": round(self.seconds, 3),
        }


def json(outcomes: Sequence[Outcome]) -> bytes:
    """Return an array of JSON, with the first failing rows of each."""
    return orjson.dumps(_told(outcomes), default=str, option=orjson.OPT_INDENT_2) + b"\n"


def json_lines(outcomes: Sequence[Outcome]) -> bytes:
    """Return the same, a line each."""
    return b"".join(orjson.dumps(row, default=str) + b"\n" for row in _told(outcomes))


def _told(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    return [{**o.to_dict(), "shown": list(o.shown)} for o in outcomes]


def junit(outcomes: Sequence[Outcome], file: Path) -> bytes:
    """Return JUnit XML: a test case a check; a warning passes and says so in its output.

    Args:
        outcomes: In order.
        file: The file of checks.
    """
    from xml.etree import ElementTree as ET

    counts = {state: sum(o.state == state for o in outcomes) for state in STATES}
    failures = sum(o.fails for o in outcomes)
    about = {
        "name": _SUITE,
        "tests": str(len(outcomes)),
        "failures": str(failures),
        "errors": str(counts["error"]),
        "skipped": str(counts["failed"] + counts["empty"] - failures),
        "time": f"{sum(o.seconds for o in outcomes):.3f}",
    }
    suites = ET.Element("testsuites")
    suite = ET.SubElement(suites, "testsuite", about)
    tags = {"error": "error", "empty": "skipped"}
    for one in outcomes:
        place = {"classname": _SUITE, "name": _xml(one.check.name), "file": str(file), "line": str(one.check.line)}
        case = ET.SubElement(suite, "testcase", {**place, "time": f"{one.seconds:.3f}"})
        tag = "failure" if one.fails else tags.get(one.state)
        if tag is not None:
            ET.SubElement(case, tag, {"message": _xml(one.describe())}).text = _xml(_rows(one))
        elif one.state == "warning":
            ET.SubElement(case, "system-out").text = _xml(f"{one.describe()}\n{_rows(one)}")
    ET.indent(suites)
    return bytes(ET.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def sarif(outcomes: Sequence[Outcome], file: Path, version: str) -> bytes:
    """Return SARIF 2.1.0: a rule a check, a result for each that did not pass, at its line in the file of checks.

    Args:
        outcomes: In order.
        file: The file of checks.
        version: Of this package.
    """
    levels = {"error": "error", "warning": "warning", "empty": "warning"}
    rules = [{"id": o.check.name, "shortDescription": {"text": o.check.name}} for o in outcomes]
    results = [
        {
            "ruleId": o.check.name,
            "ruleIndex": number,
            "level": "error" if o.fails else levels[o.state],
            "message": {"text": "\n".join(filter(None, (o.describe(), _rows(o))))},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": file.as_posix()},
                        "region": {"startLine": o.check.line},
                    }
                }
            ],
        }
        for number, o in enumerate(outcomes)
        if o.fails or o.state in levels
    ]
    driver = {"name": _SUITE, "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return orjson.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, option=orjson.OPT_INDENT_2) + b"\n"


def _rows(outcome: Outcome) -> str:
    """Return the first failing rows, a line of JSON each."""
    return "\n".join(orjson.dumps(row, default=str).decode() for row in outcome.shown)


def _xml(text: str) -> str:
    """Return text without the characters that no XML may hold."""
    return _NOT_XML.sub("\ufffd", text)
