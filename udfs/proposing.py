"""Ask a language model to propose attributes, and make one proposal of its replies.

Three questions (Q1 to Q3): which categories of attributes pictures with a caption may differ in; which attributes each category
has; whether a category is a matter of the whole picture or of an object in it. Each is put several times; what most replies
name is taken. Replies are JSON objects of one field and nothing else; others are asked for again.

Source: K. Kabra et al., GELDA: A generative language annotation framework to reveal visual biases in datasets (2023). The
questions are in words of our own.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import FunctionError
from counterbalance.udfs.proposals import LEVELS, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Asked = Callable[[str, int], str]
    """From a question and a seed to a reply."""

_FENCE: Final = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_LONGEST: Final = 80
_CUT: Final = 120
_ABOUT: Final = 'The pictures of a dataset have the caption "{caption}". '
_ONLY: Final = " Reply with a JSON object and with nothing else: "
CATEGORIES: Final = (
    _ABOUT
    + "Name {count} categories of attributes in which such pictures can visibly differ from each other. Name each in a "
    "few words, and none twice." + _ONLY + '{{"categories": ["...", "..."]}}'
)
ATTRIBUTES: Final = (
    _ABOUT
    + 'Name {count} different attributes of the category "{category}" that can be seen in such pictures. Name each in a '
    "few words, and none twice." + _ONLY + '{{"attributes": ["...", "..."]}}'
)
LEVEL: Final = (
    _ABOUT
    + 'They are sorted by "{category}". Is that a matter of the whole picture, such as its style or its light, or of an '
    "object, or a part of one, that stands at a place in it?" + _ONLY + '{{"level": "image"}} or {{"level": "object"}}'
)


@dataclass(frozen=True, slots=True)
class Row:
    """An attribute of a proposal, with how many replies named it and its category."""

    term: str
    category: str
    level: str
    votes: int
    category_votes: int


@dataclass(slots=True)
class Interview:
    """Questions to a language model about pictures with one caption.

    Args:
        ask: Gives the model's reply to a question; another seed, another reply where the model draws them.
        caption: Of the pictures.
        generations: How often each question is put.
        attempts: How often a question is put until its reply is as it must be.
        seed: Of the first question.
        said: All questions with their replies, in order, those that could not be read included.
    """

    ask: Asked
    caption: str
    generations: int = 5
    attempts: int = 10
    seed: int = 0
    said: list[dict[str, Any]] = field(default_factory=list)

    def proposal(self, categories: int, attributes: int) -> list[Row]:
        """Return the proposal.

        Args:
            categories: How many to take.
            attributes: How many of each to take.

        Raises:
            FunctionError: No reply to a question was as it must be (E8320).
        """
        rows: list[Row] = []
        for category, of_category in self._listed(CATEGORIES, "categories", categories, category=""):
            named = self._listed(ATTRIBUTES, "attributes", attributes, category=category)
            level = self._level(category)
            rows += [Row(term, category, level, votes, of_category) for term, votes in named]
        return rows

    def _listed(self, question: str, name: str, count: int, category: str) -> list[tuple[str, int]]:
        text = question.format(caption=self.caption, count=count, category=category)
        return most_named([self._reply(text, name, i, _list)[:count] for i in range(self.generations)], count)

    def _level(self, category: str) -> str:
        text = LEVEL.format(caption=self.caption, category=category)
        named = [self._reply(text, "level", i, _one_level) for i in range(self.generations)]
        return max(LEVELS, key=named.count)

    def _reply(self, text: str, name: str, generation: int, value: Callable[[Any], Any]) -> Any:
        reply = ""
        for attempt in range(self.attempts):
            reply = self.ask(text, self.seed + generation * self.attempts + attempt)
            found = value(_field(reply, name))
            self.said.append({"question": text, "reply": reply, "used": found is not None})
            if found is not None:
                return found
        raise FunctionError(
            f"{self.attempts} replies to a question for {name} were no JSON of that form; the last one: {_cut(reply)!r}",
            code="E8320",
            hint="take a model that follows instructions, or write the table by hand",
        )


def most_named(lists: Sequence[Sequence[str]], count: int) -> list[tuple[str, int]]:
    """Return what most lists name, with how many do.

    Of what equally many name, that comes first which stands further in front (by the sum of its places, a list that lacks it
    counting its length), then what is first in the alphabet.

    Example:
        >>> most_named([["light", "pose"], ["pose", "light"], ["colour", "light"]], 2)
        [('light', 3), ('pose', 2)]
    """
    places: dict[str, list[int]] = defaultdict(list)
    for named in lists:
        for place, term in enumerate(named):
            places[term].append(place - len(named))
    order = sorted(places, key=lambda term: (-len(places[term]), sum(places[term]), term))
    return [(term, len(places[term])) for term in order[:count]]


def _field(reply: str, name: str) -> Any:
    """Return the value of the one field that a reply must have, ``None`` where it is anything else."""
    text = reply.strip()
    fenced = _FENCE.match(text)
    try:
        found = json.loads(fenced[1] if fenced else text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return found[name] if isinstance(found, dict) and list(found) == [name] else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a field is there twice")
    return dict(pairs)


def _list(value: Any) -> list[str] | None:
    """Return different names in lower case, in order.

    Example:
        >>> _list(["Wing  Colour", "wing_colour.", "pose"]), _list(["pose", 3]), _list([])
        (['wing colour', 'pose'], None, None)
    """
    if not isinstance(value, list) or not all(isinstance(v, str) and len(v) <= _LONGEST for v in value):
        return None
    terms = dict.fromkeys(" ".join(v.replace("_", " ").lower().split()).strip(" .,;:!?\"'") for v in value)
    return [term for term in terms if term not in {"", UNKNOWN}] or None


def _one_level(value: Any) -> str | None:
    return value if value in LEVELS else None


def _cut(reply: str) -> str:
    return reply if len(reply) <= _CUT else reply[:_CUT] + "…"
