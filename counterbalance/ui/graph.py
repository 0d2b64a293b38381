"""Draw what is made of what as an SVG: one column a step, arrows from what is read to what is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WIDTH: Final = 230
_HEIGHT: Final = 44
_ACROSS: Final = 90
_DOWN: Final = 16
_LETTERS: Final = 30


@dataclass(frozen=True, slots=True)
class Node:
    """Something that is drawn.

    Args:
        name: Its name.
        kind: ``table``, or what is declared: a class of the style sheet.
        reads: Names of what it is made of.
        state: ``fresh``, ``stale`` …; a class of the style sheet, too.
        version: Of a table or view, where it is told.
        recipe: What declared it, if a recipe did.
    """

    name: str
    kind: str
    reads: Sequence[str] = ()
    state: str = "fresh"
    version: int | None = None
    recipe: str | None = None

    @property
    def says(self) -> str:
        """Return what stands below its name.

        Example:
            >>> Node("edits", "view", version=3, recipe="gensynth").says
            'view of gensynth, version 3'
        """
        of = "" if self.recipe is None else f" of {self.recipe}"
        return f"{self.kind}{of}" + ("" if self.version is None else f", version {self.version}")


def steps(nodes: Sequence[Node]) -> dict[str, int]:
    """Return how many steps each node is from what was ingested, by the longest way.

    Example:
        >>> steps([Node("v", "view", ["c", "t"]), Node("c", "column", ["t"]), Node("t", "table")])
        {'v': 2, 'c': 1, 't': 0}
    """
    by_name = {node.name: node for node in nodes}
    found: dict[str, int] = {}

    def step(name: str) -> int:
        if name not in found:
            found[name] = 0  # a circle, which nothing that is declared makes, would end here
            found[name] = max((step(r) + 1 for r in by_name[name].reads if r in by_name and r != name), default=0)
        return found[name]

    for node in nodes:
        step(node.name)
    return {node.name: found[node.name] for node in nodes}


def drawn(nodes: Sequence[Node]) -> Markup:
    """Return the SVG; every name is escaped."""
    column_of = steps(nodes)
    places: dict[str, tuple[int, int]] = {}
    filled: dict[int, int] = {}
    for node in nodes:
        column = column_of[node.name]
        row = filled.get(column, 0)
        filled[column] = row + 1
        places[node.name] = (column * (_WIDTH + _ACROSS) + 1, row * (_HEIGHT + _DOWN) + 1)
    width = (max(filled, default=0) + 1) * (_WIDTH + _ACROSS) - _ACROSS + 2
    height = max(filled.values(), default=0) * (_HEIGHT + _DOWN) + 2
    arrows = [_arrow(places[read], places[n.name]) for n in nodes for read in n.reads if read in places]
    boxes = [_box(node, places[node.name]) for node in nodes]
    label = Markup("{} things and what they are made of").format(len(nodes))
    return Markup(
        '<svg class="graph" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z"/></marker></defs>{}{}</svg>'
    ).format(label, width, height, width, height, Markup("").join(arrows), Markup("").join(boxes))


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> Markup:
    x, y, to_x, to_y = start[0] + _WIDTH, start[1] + _HEIGHT // 2, end[0], end[1] + _HEIGHT // 2
    bend = (to_x - x) // 2
    if to_x - x <= _ACROSS:
        return Markup('<path class="arrow" marker-end="url(#tip)" d="M{} {}C{} {} {} {} {} {}"/>').format(
            x, y, x + bend, y, to_x - bend, to_y, to_x, to_y
        )
    half = _ACROSS // 2  # past other columns it goes between their rows
    lane = y + (_HEIGHT + _DOWN) // (-2 if to_y < y else 2)
    return Markup(
        '<path class="arrow" marker-end="url(#tip)" d="M{} {}C{} {} {} {} {} {}H{}C{} {} {} {} {} {}"/>'
    ).format(
        *(x, y, x + half, y, x + half, lane, x + _ACROSS, lane),
        *(to_x - _ACROSS, to_x - half, lane, to_x - half, to_y, to_x, to_y),
    )


def _box(node: Node, place: tuple[int, int]) -> Markup:
    shown = node.name if len(node.name) <= _LETTERS else node.name[: _LETTERS - 1] + "…"
    return Markup(
        '<g class="node {} {}"><title>{}: {}, {}</title><rect x="{}" y="{}" width="{}" height="{}" rx="6"/>'
        '<text x="{}" y="{}">{}</text><text class="says" x="{}" y="{}">{}</text></g>'
    ).format(
        node.kind,
        node.state,
        node.name,
        node.says,
        node.state,
        *place,
        _WIDTH,
        _HEIGHT,
        place[0] + 10,
        place[1] + 18,
        escape(shown),
        place[0] + 10,
        place[1] + 35,
        escape(node.says),
    )


def of(
    reads: Mapping[str, Sequence[str]],
    kinds: Mapping[str, str],
    states: Mapping[str, str],
    versions: Mapping[str, int | None],
    recipes: Mapping[str, str],
) -> list[Node]:
    """Return nodes of things that are declared, and of the tables that they read.

    Args:
        reads: Names of what each is made of.
        kinds: Kind of each that is declared.
        states: State of each that is declared.
        versions: Those of tables and views; ``None`` where it is not told.
        recipes: Which declared what.
    """
    tables = dict.fromkeys(r for read in reads.values() for r in read if r not in kinds)
    plain = [Node(name, "table", version=versions.get(name)) for name in tables]
    return [
        *plain,
        *(
            Node(
                name,
                kinds[name].split()[-1],
                tuple(dict.fromkeys(read)),
                states[name],
                versions.get(name),
                recipes.get(name),
            )
            for name, read in reads.items()
        ),
    ]
