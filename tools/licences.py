"""List the licences of a bill of materials (CycloneDX), a line a component; fails where one has none.

Example:
    python tools/licences.py build/sbom.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

TOLD_ELSEWHERE: Final = {"vaderSentiment": "MIT (its LICENSE.txt; the package's metadata names none)"}


def licences(component: dict[str, Any]) -> list[str]:
    """Return the licences of a component, as its metadata names them; of one that names none what is known of it."""
    found = [
        one.get("expression") or one["license"].get("id") or one["license"].get("name", "")
        for one in component.get("licenses", ())
    ]
    return [text for text in dict.fromkeys(found) if text] or [
        TOLD_ELSEWHERE[n] for n in (component["name"],) if n in TOLD_ELSEWHERE
    ]


def main(path: str) -> None:
    """Print the list, by name."""
    components = json.loads(Path(path).read_text(encoding="utf-8"))["components"]
    without = []
    for component in sorted(components, key=lambda c: str(c["name"]).lower()):
        known = licences(component)
        print(f"{component['name']:<28}{component.get('version', ''):<16}{'; '.join(known)}")
        without += [] if known else [component["name"]]
    if without or len(components) < 10:
        sys.exit(
            f"no licence is named for {', '.join(without) or 'so few components'}: see what it is under, and say so in {__file__}"
        )


if __name__ == "__main__":
    main(sys.argv[1])
