"""Queries as they are read from their files: audits, views, recipes and functions, and their parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from counterbalance.engine.disclosure.cells import Cells
    from counterbalance.engine.sql.presets import Named, Preset

Kind = Literal["audit", "view", "recipe", "function"]


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two relations of an audit that must share a name for it to have anything to say.

    Args:
        left: Relation parameter, and the column of names.
        right: The other one.
        watched: Column of the result that is NULL or 0 throughout where no name is shared.
    """

    left: tuple[str, str]
    right: tuple[str, str]
    watched: str


@dataclass(frozen=True, slots=True)
class Among:
    """Parameters of an audit that are labels of some of its relations.

    Args:
        labels: These parameters.
        relations: Relation parameters whose ``label`` they are; the first that is given counts, else the last.
    """

    labels: tuple[str, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of an audit or a view.

    Args:
        name: Its name.
        type: ``relation`` (of a table function also ``stream``: one that is read a batch at a time), or a SQL type such as
            ``integer[]``.
        default: SQL text used when it is left out; ``None`` makes it required.
        about: One line for people.
        columns: The columns that rows given for it must have.
        choices: The values it may have; none when it may have any.
        min: Its least number.
        max: Its greatest number.
        above: What its numbers are greater than.
        below: What its numbers are less than.
        values: The column of table labels that its values come from, such as ``labels.attribute``.
        optional: It may be NULL.
        grid: The values that a session without a purpose may give where perceived labels are counted; ``None``: any.
        free: Its value cuts no population.
        narrowed: The view leaves rows of this relation out, such as those of unclear labels.
        drawn: How many it keeps of each label goes by how many there are of others.
        side: Which of two datasets it is of, as cells say it.
        presets: Its values in papers.
        named: The presets that it names one of; of the parameter ``preset`` alone.
    """

    name: str
    type: str
    default: str | None = None
    about: str = ""
    columns: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None
    values: str | None = None
    optional: bool = False
    grid: tuple[Any, ...] | None = None
    free: bool = False
    narrowed: bool = False
    drawn: bool = False
    side: str | None = None
    presets: tuple[Preset, ...] = ()
    named: tuple[Named, ...] = ()

    @property
    def is_relation(self) -> bool:
        """Tell whether it names rows rather than a value."""
        return self.type in {"relation", "stream"}

    @property
    def doc(self) -> str:
        """Return one line for people: what it may be, and what it is about.

        Example:
            >>> QueryParameter("k", "integer[]", "[5]", "cut-offs", min=1).doc
            'at least 1; cut-offs'
            >>> QueryParameter("groups", "relation", None, "group relation", columns=("image_id", "label")).doc
            '(image_id, label): group relation'
        """
        told = f"({', '.join(self.columns)}): {self.about}".removesuffix(": ") if self.columns else self.about
        others = (f"{p.name}: {p.value} ({p.source})" for p in self.presets)
        return "; ".join(part for part in (self.bounds, told, *others) if part)

    @property
    def bounds(self) -> str | None:
        """Return what values it takes, in words; ``None`` when it takes any.

        Example:
            >>> QueryParameter("unit", "varchar", "'image'", choices=("image", "person")).bounds
            "one of 'image', 'person'"
        """
        return "one of " + ", ".join(map(repr, self.choices)) if self.choices else self.range

    @property
    def range(self) -> str | None:
        """Return the numbers it may have, in words; ``None`` when it may have any.

        Example:
            >>> QueryParameter("test_share", "double", "0.2", above=0, below=1).range
            'between 0 and 1'
            >>> QueryParameter("x", "double", min=0, below=1).range
            'at least 0, below 1'
        """
        if self.min is not None and self.max is not None:
            return f"from {self.min} to {self.max}"
        if self.above is not None and self.below is not None:
            return f"between {self.above} and {self.below}"
        ends = {"at least": self.min, "above": self.above, "at most": self.max, "below": self.below}
        return ", ".join(f"{words} {end}" for words, end in ends.items() if end is not None) or None

    @property
    def is_empty(self) -> bool:
        """Tell whether no number is in that range.

        Example:
            >>> QueryParameter("k", "integer", min=5, max=3).is_empty, QueryParameter("k", "double", above=0, max=0).is_empty
            (True, True)
        """
        low = max((end for end in (self.min, self.above) if end is not None), default=float("-inf"))
        high = min((end for end in (self.max, self.below) if end is not None), default=float("inf"))
        return low > high or (low == high and not self.is_within(low))

    def is_within(self, value: float) -> bool:
        """Tell whether a number is in that range.

        Example:
            >>> share = QueryParameter("test_share", "double", "0.2", above=0, below=1)
            >>> share.is_within(0.5), share.is_within(1)
            (True, False)
        """
        return (
            (self.min is None or value >= self.min)
            and (self.max is None or value <= self.max)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    @property
    def label_column(self) -> str | None:
        """Return the column of table labels that its values come from, if it is one of those.

        Example:
            >>> QueryParameter("attribute", "varchar", values="labels.attribute").label_column
            'attribute'
        """
        return None if self.values is None else self.values.removeprefix("labels.")


@dataclass(frozen=True, slots=True)
class Query:
    """An audit, a view, a recipe or a function written in SQL: its SQL and all that its front matter says.

    Args:
        since: The release that had it first.
        returns: The type of a function's value.
        open_labels: It reads of ``labels`` only what needs no purpose, even inside of an audit.
        exact: Its numbers tell of single rows, whatever cells are hidden.
        apart: Relations that it counts each for itself and never matches image by image, so that those of another lake
            tell nothing of single images of this one.
        among: Parameters that are labels, and of which relation.
        together: Relations that are given together or not at all.
        cells: The counts that its rows tell.
        place: File and line where its SQL begins.
        is_own: It was loaded by ``load``: it reads what its caller may read, and its rows are the caller's own.
    """

    name: str
    kind: Kind
    doc: str
    sql: str = field(repr=False)
    parameters: tuple[QueryParameter, ...] = ()
    text: str = field(default="", repr=False)
    source: str = ""
    since: str = "0.2.0"
    level: str | None = None
    kernel: str | None = None
    meets: Meeting | None = None
    among: tuple[Among, ...] = ()
    together: frozenset[str] = frozenset()
    subject: str = ""
    open_labels: bool = False
    exact: bool = False
    apart: frozenset[str] = frozenset()
    returns: str = ""
    cells: tuple[Cells, ...] = ()
    place: str = field(default="", repr=False, compare=False)
    is_own: bool = False

    @property
    def signature(self) -> str:
        """Return the call as SQL, with defaults."""
        parts = [p.name if p.default is None else f"{p.name} := {p.default}" for p in self.parameters]
        return f"{self.name}({', '.join(parts)})"
