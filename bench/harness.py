"""Times contenders beside each other: one process each, rounds in turn, medians, ratios, peak memory.

A benchmark is a module with ``prepare(folder, scale)``, which makes its inputs once, and ``cases(folder)``, which returns
``{case: {contender: (open, run)}}``. ``open()`` makes whatever a user would keep open; ``run(state)`` does the work and
returns something that must be equal between contenders (``None`` from one that only sets a limit). A *cold* time includes
``open``; a *warm* one does not. The first contender of a case is ours; ratios are the others' medians over ours. CPU seconds
are of all threads of the process, and tell what a machine that does something else as well cannot. A third function, if
there is one, is called before each run and is not timed.
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Case = dict[str, "tuple[Callable[..., Any], ...]"]


def serve(module: str, folder: str, case: str, contender: str) -> None:
    """A contender's process: runs once for every line on stdin, and answers with a line of JSON."""
    opener, run, *before = importlib.import_module(module).cases(Path(folder))[case][contender]
    state = None
    for line in sys.stdin:
        for prepare in before:
            prepare()
        started, busy = time.perf_counter(), time.process_time()
        if line.strip() == "cold" or state is None:
            state = opener()
        answer = run(state)
        seconds = time.perf_counter() - started
        told = {"seconds": seconds, "cpu": time.process_time() - busy, "peak_mb": _peak_mb(), "answer": answer}
        print(json.dumps(told, default=str), flush=True)


def _peak_mb() -> float:
    """High-water mark of this process alone; ``ru_maxrss`` would keep the parent's across exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


class Worker:
    """The other end of ``serve``."""

    def __init__(self, module: str, folder: Path, case: str, contender: str) -> None:
        command = [
            sys.executable,
            str(Path(__file__).parent / "run.py"),
            "--serve",
            module,
            str(folder),
            case,
            contender,
        ]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, mode: str) -> dict[str, Any]:
        """One timed run, ``"cold"`` or ``"warm"``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(mode + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            message = "a contender died; its error is above"
            raise RuntimeError(message)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def compare(
    module: str, folder: Path, case: str, names: list[str], *, rounds: int, modes: tuple[str, ...], uncounted: int
) -> list[dict[str, Any]]:
    """All contenders of a case, in turn; the first ``uncounted`` rounds of each mode warm caches."""
    workers = {name: Worker(module, folder, case, name) for name in names}
    times: dict[str, dict[str, list[float]]] = {name: {mode: [] for mode in modes} for name in names}
    busy: dict[str, dict[str, list[float]]] = {name: {mode: [] for mode in modes} for name in names}
    peaks: dict[str, float] = {}
    answers: dict[str, Any] = {}
    for mode in modes:
        for number in range(rounds + uncounted):
            for name, worker in workers.items():
                measured = worker.measure(mode)
                peaks[name] = measured["peak_mb"]
                answers[name] = measured["answer"]
                if number >= uncounted:
                    times[name][mode].append(measured["seconds"])
                    busy[name][mode].append(measured["cpu"])
    for worker in workers.values():
        worker.close()
    for name, answer in answers.items():
        if answer is not None and not _equal(answers[names[0]], answer):
            message = f"{case}: {name} answers {str(answer)[:200]}, not {str(answers[names[0]])[:200]}"
            raise AssertionError(message)
    rows = []
    for name in names:
        row: dict[str, Any] = {"case": case, "contender": name}
        for mode in modes:
            seconds = statistics.median(times[name][mode])
            row[f"{mode} s"] = seconds
            row[f"{mode} CPU s"] = statistics.median(busy[name][mode])
            row[f"{mode} ratio"] = seconds / statistics.median(times[names[0]][mode])
        rows.append({**row, "peak MB": peaks[name]})
    return rows


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return abs(one - other) <= 1e-6 * max(1.0, abs(one))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return ""
    head = list(rows[0])
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_shown(k, r[k]) for k in head) + " |" for r in rows]
    return "\n".join(lines)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if name.endswith("MB") else f"{value:.3g}"
    return str(value)
