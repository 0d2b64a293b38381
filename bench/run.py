"""All benchmarks: ``python bench/run.py [NAME …] [--scale full|small] [--rounds N] [--only CASE] [--without CONTENDER]``.

Prints one Markdown table a benchmark. ``small`` takes a minute or two, ``full`` the sizes that README quotes.
"""

from __future__ import annotations

import argparse
import platform
import runpy
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import harness  # noqa: E402 - the folder is no package

COMPARED = (
    "bench_retrieval", "bench_groups", "bench_ingest", "bench_refresh", "bench_search", "bench_words", "bench_contrast",
    "bench_rank_filter", "bench_direction", "bench_association",
)  # fmt: skip
ALONE = ("bench_vader", "bench_text", "bench_executors", "bench_indexes", "bench_embed")


def main() -> None:
    """Parse the command line and run."""
    if sys.argv[1:2] == ["--serve"]:
        harness.serve(*sys.argv[2:6])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*COMPARED, *ALONE])
    parser.add_argument("--scale", choices=("full", "small"), default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--uncounted", type=int, default=1, help="rounds before the counted ones")
    parser.add_argument("--modes", default="cold,warm")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--without", default=[], action="append", help="contenders to leave out")
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, scale {options.scale}\n")
    with tempfile.TemporaryDirectory(prefix="counterbalance-bench-") as scratch:
        folder = options.folder or Path(scratch)
        for name in options.names:
            print(f"## {name}\n", flush=True)
            if name in ALONE:
                runpy.run_path(str(HERE / f"{name}.py"), run_name="__main__")
                continue
            module = __import__(name)
            module.prepare(folder, options.scale)
            for case, contenders in module.cases(folder).items():
                if options.only in case:
                    names = [c for c in contenders if c not in options.without]
                    modes = tuple(options.modes.split(","))
                    rows = harness.compare(
                        name, folder, case, names, rounds=options.rounds, modes=modes, uncounted=options.uncounted
                    )
                    print(harness.table(rows) + "\n", flush=True)


if __name__ == "__main__":
    main()
