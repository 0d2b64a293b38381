"""``counterbalance doctor``: is everything there?"""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import connect, output_options
from counterbalance.engine.plugins import entry_points

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance doctor",
    "counterbalance doctor --json",
    "counterbalance doctor coco.lake",
)
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?\s*([^;]*?)\s*(?:;.*extra\s*==\s*['\"]([\w-]+)['\"])?$")
_COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}
_FOR_DEVELOPERS = {"dev", "test"}
_GROUPS = ("counterbalance.formats", "counterbalance.udfs", "counterbalance.queries")

_LAKE = "lake"
_MANY = 100_000
"""Captions from which on keeping what audits need saves seconds."""

Row = dict[str, str | None]


@declare("doctor", examples=EXAMPLES, short_help="Check the installation.")
@click.argument("lake", type=click.Path(), required=False)
@output_options
def command(lake: str | None, *, output: OutputOptions) -> int:
    """Check the installation: versions of everything, which extras are there, whether all parts load.

    With LAKE, tells also what audits of its captions would compute again and again, and how to keep it. Exits with 1 when
    something that is always needed is missing.
    """
    import pyarrow as pa

    from counterbalance.shell import present

    kept = [] if lake is None else [*_kept(lake)]
    rows = [*_platform(), *_packages(), *_parts(), *kept]
    schema = pa.schema([(n, pa.string()) for n in ("part", "name", "version", "wanted", "status")])
    present.rows(rows, schema, replace(output, rows=len(rows)))
    bad = [r["name"] for r in rows if r["part"] != _LAKE and r["status"] not in {"ok", "not installed"}]
    if bad:
        click.echo(f"not in order: {', '.join(str(b) for b in bad)}", err=True)
    if any(r["status"] != "ok" for r in kept):
        click.echo(f"audits of captions would be faster after: counterbalance recipe {lake} prepare", err=True)
    return 1 if bad else 0


def _kept(lake: str) -> Iterator[Row]:
    """Yield what the recipe ``prepare`` keeps, and whether the lake has it, where it has captions enough for a difference."""
    from counterbalance.engine.recipes import files
    from counterbalance.engine.sql import statements

    opened = connect(lake)
    captions = opened.sql("SELECT count(*) FROM captions").fetchall()[0][0]
    states = {row["target"]: row["state"] for row in opened.status().to_pylist()}
    for text in (text for step in files.recipe("prepare").steps for text in step.statements):
        statement = statements.read(text)
        if isinstance(statement, statements.AddColumn | statements.CreateView):
            table = f"{statement.table}." if isinstance(statement, statements.AddColumn) else ""
            target = f"{table}{statement.name}"
            state = states.get(target, "not kept" if captions >= _MANY else "ok")
            yield _row(_LAKE, target, f"{captions:,} captions", status="ok" if state == "fresh" else state)


def _row(part: str, name: str, found: str | None, wanted: str = "", status: str = "ok") -> Row:
    return {"part": part, "name": name, "version": found, "wanted": wanted or None, "status": status}


def _platform() -> Iterator[Row]:
    import os
    import platform
    import shutil

    yield _row("platform", "counterbalance", version("counterbalance"))
    yield _row("platform", "python", platform.python_version(), ">=3.11")
    yield _row("platform", "system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    java = shutil.which("java")
    yield _row("spark", "java", java, status="ok" if java else "not installed")


def _packages() -> Iterator[Row]:
    for text in requires("counterbalance") or ():
        match = _REQUIREMENT.fullmatch(text.strip())
        if match is None or match[3] in _FOR_DEVELOPERS or match[1] == "counterbalance":
            continue
        name, wanted, extra = match.groups()
        try:
            found = version(name)
        except PackageNotFoundError:
            yield _row(extra or "core", name, None, wanted, "not installed" if extra else "missing")
        else:
            yield _row(extra or "core", name, found, wanted, "ok" if satisfies(found, wanted) else "wrong version")


def satisfies(found: str, wanted: str) -> bool:
    """Return whether a version's numbers are in the wanted range (``>=``, ``>``, ``<=``, ``<``, ``==``, joined by commas).

    Example:
        >>> satisfies("2.0.1", ">=2,<3"), satisfies("3.0", ">=2,<3")
        (True, False)
    """
    return all(_COMPARE[o](_numbers(found), _numbers(v)) for o, v in re.findall(r"([<>=]=?)\s*([\w.]+)", wanted))


def _numbers(text: str) -> list[int]:
    numbers = [int(n) for n in re.findall(r"\d+", re.split(r"[a-zA-Z+]", text)[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def _parts() -> Iterator[Row]:
    """Yield everything that plugs in through entry points, tried out."""
    for group in _GROUPS:
        for entry in sorted(entry_points(group), key=lambda e: e.name):
            try:
                entry.load()
                status = "ok"
            except Exception as error:  # noqa: BLE001 - whatever a plug-in raises is the finding
                status = f"{type(error).__name__}: {error}"
            owner = entry.dist.version if entry.dist is not None else None
            yield _row(group.partition(".")[2], entry.name, owner, status=status)
