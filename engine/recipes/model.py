"""What running a recipe tells, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from counterbalance.engine.errors import CounterbalanceError

if TYPE_CHECKING:
    import pyarrow as pa

State = Literal["done", "unchanged", "stopped", "planned"]


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
        """As JSON-ready fields; the rows of its queries as lists of objects."""
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
        """``stopped`` where a parameter must be given to go on; ``unchanged`` when nothing was to do; else ``done``."""
        states = {s.state for s in self.steps}
        if self.dry_run:
            return "planned"
        return "stopped" if "stopped" in states else "done" if "done" in states else "unchanged"

    @property
    def results(self) -> dict[str, pa.Table]:
        """Rows of the queries by step; by ``step_2``, ``step_3`` where a step has several."""
        found: dict[str, pa.Table] = {}
        for report in self.steps:
            for number, table in enumerate(report.results, 1):
                found[report.step if number == 1 else f"{report.step}_{number}"] = table
        return found

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready fields."""
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
