"""Share what sheets of all kinds have: their form, answers with keys, names of annotators, and the page around them."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import meta
from counterbalance.report import pages
from counterbalance.report.svg import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from counterbalance.engine.lake import Lake

_KEYS: Final = "123456789abcdefghijklmnopqrtvwxyz"
"""Keys of the answers; ``s`` skips, ``u`` is ``unclear`` as well."""
UNCLEAR: Final = "unclear"
"""The last answer of every sheet."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet that was written.

    Args:
        path: The file.
        sheet: Its id; annotators are called ``a1@ID``, ``a2@ID`` … in the labels.
        drawn: Units on the sheet by label.
        population: Units in the lake by label.
        notes: What was left out, and why.
    """

    path: Path
    sheet: str
    drawn: Mapping[str, int]
    population: Mapping[str, int]
    notes: Sequence[str]


def identity(said: Any) -> str:
    """Return eight hex digits that name what is asked about which units: the same sheet has the same ones."""
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:8]


def questions(
    sheet: str, attribute: str, column: str, options: Sequence[str], annotators: int, items: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return all that the script knows.

    Args:
        sheet: Its id.
        attribute: Of the labels that answers become.
        column: What ids of items are: ``image_id`` or ``detection_id``.
        options: Answers, ``unclear`` last.
        annotators: How many will answer.
        items: What is shown, one after another: ``id`` and ``picture``; of edits ``more`` and ``facts``.
    """
    return {
        "sheet": sheet,
        "attribute": attribute,
        "column": column,
        "annotators": [f"a{n}@{sheet}" for n in range(1, annotators + 1)],
        "options": [{"value": v, "shown": plain(v), "key": k} for v, k in zip(options, _KEYS, strict=False)],
        "items": list(items),
    }


def about(lake: Lake, purpose: str | None, *, seed: int, blur: bool) -> dict[str, Any]:
    """Return what stands on every sheet for its readers."""
    return {
        "lake": pages.name_of(lake),
        "purpose": purpose or "not stated",
        "user": meta.user(),
        "made": meta.now().strftime("%Y-%m-%d %H:%M UTC"),
        "seed": seed,
        "blur": blur,
    }


def render(kind: str, data: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """Return the page as HTML text.

    Args:
        kind: ``validate`` or ``review``: the template within the sheet's.
        data: What the script reads; see ``questions``.
        words: For the reader, escaped here.
    """
    css, script = (pages.read_text(__package__, f"sheet.{end}") for end in ("css", "js"))
    page: str = pages.template(__package__, "sheet.html.j2", f"{kind}.html.j2").render(
        data=data, css=css, script=script, css_hash=_hash(css), script_hash=_hash(script), **words
    )
    return plain(page)


def _hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy names what may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
