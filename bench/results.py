"""Where a benchmark ran and what it measured, as files: JSON for programs, the same tables as Markdown for people."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
LIBRARIES = ("counterbalance", "duckdb", "pylance", "pyarrow", "numpy", "torch")


def write(folder: Path, name: str, tables: Sequence[Sequence[dict[str, Any]]], **how: Any) -> None:
    """``NAME.json`` and ``NAME.md`` in a folder, which is made.

    Args:
        folder: Where; files that are there are replaced.
        name: Of the benchmark.
        tables: Rows of each table that it printed, empty ones left out.
        how: What it was run with: scale, rounds …
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = [list(rows) for rows in tables if rows]
    told = {
        "name": name,
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        **how,
        "machine": machine(),
        "versions": {library: version(library) for library in LIBRARIES},
        "tables": kept,
    }
    (folder / f"{name}.json").write_text(json.dumps(told, indent=1, default=str) + "\n", encoding="utf-8")
    facts = {**how, **told["machine"], **told["versions"], "commit": told["commit"], "date": told["date"]}
    lines = [f"# {name}", "", "; ".join(f"{k} {'none' if v is None else v}" for k, v in facts.items()), ""]
    lines += [harness.table(rows) + "\n" for rows in kept]
    (folder / f"{name}.md").write_text("\n".join(lines), encoding="utf-8")


def machine() -> dict[str, Any]:
    """Processor, cores that may be used, memory in GiB, and the first GPU that torch sees (``None`` without one)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": processor(),
        "cores": cores,
        "memory GiB": round(memory, 1),
        "gpu": gpu(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def processor() -> str:
    """Name of the processor."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def gpu(device: str = "cuda:0") -> str | None:
    """Name of a GPU, if torch is installed and sees one."""
    if version("torch") is None:
        return None
    import torch

    return str(torch.cuda.get_device_name(device)) if torch.cuda.is_available() else None


def version(library: str) -> str | None:
    """Installed version of a library."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit() -> str | None:
    """The commit that is checked out, with ``-dirty`` behind where files were changed; ``None`` if there is no git."""
    command = ["git", "--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return found.stdout.strip() or None


def tables(text: str) -> list[list[dict[str, Any]]]:
    """Rows of every Markdown table in what a benchmark printed; numbers as numbers.

    Example:
        >>> tables("before | after\\n\\n| work | s |\\n|---|--:|\\n| one | 1,200 |\\n| two | |\\n\\nend")
        [[{'work': 'one', 's': 1200.0}, {'work': 'two', 's': None}]]
    """
    found: list[list[dict[str, Any]]] = []
    lines = [line.strip() for line in text.splitlines()]
    for number, line in enumerate(lines[1:], 1):
        if line.startswith("|--"):
            head = _cells(lines[number - 1])
            rows = []
            for row in lines[number + 1 :]:
                if not row.startswith("|"):
                    break
                rows.append(dict(zip(head, map(_value, _cells(row)), strict=False)))
            found.append(rows)
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _value(cell: str) -> Any:
    try:
        return float(cell.replace(",", "")) if cell else None
    except ValueError:
        return cell
