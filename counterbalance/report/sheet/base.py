"""Share what sheets of all kinds have: their form, answers with keys, names of annotators, and the page around them."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import meta
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.schema import is_of_people
from counterbalance.report import pages
from counterbalance.report.svg import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

KEYS: Final = "123456789abcdefghijklmnopqrtvwxyz"
"""Keys of the answers; ``s`` skips, ``u`` is ``unclear`` as well."""
UNCLEAR: Final = "unclear"
"""The last answer of most sheets."""


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


def refuse_without_purpose(session: Session, attribute: str) -> None:
    """Refuse a sheet that shows people one by one for an attribute that is closed.

    Raises:
        SensitiveError: The session has no purpose (E3310).
    """
    if not session.sensitive and (is_of_people(attribute) or attribute in session.sensitive_attributes()):
        raise SensitiveError(
            f"a sheet about {attribute!r} shows people one by one",
            code="E3310",
            hint='state a purpose: --sensitive "why", which is logged',
        )


def identity(said: Any) -> str:
    """Return eight hex digits that name what is asked about which units: the same sheet has the same ones."""
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:8]


def questions(
    sheet: str,
    attribute: str,
    columns: Sequence[str],
    options: Mapping[str, str],
    annotators: int,
    items: Sequence[Mapping[str, Any]],
    sources: Sequence[str] = (),
) -> dict[str, Any]:
    """Return all that the script knows.

    Args:
        sheet: Its id.
        attribute: Of the labels that answers become.
        columns: What an answer says of its item: ``image_id``, ``detection_id`` or both.
        options: Answers, and what annotators read in their place.
        annotators: How many will answer.
        items: What is shown, one after another: ``id``, ``picture`` and ``columns``, of which one that is missing is the id;
            of edits see ``review``.
        sources: Pictures that items stand beside, each by its place here.
    """
    return {
        "sheet": sheet,
        "attribute": attribute,
        "columns": list(columns),
        "annotators": [f"a{n}@{sheet}" for n in range(1, annotators + 1)],
        "options": [
            {"value": v, "shown": plain(s), "key": k} for (v, s), k in zip(options.items(), KEYS, strict=False)
        ],
        "items": list(items),
        "sources": list(sources),
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
