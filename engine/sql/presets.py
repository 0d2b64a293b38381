"""Presets: named sets of values that a paper, or released code, uses, each with where it stands there.

A parameter says them beside its default, and the file what they are of; a call takes one by name, and what it gives itself wins::

    presets = { paper = "Smith et al. (2023)" }

    [params.steps]
    type = "integer"
    default = 100
    presets = { paper = { value = 500, source = "B.2" } }

A preset may take the values of another where a parameter has none of its own for it, as a paper's study of settings does. Where
a paper defines a measure and leaves nothing to choose, its preset says so, and where, so that ``preset`` is taken there, too::

    presets = { paper = "Smith et al. (2023)", paper_grid = { of = "Smith et al. (2023), all settings", like = "paper" } }
    presets = { paper = { of = "Le et al. (2023)", source = "4.2.2" } }
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
_NAMED_KEYS: Final = {"of": "line", "source": "line", "like": "line"}


@dataclass(frozen=True, slots=True)
class Preset:
    """Hold the value of a parameter in a preset, as SQL text, and the page or section that says so."""

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Named:
    """Hold what a file says of a preset.

    Args:
        name: Its name.
        of: What it is of.
        source: The page or section of a preset that sets nothing; ``None`` where values have sources of their own.
        like: The preset whose values hold where a parameter has none for this one.
    """

    name: str
    of: str
    source: str | None = None
    like: str | None = None

    def __str__(self) -> str:
        """Return one line for people.

        Example:
            >>> print(Named("paper", "Le et al. (2023)", source="4.2.2"))
            paper: Le et al. (2023) (4.2.2; sets nothing)
            >>> print(Named("paper_grid", "all of its settings", like="paper"))
            paper_grid: all of its settings, the rest as paper
        """
        rest = f", the rest as {self.like}" if self.like else ""
        return f"{self.name}: {self.of}{rest}" + (f" ({self.source}; sets nothing)" if self.source else "")


class Parameter(Protocol):
    """A parameter that may have presets, or name one."""

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    @property
    def presets(self) -> tuple[Preset, ...]:
        """Return its values in presets."""
        ...

    @property
    def named(self) -> tuple[Named, ...]:
        """Return the presets that it names one of."""
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


def named(parameters: Iterable[Parameter], told: Mapping[str, Any], place: Callable[..., str]) -> tuple[Named, ...]:
    """Return what a file says of its presets.

    Args:
        parameters: Those of the file.
        told: What the front matter says of each preset by name.
        place: Gives the file and line of a key.

    Raises:
        RequestError: A parameter has a value for a preset that the file does not name; a preset sets nothing and has no source,
            or has one beside those of its values; or it is like none that is there.
    """
    made = {name: _named(name, what, partial(place, "presets", name)) for name, what in told.items()}
    used = {preset.name: parameter.name for parameter in parameters for preset in parameter.presets}
    for name in sorted(used.keys() - made.keys()):
        near = did_you_mean(name, made)
        where = place("params", used[name], "presets")
        raise RequestError(
            f"{where}: no preset is called {name!r}{near}",
            code="E3030",
            hint=f'presets = {{ {name} = "what it is of" }}',
        )
    for preset in made.values():
        where = place("presets", preset.name)
        if preset.name not in used and preset.source is None:
            raise RequestError(
                f"{where}: no parameter has a value for preset {preset.name!r}",
                code="E3030",
                hint=f'where a paper leaves nothing to set: {preset.name} = {{ of = "…", source = "page or section" }}',
            )
        if preset.source is not None and (preset.name in used or preset.like):
            raise RequestError(f"{where}: {preset.name!r} sets values, which have sources of their own", code="E3030")
        if preset.like is not None and (preset.like not in used or made[preset.like].like is not None):
            raise RequestError(f"{where}: {preset.name!r} cannot be like {preset.like!r}", code="E3030")
    return tuple(made.values())


def _named(name: str, what: Any, where: Callable[..., str]) -> Named:
    if isinstance(what, str):
        return Named(name, what)
    if not isinstance(what, dict):
        raise RequestError(f"{where()}: {name!r} must be text, not {what!r}", code="E3030")
    return Named(name, **frontmatter.take(what, _NAMED_KEYS, where, ("of",)))


def parameter(parameters: Iterable[P]) -> P | None:
    """Return the parameter that names a preset, where there are any."""
    return next((p for p in parameters if p.named), None)


def values(parameters: Iterable[Parameter], name: str) -> dict[str, str]:
    """Return the SQL text of each parameter that a preset sets.

    Example:
        >>> from counterbalance.engine.sql.query_model import QueryParameter
        >>> steps = QueryParameter("steps", "integer", "100", presets=(Preset("paper", "500", "B.2"),))
        >>> values([steps], "paper")
        {'steps': '500'}
    """
    known = tuple(parameters)
    like = {n.like for p in known for n in p.named if n.name == name}
    found = (
        (p.name, preset) for wanted in (like, {name}) for p in known for preset in p.presets if preset.name in wanted
    )
    return {parameter: preset.value for parameter, preset in found}
