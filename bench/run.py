"""All benchmarks: ``python bench/run.py [NAME …] [--scale full|small] [--rounds N] [--only CASE] [--without CONTENDER]``.

Prints one Markdown table a benchmark. ``small`` takes a minute or two, ``full`` the sizes that README quotes. Five rounds of
cold and warm runs, but one cold run at the scales that a benchmark names in ``ONCE``. ``--output DIR`` writes ``DIR/NAME.json``
and ``DIR/NAME.md`` besides, which name the machine, versions and commit.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import platform
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import harness  # noqa: E402 - the folder is no package
import results  # noqa: E402 - as above

COMPARED = (
    "bench_captions", "bench_retrieval", "bench_groups", "bench_ingest", "bench_refresh", "bench_search", "bench_words", "bench_contrast",
    "bench_rank_filter", "bench_direction", "bench_association",
)  # fmt: skip
ALONE = ("bench_vader", "bench_text", "bench_executors", "bench_indexes", "bench_embed", "bench_edits")


def main() -> None:
    """Parse the command line and run."""
    if sys.argv[1:2] == ["--serve"]:
        harness.serve(*sys.argv[2:6])
        return
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("names", nargs="*", default=[*COMPARED, *ALONE])
    parser.add_argument("--scale", choices=("full", "small", "tiny"), default="small")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--uncounted", type=int, default=None, help="rounds before the counted ones")
    parser.add_argument("--modes", default=None)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--without", default=[], action="append", help="contenders to leave out")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--output", type=Path, default=None, metavar="DIR", help="write results to files, too")
    parser.add_argument("--device", default="auto", help="of bench_embed: auto, cpu, cuda, cuda:1 …")
    options = parser.parse_args()
    print(f"{results.processor()}, Python {platform.python_version()}, scale {options.scale}\n")
    with tempfile.TemporaryDirectory(prefix="counterbalance-bench-") as scratch:
        folder = options.folder or Path(scratch)
        for name in options.names:
            print(f"## {name}\n", flush=True)
            often = _often(options, name)
            tables = alone(name, often) if name in ALONE else compared(name, often, folder)
            if options.output is not None:
                results.write(options.output, name, tables, scale=options.scale, rounds=often.rounds)


def compared(name: str, options: argparse.Namespace, folder: Path) -> list[list[dict[str, Any]]]:
    """Time the contenders of a benchmark; a table a case."""
    module = __import__(name)
    module.prepare(folder, options.scale)
    tables = []
    for case, contenders in module.cases(folder).items():
        if options.only in case:
            names = [c for c in contenders if c not in options.without]
            modes = tuple(options.modes.split(","))
            rows = harness.compare(
                name, folder, case, names, rounds=options.rounds, modes=modes, uncounted=options.uncounted
            )
            print(harness.table(rows) + "\n", flush=True)
            tables.append(rows)
    return tables


def alone(name: str, options: argparse.Namespace) -> list[list[dict[str, Any]]]:
    """Run a benchmark that prints tables of its own."""
    own = {
        "bench_embed": ["--scale", options.scale, "--rounds", str(options.rounds), "--device", options.device],
        "bench_indexes": ["--scale", options.scale, *(w for n in options.without for w in ("--without", n))],
        "bench_edits": ["--scale", options.scale],
    }
    path, before = HERE / f"{name}.py", sys.argv
    told = _Told(sys.stdout)
    try:
        sys.argv = [str(path), *own.get(name, [])]
        with contextlib.redirect_stdout(told):
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before
    return results.tables(told.getvalue())


class _Told(io.StringIO):
    """Keeps what is printed, and prints it."""

    def __init__(self, shown: Any) -> None:
        super().__init__()
        self._shown = shown

    def write(self, text: str) -> int:
        self._shown.write(text)
        return super().write(text)

    def flush(self) -> None:
        self._shown.flush()


def _often(options: argparse.Namespace, name: str) -> argparse.Namespace:
    """With rounds, those before them, and modes: as asked for, else as the benchmark has them."""
    once = name in COMPARED and options.scale in getattr(__import__(name), "ONCE", ())
    usual = (
        {"rounds": 1, "uncounted": 0, "modes": "cold"} if once else {"rounds": 5, "uncounted": 1, "modes": "cold,warm"}
    )
    given = {k: v for k, v in vars(options).items() if v is not None or k not in usual}
    return argparse.Namespace(**{**usual, **given})


if __name__ == "__main__":
    main()
