"""Recipes, how they are run, and what running them tells, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from counterbalance.engine.progress import Progress
    from counterbalance.engine.sql.query_model import QueryParameter
    from counterbalance.engine.store.location import Location

State = Literal["done", "unchanged", "stopped", "planned"]


class AnyLake(Protocol):
    """A lake, as recipes and their actions are given it."""

    @property
    def location(self) -> Location:
        """Return where it lies."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a recipe.

    Args:
        name: Its name.
        doc: One line that says what it does.
        statements: What it runs, in order, as written.
    """

    name: str
    doc: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe: what its front matter says, and its steps in order."""

    name: str
    doc: str
    text: str
    source: str
    parameters: tuple[QueryParameter, ...]
    steps: tuple[Step, ...]

    def until(self, name: str | None) -> tuple[Step, ...]:
        """Return the steps up to one of them; all of them without a name.

        Raises:
            NotFoundError: There is no such step.
        """
        names = [s.name for s in self.steps]
        if name is not None and name not in names:
            near = did_you_mean(name, names)
            raise NotFoundError(
                f"recipe {self.name} has no step {name!r}{near}", code="E1160", hint="steps: " + ", ".join(names)
            )
        return self.steps if name is None else self.steps[: names.index(name) + 1]


@dataclass(frozen=True, slots=True)
class Running:
    """How a recipe is run.

    Args:
        until: The last step; all without one.
        sensitive: Purpose for which perceived labels are read, if any step reads them.
        refresh: Options of every refresh (executor, workers, device, batch_size, retry_errors).
        udfs: Files of the user's own functions and actions.
        measure: In a dry run, run functions on a few rows where no run has told how fast they are.
        progress: Called as rows are done.
        tell: Called when a step begins (state ``planned``) and when it ended.
        replace: Put a view in the place of one of its name that has another query; rows whose key stays are kept.
    """

    until: str | None = None
    sensitive: str | None = None
    refresh: Mapping[str, Any] = field(default_factory=dict)
    udfs: tuple[str, ...] = ()
    measure: bool = False
    progress: Callable[[Progress], None] | None = None
    tell: Callable[[StepReport], None] | None = None
    replace: bool = False


@dataclass(slots=True)
class StepReport:
    """One step.

    Args:
        step: Its name.
        doc: What it does.
        state: ``done``; ``unchanged`` when there was nothing to do; ``stopped`` where a parameter must be given first;
            ``planned`` in a dry run.
        message: What it did, or would do.
        rows: Rows computed, or to be computed where that is known.
        rows_per_second: Rate that the estimate rests on.
        seconds: Time it took; the estimate in a dry run.
        basis: Where the rate was measured.
        results: Rows of its queries.
        hint: What must be done to go on, where it stopped.
        notes: What a person should know.
    """

    step: str
    doc: str
    state: State = "unchanged"
    message: str = ""
    rows: int | None = None
    rows_per_second: float | None = None
    seconds: float | None = None
    basis: str = ""
    results: list[pa.Table] = field(default_factory=list)
    hint: str | None = None
    notes: list[str] = field(default_factory=list)

    def add(self, message: str, *, changed: bool, rows: int = 0) -> None:
        """Tell of one more statement."""
        self.message = f"{self.message}; {message}" if self.message and message else self.message or message
        if changed:
            self.state = "done"
        if rows:
            self.rows = (self.rows or 0) + rows

    def does(self, verb: str, what: str) -> None:
        """Tell of one more thing that would be done; what has the same verb is listed behind it.

        Example:
            >>> report = StepReport("one", "does two things")
            >>> report.does("make", "a"), report.does("make", "b"), report.does("ask", "")
            (None, None, None)
            >>> report.message
            'make a, b; ask'
        """
        last = self.message.rpartition("; ")[2].split(" ", maxsplit=1)[0]
        if last != verb:
            self.message += "; " * bool(self.message) + f"{verb} {what}".rstrip()
        elif what:
            self.message += f", {what}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields; the rows of its queries as lists of objects."""
        fields = ("step", "doc", "state", "message", "rows", "rows_per_second", "seconds", "basis", "hint", "notes")
        found = {name: getattr(self, name) for name in fields}
        return {**found, "results": [r.to_pylist() for r in self.results]}


@dataclass(frozen=True, slots=True)
class RecipeReport:
    """What running a recipe did, or would do."""

    recipe: str
    parameters: dict[str, str | None]
    steps: tuple[StepReport, ...]
    dry_run: bool = False

    @property
    def state(self) -> State:
        """Return ``stopped`` where a parameter must be given to go on; ``unchanged`` when nothing was to do; else ``done``."""
        states = {s.state for s in self.steps}
        if self.dry_run:
            return "planned"
        return "stopped" if "stopped" in states else "done" if "done" in states else "unchanged"

    @property
    def results(self) -> dict[str, pa.Table]:
        """Return rows of the queries by step; by ``step_2``, ``step_3`` where a step has several."""
        found: dict[str, pa.Table] = {}
        for report in self.steps:
            for number, table in enumerate(report.results, 1):
                found[report.step if number == 1 else f"{report.step}_{number}"] = table
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return {
            "recipe": self.recipe,
            "state": self.state,
            "dry_run": self.dry_run,
            "parameters": self.parameters,
            "steps": [s.to_dict() for s in self.steps],
        }


class StepError(CounterbalanceError):
    """A step failed; those before it stay done. Has the code and the exit code of what went wrong.

    Args:
        recipe: The recipe.
        step: The step.
        error: What went wrong.
    """

    def __init__(self, recipe: str, step: str, error: CounterbalanceError) -> None:
        again = "the same command goes on from there"
        hint = f"{error.hint}; {again}" if error.hint else again
        super().__init__(f"step {step} of {recipe}: {error.message}", code=error.code, hint=hint)
        self.step, self.error = step, error
        self.exit_code, self.retryable = error.exit_code, error.retryable  # type: ignore[misc]
