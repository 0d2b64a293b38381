"""``counterbalance doctor``: is everything there, in the installation or in a lake?"""

from __future__ import annotations

import operator
import re
import shlex
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import connect, output_options
from counterbalance.engine.plugins import entry_points
from counterbalance.shell import errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from counterbalance.engine.session import Session
    from counterbalance.engine.sql.query_model import Query
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance doctor",
    "counterbalance doctor --json",
    "counterbalance doctor coco.lake",
    "counterbalance doctor coco.lake --json",
)
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?\s*([^;]*?)\s*(?:;.*extra\s*==\s*['\"]([\w-]+)['\"])?$")
_COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}
_FOR_DEVELOPERS = {"dev", "test"}
_GROUPS = ("counterbalance.formats", "counterbalance.udfs", "counterbalance.queries")

_MANY = 100_000
"""Captions from which on keeping what audits need saves seconds."""
_RUNS, _GIVEN = "runs", "runs on your rows"

Row = dict[str, str | None]
LakeRow = dict[str, str | int | None]


@declare("doctor", examples=EXAMPLES, short_help="Check the installation, or what a lake has for its audits.")
@click.argument("lake", type=click.Path(), required=False)
@output_options
def command(lake: str | None, *, output: OutputOptions) -> int:
    """Check the installation: versions of everything, which extras are there, whether all parts load.

    With LAKE, list what the lake holds, what audits of its captions would compute again and again, what each audit needs
    and whether it is there, and what to type next. Without, exit with 1 when something that is always needed is missing.
    """
    import pyarrow as pa

    from counterbalance.shell import present

    if lake is not None:
        return _lake(lake, output)
    rows = [*_platform(), *_packages(), *_parts()]
    schema = pa.schema([(n, pa.string()) for n in ("part", "name", "version", "wanted", "status")])
    present.rows(rows, schema, replace(output, rows=len(rows)))
    bad = [r["name"] for r in rows if r["status"] not in {"ok", "not installed"}]
    if bad:
        click.echo(f"not in order: {', '.join(str(b) for b in bad)}", err=True)
    return 1 if bad else 0


def _lake(lake: str, output: OutputOptions) -> int:
    """Tell what a lake has for its audits, and what to type next."""
    import pyarrow as pa

    from counterbalance.shell import present

    with connect(lake).session() as session:
        tables = dict(session.sql("SELECT name, rows FROM meta.tables").fetchall())
        kept = _kept(lake, tables.get("captions") or 0)
        rows = [*_tables(session, lake, tables), *kept, *_audits(lake, session.filled())]
    types = {name: pa.int64() if name == "rows" else pa.string() for name in rows[0]}
    present.rows(rows, pa.schema(list(types.items())), replace(output, rows=len(rows)))
    found = [r["status"] for r in rows if r["part"] == "audit"]
    errors.note(
        f"of {len(found)} audits {found.count(_RUNS)} run as they are, {found.count(_GIVEN)} on rows that you give"
    )
    if any(r["part"] == "kept" and r["status"] != "ok" for r in rows):
        errors.remark(f"audits of captions would be faster after: counterbalance recipe {lake} prepare")
    return 0


def _lake_row(part: str, name: str, rows: int | None, needs: str, status: str, then: str | None) -> LakeRow:
    return {"part": part, "name": name, "rows": rows, "needs": needs or None, "status": status, "next": then}


def _tables(session: Session, lake: str, tables: Mapping[str, int | None]) -> Iterator[LakeRow]:
    """Yield the base tables, then what else is stored; of perceived labels the attributes, as everywhere."""
    from counterbalance.engine.schema import BASE_TABLES
    from counterbalance.engine.sql.diagnostics.nothing_to_count import command as filling

    for name in BASE_TABLES:
        rows = tables.get(name) or 0
        yield _lake_row("table", name, rows, "", "ok" if rows else "empty", None if rows else filling(lake, name))
    for attribute in sorted(session.sensitive_attributes()):
        yield _lake_row("table", f"labels of {attribute}", None, "", "read by audits only", None)
    for name in sorted(tables.keys() - BASE_TABLES.keys()):
        yield _lake_row("view", name, tables[name], "", "ok", None)


def _kept(lake: str, captions: int) -> Iterator[LakeRow]:
    """Yield what the recipe ``prepare`` keeps, and whether the lake has it, where it has captions enough for a difference."""
    from counterbalance.engine.recipes import files
    from counterbalance.engine.sql import statements

    states = {row["target"]: row["state"] for row in connect(lake).status().to_pylist()}
    for text in (text for step in files.recipe("prepare").steps for text in step.statements):
        statement = statements.read(text)
        if isinstance(statement, statements.AddColumn | statements.CreateView):
            table = f"{statement.table}." if isinstance(statement, statements.AddColumn) else ""
            target = f"{table}{statement.name}"
            state = states.get(target, "not kept" if captions >= _MANY else "ok")
            state = "ok" if state == "fresh" else state
            then = None if state == "ok" else f"counterbalance recipe {shlex.quote(lake)} prepare"
            yield _lake_row("kept", target, None, "captions", state, then)


def _audits(lake: str, there: AbstractSet[str]) -> Iterator[LakeRow]:
    """Yield every audit with what it needs: those that run first, then those on rows of one's own, then the others."""
    import counterbalance
    from counterbalance.engine.recipes.files import recipes

    steps = {name: " ".join(t for s in r.steps for t in s.statements) for name, r in recipes().items()}
    rows = [_audit(query, lake, there, steps) for query in counterbalance.audits().values()]
    yield from sorted(rows, key=lambda r: (r["status"] != _RUNS, r["status"] != _GIVEN))


def _audit(query: Query, lake: str, there: AbstractSet[str], steps: Mapping[str, str]) -> LakeRow:
    from counterbalance.engine.sql import requirements
    from counterbalance.engine.sql.diagnostics.nothing_to_count import command as filling

    place, needs = shlex.quote(lake), requirements.of_audit(query)
    lacks = requirements.missing(needs, there)
    lacking = [*filter(requirements.is_stored, lacks)]
    asked = sorted(requirements.nearest(needs, there), key=lambda name: (not requirements.is_stored(name), name))
    wanted = ", ".join(name.replace(requirements.GIVEN, "=…") for name in asked)
    makers = (
        f"counterbalance recipe {place} {n}" for n, text in steps.items() if re.search(rf"\b{query.name}\(", text)
    )
    if lacking:
        status, then = f"no {' and '.join(lacking)}", filling(lake, lacking[0])
    elif lacks:
        status, then = _GIVEN, next(makers, f"counterbalance audit --list {query.name}")
    else:
        status, then = _RUNS, f"counterbalance audit {place} {query.name}"
    return _lake_row("audit", query.name, None, wanted, status, then)


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
