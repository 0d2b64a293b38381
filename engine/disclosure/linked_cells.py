"""Cells that stand in several sums: two-way tables, and the levels of a hierarchy; what is hidden with small ones.

Nobody may narrow a small cell down to fewer values than its threshold from all sums that it stands in: linear programming asks
for its bounds (Hundepool et al., Statistical Disclosure Control (2012), chapter 4), and more cells go until they are wide enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.disclosure.cells import COMPLEMENTARY, HIDDEN, SHOWN, SMALL, UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.disclosure.cells import Cells

_ROUNDS: Final = 16
_AT_ONCE: Final = 8
"""Small cells whose bounds are looked for in one call of the solver."""
_NOTHING: Final = 1e-6
"""What linear programming may be off by."""


def is_small(values: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Return which counts are from 1 to ``k - 1``.

    Example:
        >>> is_small(np.array([0.0, 3.0, 12.0, np.nan]), 10).tolist()
        [False, True, False, False]
    """
    with np.errstate(invalid="ignore"):
        return (values > 0) & (values < k)


@dataclass
class _Sum:
    """Cells that add up to a number that is known, or whose union is another cell.

    Args:
        parts: The cells.
        total: The cell that is their union, at least the largest part and at most their sum.
        rest: What they lack of the known number, which no cell shows.
        is_margin: The number is known whatever is hidden; else rows that are shown tell it.
        is_deep: In the place of a part that is hidden stand its own parts, which what is shown leaves over as well.
    """

    parts: list[int]
    total: int | None = None
    rest: float = 0
    is_margin: bool = True
    is_deep: bool = False


@dataclass
class _Linked:
    """Cells that stand in several sums: two-way tables, and the levels of a hierarchy."""

    values: NDArray[np.float64]
    most: NDArray[np.float64]
    """How many there are of each cell's label, where that is known; a count is no larger."""
    small: NDArray[np.bool_]
    closed: NDArray[np.bool_]
    """Cells that are hidden for another reason."""
    preferred: list[tuple[Any, ...]]
    """Sort key by which a cell is chosen to be hidden with another."""
    sums: list[_Sum] = field(default_factory=list)
    parts: dict[int, list[int]] = field(default_factory=dict)
    """Of a cell that is the total of others, these."""

    def hide(self, k: int) -> NDArray[np.int8]:
        hidden = self.small | self.closed
        self._complete(hidden, k)
        while True:
            more = {one for cell in self._narrow(hidden, k) for one in self._around(cell, hidden)}
            if not more:
                break
            hidden[min(more, key=self.preferred.__getitem__)] = True
            self._complete(hidden, k)
        return np.where(self.small, SMALL, np.where(hidden, COMPLEMENTARY, SHOWN)).astype(np.int8)

    def _of(self, cell: int) -> Iterator[_Sum]:
        return (s for s in self.sums if cell in s.parts or cell == s.total)

    def _around(self, cell: int, hidden: NDArray[np.bool_]) -> set[int]:
        """Return the next cells to hide for one: of its sums, or else of those that it is tied to by hidden cells."""
        tied, seen = {cell}, set[int]()
        while tied:
            sums = [s for one in tied for s in self._of(one)]
            if found := {more for s in sums if (more := self._next(s, hidden)) is not None}:
                return found
            seen |= tied
            tied = {one for s in sums for one in (*s.parts, s.total) if one is not None} - seen
        return set()

    def _complete(self, hidden: NDArray[np.bool_], k: int) -> None:
        """Hide until every sum with a hidden cell hides at least two, which add up to ``k``."""
        again = True
        while again:
            again = False
            for one in self.sums:
                while self._is_open(one, hidden, k):
                    more = self._next(one, hidden)
                    if more is None:
                        break
                    hidden[more] = again = True

    def _below(self, parts: Iterable[int], hidden: NDArray[np.bool_]) -> list[int]:
        """Return the cells with, in the place of each that is hidden, its own parts, each once."""
        found: dict[int, None] = {}
        for cell in parts:
            inside = self._below(self.parts[cell], hidden) if hidden[cell] and cell in self.parts else [cell]
            found |= dict.fromkeys(inside)
        return list(found)

    def _is_open(self, one: _Sum, hidden: NDArray[np.bool_], k: int) -> bool:
        if one.is_deep and any(hidden[c] and c in self.parts for c in one.parts):
            below = replace(one, parts=self._below(one.parts, hidden), is_deep=False)
            if self._is_open(below, hidden, k):
                return True
        parts = [c for c in one.parts if hidden[c]]
        small_rest = 0 < one.rest < k
        if one.total is not None and not hidden[one.total] and self._leaves_few(one.total, hidden, k):
            return True
        above = one.total is not None and bool(hidden[one.total])
        if not parts and not above and not small_rest:
            return False
        if above:  # it follows from its parts, unless many images have several of them
            return not parts and one.rest == 0 and float(self.values[one.parts].sum() - self.values[one.total]) < k
        return len(parts) + (one.rest > 0) < 2 or float(self.values[parts].sum()) + one.rest < k

    def _leaves_few(self, total: int, hidden: NDArray[np.bool_], k: int) -> bool:
        """Tell whether a total that is shown tells of few: by how much its parts exceed it, or it exceeds them or what is below them."""
        parts = self.parts[total]
        shown = [c for c in parts if not hidden[c]]
        left = float(self.values[total] - self.values[shown].sum())
        # so few have no part that is shown, or images have several parts, and nobody knows; or so few are of two parts
        if left < k if len(shown) < len(parts) else 0 < -left < k:
            return True
        inside = [c for c in self._inside(total) if not hidden[c]]
        return bool(is_small(self.values[total] - self.values[inside], k).any())

    def _inside(self, total: int) -> Iterator[int]:
        """Yield the cells that a total is made of, at all levels."""
        for cell in self.parts.get(total, ()):
            yield cell
            yield from self._inside(cell)

    def _next(self, one: _Sum, hidden: NDArray[np.bool_]) -> int | None:
        parts = self._below(one.parts, hidden) if one.is_deep else one.parts
        shown = [c for c in chain(parts, [] if one.total is None else [one.total]) if not hidden[c]]
        return min(shown, key=self.preferred.__getitem__, default=None)

    def _narrow(self, hidden: NDArray[np.bool_], k: int) -> list[int]:
        """Return the small cells that linear programming narrows down to fewer than ``k`` values, or than their label has."""
        low, high = self.values.copy(), self.values.copy()
        cells = np.flatnonzero(self.small)
        found: list[int] = []
        if not len(cells):
            return found
        problem = self._problem(hidden)
        wanted = np.minimum(float(k), self.most) - _NOTHING
        signs = np.random.default_rng(0).choice([-1, 1], (_ROUNDS if len(cells) > _ROUNDS else 0, len(cells)))
        _widen(problem, [(cells, sign) for sign in signs], low, high)  # a few solutions that move many cells at once
        for start in range(0, len(cells), _AT_ONCE):
            left = [c for c in cells[start : start + _AT_ONCE].tolist() if high[c] - low[c] < wanted[c]]
            _widen(problem, [(np.array([c]), np.array([sign])) for c in left for sign in (1, -1)], low, high)
            found += [c for c in left if high[c] - low[c] < wanted[c]]
        return found

    def _problem(self, hidden: NDArray[np.bool_]) -> tuple[Any, ...]:
        """Return everything that is known of the hidden cells: equations, and bounds from levels of a hierarchy."""
        cells = np.flatnonzero(hidden)
        place = {int(c): i for i, c in enumerate(cells)}
        size = len(cells) + sum(1 for s in self.sums if s.rest > 0)
        equal: list[tuple[dict[int, float], float]] = []
        most: list[tuple[dict[int, float], float]] = []
        unseen = len(cells)
        for one in self.sums:
            row = {place[c]: 1.0 for c in one.parts if hidden[c]}
            if len(row) == len(one.parts) and not one.is_margin:
                continue
            shown = float(sum(self.values[c] for c in one.parts if not hidden[c]))
            if one.total is None:
                whole = float(self.values[one.parts].sum()) + one.rest
                if not row:
                    continue
                if one.rest > 0:
                    row[unseen] = 1.0
                    unseen += 1
                equal += [(row, whole - shown)] if row else []
                continue
            whole = 0.0 if hidden[one.total] else float(self.values[one.total])
            above = {place[one.total]: 1.0} if hidden[one.total] else {}
            less = {c: -v for c, v in row.items()}
            most.append(({**less, **above}, shown - whole))  # the total is at most the sum of its parts
            for part in one.parts:  # and at least each of them
                own = {place[part]: 1.0} if hidden[part] else {}
                if own or above:
                    bound = whole - (0.0 if hidden[part] else float(self.values[part]))
                    most.append(({**own, **{c: -v for c, v in above.items()}}, bound))
        largest = np.full(size, np.inf)
        largest[: len(cells)] = self.most[cells]
        return place, largest, _matrix(equal, size), _matrix([m for m in most if m[0]], size)


def _matrix(rows: Sequence[tuple[dict[int, float], float]], size: int) -> tuple[Any, Any]:
    from scipy.sparse import csr_array

    if not rows:
        return None, None
    at = [i for i, (row, _) in enumerate(rows) for _ in row]
    columns = [c for row, _ in rows for c in row]
    values = [v for row, _ in rows for v in row.values()]
    return csr_array((values, (at, columns)), shape=(len(rows), size)), np.array([b for _, b in rows])


def _widen(
    problem: tuple[Any, ...],
    aims: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Take more solutions of what is known into the bounds of all cells: in each, some are small (1) or large (-1).

    Solved together, as copies that know nothing of each other: a call of the solver takes longer than most problems.
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron

    if not aims:
        return
    place, largest, (equal, equals), (most, bounds) = problem
    copies, size = len(aims), len(largest)
    aim = np.zeros((copies, size))
    for own, (cells, signs) in zip(aim, aims, strict=True):
        own[[place[int(c)] for c in cells]] = signs
    rests = 0.0 if equal is None else float(np.abs(equals).max(initial=0))
    top = float(high.sum()) * 2 + rests + 1  # nothing is larger than all there is
    ends = np.column_stack([np.zeros(size), np.minimum(largest, top)])
    each = eye_array(copies)
    solved = linprog(
        aim.ravel(),
        A_ub=None if most is None else kron(each, most, "csr"),
        b_ub=None if most is None else np.tile(bounds, copies),
        A_eq=None if equal is None else kron(each, equal, "csr"),
        b_eq=None if equal is None else np.tile(equals, copies),
        bounds=np.tile(ends, (copies, 1)),
        method="highs",
    )
    if solved.status == 0:
        one, at = list(place), list(place.values())
        found = solved.x.reshape(copies, size)[:, at]
        low[one], high[one] = np.minimum(low[one], found.min(axis=0)), np.maximum(high[one], found.max(axis=0))


def of_linked(
    rows: pa.Table,
    cells: Cells,
    numbers: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    closed: NDArray[np.bool_],
    places: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    k: int,
    *,
    sums_first: bool = False,
) -> NDArray[np.int8]:
    """Return what to hide in two-way tables and hierarchies; ``places``: table and cell of every row, first row of every cell."""
    table, place, first = places
    counts, wholes, missing = numbers
    known = np.nan_to_num(counts)
    by = list(zip(*(rows[c].take(pa.array(first)).to_pylist() for c in cells.by), strict=True))
    by = by or [()] * len(first)
    families: dict[int, list[int]] = {}
    if cells.totals:
        within = list(zip(*(rows[c].to_pylist() for c in cells.within), strict=True)) or [()] * len(rows)
        levels = list(zip(*(rows[c].to_pylist() for c in cells.totals), strict=True))
        families = dict(_families(within, levels, [by[i] for i in place.tolist()], place.tolist()))
    above = {part: one for one, parts in families.items() for part in parts}
    preferred = [
        (
            sums_first and _depth(i, above),
            np.isnan(counts[i]),
            not any(v in UNCLEAR or str(v).startswith(HIDDEN) for v in by[i]),
            known[i] == 0,
            known[i],
            str(by[i]),
            int(table[first[i]]),
        )
        for i in range(len(first))
    ]
    most = np.where(np.isnan(missing), np.inf, known + missing)
    small = is_small(counts, k) | is_small(missing, k)
    linked = _Linked(known, most, small, closed, preferred)
    lines: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(first.tolist()):
        for axis in range(0 if np.isnan(counts[i]) else len(cells.by)):
            others = tuple(v for at, v in enumerate(by[i]) if at != axis)
            lines.setdefault((int(table[row]), axis, others), []).append(i)
    for (_, _, others), parts in lines.items():
        whole = 0.0 if others else float(np.nan_to_num(wholes[parts]).max())
        rest = max(whole - float(known[parts].sum()), 0.0) if whole else 0.0
        linked.sums.append(_Sum(parts, rest=rest, is_margin=len(cells.by) > 1))
    linked.parts = families
    linked.sums += [_Sum(parts, total=one, is_deep=True) for one, parts in families.items()]
    inside = {part for parts in families.values() for part in parts}
    outermost = [one for one in families if one not in inside and np.isfinite(most[one])]
    rests = [float(most[one] - known[one]) for one in outermost]
    linked.sums += [_Sum([one], rest=r, is_margin=False, is_deep=True) for one, r in zip(outermost, rests, strict=True)]
    return linked.hide(k)


def _depth(cell: int, above: Mapping[int, int]) -> int:
    """Return how many totals a cell is a part of."""
    return 1 + _depth(above[cell], above) if cell in above else 0


def _families(
    within: Sequence[tuple[Any, ...]],
    levels: Sequence[tuple[Any, ...]],
    by: Sequence[tuple[Any, ...]],
    place: Sequence[int],
) -> Iterator[tuple[int, list[int]]]:
    """Yield every cell that is a total of others, with these."""
    cells = {(within[i], levels[i], by[i]): place[i] for i in range(len(levels))}
    families: dict[int, set[int]] = {}
    for i, level in enumerate(levels):
        last = max((at for at, v in enumerate(level) if v is not None), default=None)
        if last is not None:
            named = [at for at, v in enumerate(level[:last]) if v is not None]
            above = tuple(v if at in named else None for at, v in enumerate(level))
            parent = cells.get((within[i], above, by[i]))
            if parent is not None and parent != place[i]:
                families.setdefault(parent, set()).add(place[i])
    yield from ((parent, sorted(parts)) for parent, parts in families.items())
