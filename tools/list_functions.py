"""Write udfs/functions.json: what lists say of our functions, so that nobody imports their modules to read it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from counterbalance.engine.functions import LIST, functions

PATH = Path(__file__).parents[1] / "udfs" / LIST


def text() -> str:
    """Return the file as the modules would have it."""
    known = [
        function for function in functions().values() if function.call.__module__.startswith("counterbalance.udfs.")
    ]
    said = {f.name: {k: v for k, v in dataclasses.asdict(f.listed).items() if k != "name"} for f in known}
    lines = (f"{json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}" for name, one in said.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"  # one function a line


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
