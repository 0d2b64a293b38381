"""What all declarations share: the journaled run, dependents, cycles, schedules."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine import schedule
from counterbalance.engine.catalog import definitions
from counterbalance.engine.errors import BusyError, RefusedError, SqlError
from counterbalance.engine.store import tables
from counterbalance.engine.write.journal import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from counterbalance.engine.catalog.definitions import Definition, Definitions
    from counterbalance.engine.catalog.planning import Catalog
    from counterbalance.engine.write.journal import Writing

ANOTHER: Final = "E3174"
"""Code of the error about IF NOT EXISTS where something else has the name."""


@contextlib.contextmanager
def journaled(catalog: Catalog, target: str, mode: str) -> Iterator[Writing]:
    """Open a run that changes definitions, on the ones that were checked.

    Raises:
        BusyError: Somebody is writing, or has declared something since.
    """
    with writing(catalog.location, "declare", target) as work:
        if tables.latest_version(catalog.location, "meta/definitions") != catalog.version:
            raise BusyError("somebody else has just declared something", code="E7001", hint="try again")
        yield work
        work.finish(mode, {})


def with_one(known: Definitions, new: Definition) -> Definitions:
    """Return the definitions as they will be."""
    return definitions.Definitions({**known.by_target, new.target: new})


def check_schedule(options: Mapping[str, Any]) -> str | None:
    """Return the schedule of a statement.

    Raises:
        RequestError: It is none.
    """
    text = options.get("schedule")
    if text is None:
        return None
    schedule.validate(str(text))
    return str(text).strip()


def dependents(known: Definitions, definition: Definition) -> list[Definition]:
    """Return everything that stands on it, directly or not, the furthest first."""
    found: dict[str, Definition] = {}
    pending = [definition]
    while pending:
        for other in known.downstream(pending.pop()):
            if other.target not in found and other.target != definition.target:
                found[other.target] = other
                pending.append(other)
    return [d for d in reversed(known.order()) if d.target in found]


def way_for(known: Definitions, definition: Definition, command: str) -> str:
    """Return the command that drops a thing, with what it takes along."""
    others = sorted(d.target for d in dependents(known, definition))
    return f"{command} CASCADE, with {', '.join(others)} and their values" if others else command


def refuse_dependents(what: str, others: Iterable[Definition], hint: str) -> None:
    """Refuse to take away what others stand on.

    Raises:
        RefusedError: There are some; names them.
    """
    names = [f"{d.kind} {d.target}" for d in others]
    if names:
        raise RefusedError(f"{what} is read by {', '.join(sorted(names))}", code="E3212", hint=hint)


def refuse_cycle(known: Definitions, new: Definition) -> None:
    """Refuse a definition that would read itself through others.

    Raises:
        SqlError: It would; tells the way.
    """
    later = with_one(known, new)

    def path(definition: Definition, way: tuple[str, ...]) -> tuple[str, ...] | None:
        for other in later.upstream(definition):
            if other.target == new.target:
                return (*way, other.target)
            if other.target not in way:
                found = path(other, (*way, other.target))
                if found is not None:
                    return found
        return None

    way = path(new, (new.target,))
    if way is not None or any(relation == new.name for relation, _ in new.reads if new.kind == "view"):
        raise reads_itself(new.target, way or (new.target, new.target))


def reads_itself(target: str, way: Sequence[str]) -> SqlError:
    """Return the error for a definition that reads itself, along the way that is named."""
    shown = " -> ".join(way)
    return SqlError(f"{target} would read itself: {shown}", code="E3173", hint="each reads the one after the arrow")


def is_another(target: str, what: str, hint: str) -> SqlError:
    """Return the error for IF NOT EXISTS where something else has the name."""
    return SqlError(f"{target} is there with another {what}", code=ANOTHER, hint=hint)
