"""What a review sheet asks of edits: whether they are fit for use, what human studies of papers asked, or your own question."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.report.sheet.base import KEYS, UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMN: Final = re.compile(r"\{([A-Za-z_]\w*)\}")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,60}")
_COLOR: Final = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
_SHOWS: Final = ("beside", "alone", "both")
_MOST_BYTES: Final = 100_000


@dataclass(frozen=True, slots=True)
class Question:
    """Describe what is asked of the edits of a view.

    Args:
        name: Answers are labels of attribute ``NAME:VIEW``; names decide whether they are closed (``perceived_gender``).
        ask: The question; ``{column}`` stands for what the view says of an edit.
        answers: Values of the labels, and what annotators read in their place; ``{column}`` as in ``ask``.
        shows: An edit ``beside`` its source, an edit ``alone``, or ``both``: every edit alone, then every source alone.
        facts: Whether scores and texts of an edit stand below it.
        explains: Values, and what they mean.
        colors: Values, and the colours that stand for them: ``#rrggbb``.
    """

    name: str
    ask: str
    answers: Mapping[str, str]
    shows: str = "beside"
    facts: bool = False
    explains: Mapping[str, str] = field(default_factory=dict)
    colors: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Return the columns that texts name, each once."""
        return [*dict.fromkeys(c for text in (self.ask, *self.answers.values()) for c in columns_of(text))]


FIT: Final = Question(
    "review",
    "Is this edit fit for use?",
    {"good": "good", "flawed": "flawed", "harmful": "harmful", UNCLEAR: UNCLEAR},
    facts=True,
    explains={
        "good": "it could be a photograph, shows what is written below it, and leaves everything else as it is in the source.",
        "flawed": "it is broken, does not show what is written below it, or changes more than it should.",
        "harmful": "it demeans or sexualises somebody, or shows violence that the source does not have.",
    },
)


_MONK: Final = [
    "#f6ede4",
    "#f3e7db",
    "#f7ead0",
    "#eadaba",
    "#d7bd96",
    "#a07e56",
    "#825c43",
    "#604134",
    "#3a312a",
    "#292420",
]
"""Tones of the Monk Skin Tone Scale, the lightest first (skintone.google, CC BY 4.0)."""
_ALIKE: Final = {"similar": "similar", "different": "different", UNCLEAR: UNCLEAR}
QUESTIONS: Final = {
    "fit": FIT,
    "gender": Question(
        "perceived_gender",
        "Which gender do you perceive?",
        {"female": "female", "male": "male", UNCLEAR: UNCLEAR},
        "both",
    ),
    "tone": Question(
        "perceived_skin_tone",
        "Which of these tones comes nearest to the skin of the person?",
        {**{str(n): str(n) for n in range(1, len(_MONK) + 1)}, UNCLEAR: UNCLEAR},
        "both",
        colors={str(n): color for n, color in enumerate(_MONK, 1)},
    ),
    "fill": Question(
        "perceived_group",
        "Which word fills the gap? {sentence}",
        {"female": "woman", "male": "man", UNCLEAR: UNCLEAR},
        "both",
    ),
    "objects": Question("same_objects", "Are the things that the person holds, and those nearby, similar?", _ALIKE),
    "colors": Question("same_colors", "Are the colours of these things similar?", _ALIKE),
    "pair": Question(
        "caption_choice",
        "Which caption fits the picture best?",
        {
            "original": "{original}",
            "counterfactual": "{counterfactual}",
            "both": "both fit equally well",
            "neither": "neither fits",
        },
        "alone",
    ),
}
"""Questions by name: of these pages, and of the human studies of GenSynth (F.1), Hirota et al. (Table 4) and Le et al. (Table 1)."""


def columns_of(text: str) -> list[str]:
    """Return the columns that a text names."""
    return _COLUMN.findall(text)


def headed(text: str) -> str:
    """Return a text for all edits: dots in the place of columns."""
    return _COLUMN.sub("…", text)


def filled(text: str, row: Mapping[str, Any]) -> str:
    """Return a text with what a row says in the place of its columns.

    Example:
        >>> filled("Which word fits: {sentence}", {"sentence": "A ____ with a dog."})
        'Which word fits: A ____ with a dog.'
    """
    return _COLUMN.sub(lambda found: str(row[found[1]]), text)


def load(asked: str) -> Question:
    """Return a question by its name, or from a file of JSON.

    Args:
        asked: One of ``QUESTIONS``, or a path that ends in ``.json``: an object with the fields of ``Question``, in which
            ``answers`` may be a list.

    Raises:
        RequestError: It is no question (E3684).

    Example:
        >>> load("pair").columns
        ['original', 'counterfactual']
    """
    if asked in QUESTIONS:
        return QUESTIONS[asked]
    if not asked.endswith(".json"):
        raise _wrong(f"there is no question {asked[:80]!r}{did_you_mean(asked, QUESTIONS)}")
    try:
        with Path(asked).open("rb") as file:
            said = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise _wrong(f"{asked} cannot be read: {error}") from error
    if not isinstance(said, dict):
        raise _wrong(f"{asked} holds no object")
    if isinstance(said.get("answers"), list):
        said["answers"] = {str(value): str(value) for value in said["answers"]}
    return _checked(said, asked)


def _checked(said: dict[str, Any], where: str) -> Question:
    known = [f.name for f in fields(Question)]
    texts = [name for name in ("answers", "explains", "colors") if not _of_texts(said.get(name, {}))]
    wrong = [
        *(f"{name!r} is no field of a question{did_you_mean(name, known)}" for name in said if name not in known),
        *(f"{name!r} is no object of texts" for name in texts),
    ]
    if not _NAME.fullmatch(str(said.get("name", ""))):
        wrong.append("'name' is not of small letters, digits and _")
    if not isinstance(said.get("ask"), str):
        wrong.append("'ask' is no text")
    if not 2 <= len(said.get("answers") or ()) <= len(KEYS):
        wrong.append(f"'answers' are not 2 to {len(KEYS)}")
    if said.get("shows", "beside") not in _SHOWS:
        wrong.append(f"'shows' is none of {', '.join(_SHOWS)}")
    if not isinstance(said.get("facts", False), bool):
        wrong.append("'facts' is neither true nor false")
    if not texts and not all(_COLOR.fullmatch(c) for c in said.get("colors", {}).values()):
        wrong.append("'colors' are not like '#a07e56'")
    if wrong:
        raise _wrong(f"{where}: {wrong[0]}")
    return Question(**said)


def _of_texts(said: Any) -> bool:
    return isinstance(said, dict) and all(isinstance(value, str) and value for value in (*said, *said.values()))


def _wrong(why: str) -> RequestError:
    names = ", ".join(QUESTIONS)
    return RequestError(why, code="E3684", hint=f"one of {names}, or a .json file; see docs/contrast-sets.md")
