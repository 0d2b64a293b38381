"""Presets: named sets of values that a paper, or released code, uses, each with where it stands there.

A parameter says them beside its default, and the file what they are of; a call takes one by name, and what it gives itself wins::

    presets = { paper = "Smith et al. (2023)" }

    [params.steps]
    type = "integer"
    default = 100
    presets = { paper = { value = 500, source = "B.2" } }
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.sql import frontmatter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

PRESET: Final = "preset"
"""The parameter that names one."""
_KEYS: Final = {"value": "value", "source": "line"}


@dataclass(frozen=True, slots=True)
class Preset:
    """Hold the value of a parameter in a preset, as SQL text, and the page or section that says so."""

    name: str
    value: str
    source: str


class Parameter(Protocol):
    """A parameter that may have presets."""

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    @property
    def presets(self) -> tuple[Preset, ...]:
        """Return its values in presets."""
        ...


P = TypeVar("P", bound=Parameter)


def read(
    table: Mapping[str, Any], place: Callable[..., str], text_of: Callable[[Any, Callable[[], str]], str]
) -> tuple[Preset, ...]:
    """Return the presets of a parameter.

    Args:
        table: What the front matter says of each by name.
        place: Gives the file and line of a key.
        text_of: Gives a value as SQL text, or refuses it, given where it stands.

    Raises:
        RequestError: A value is missing or none that the parameter takes, or its source is missing.
    """
    made = []
    for name, given in table.items():
        if not isinstance(given, dict):
            raise RequestError(
                f"{place('presets', name)}: preset {name!r} must be a table",
                code="E3030",
                hint=f'{name} = {{ value = …, source = "page or section" }}',
            )
        where = partial(place, "presets", name)
        told = frontmatter.take(given, _KEYS, where, tuple(_KEYS))
        made.append(Preset(name, text_of(told["value"], where), told["source"]))
    return tuple(made)


def refuse_unknown(parameters: Iterable[Parameter], named: Mapping[str, Any], place: Callable[..., str]) -> None:
    """Refuse presets that a parameter has and the file does not say what they are of, and those that no parameter has.

    Raises:
        RequestError: There is one.
    """
    odd = next((name for name, what in named.items() if not isinstance(what, str)), None)
    if odd is not None:
        raise RequestError(f"{place('presets', odd)}: {odd!r} must be text, not {named[odd]!r}", code="E3030")
    used = {preset.name: parameter.name for parameter in parameters for preset in parameter.presets}
    for name in used.keys() - named.keys():
        near = did_you_mean(name, named)
        where = place("params", used[name], "presets")
        raise RequestError(
            f"{where}: no preset is called {name!r}{near}",
            code="E3030",
            hint=f'presets = {{ {name} = "what it is of" }}',
        )
    for name in named.keys() - used.keys():
        raise RequestError(f"{place('presets', name)}: no parameter has a value for preset {name!r}", code="E3030")


def parameter(parameters: Iterable[P]) -> P | None:
    """Return the parameter that names a preset, where there are any."""
    known = tuple(parameters)
    return next((p for p in known if p.name == PRESET), None) if any(p.presets for p in known) else None


def values(parameters: Iterable[Parameter], name: str) -> dict[str, str]:
    """Return the SQL text of each parameter that a preset sets.

    Example:
        >>> from counterbalance.engine.sql.query_model import QueryParameter
        >>> values([QueryParameter("steps", "integer", "100", presets=(Preset("paper", "500", "B.2"),))], "paper")
        {'steps': '500'}
    """
    return {p.name: preset.value for p in parameters for preset in p.presets if preset.name == name}
