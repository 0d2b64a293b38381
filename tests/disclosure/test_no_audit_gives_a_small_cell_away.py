"""Over random lakes no audit gives a small cell of closed labels away, by one call or by several that a default session may make.

Every audit that such a session may call is called in all the ways it may: values of ``min_count`` and of free parameters,
choices, labels, values of a grid, forms of a group relation. What is shown by all of them together is all that an attacker has.
Counts are the unknowns, and what the declared cells say of them are equations: siblings and their total, both margins, levels,
columns that add up in every row, shares that are quotients of two of them. Linear programming then looks for the least and the
largest value of each small count; the program is written anew here, and knows nothing of how the engine hides.

``COUNTERBALANCE_LAKES`` sets how many lakes are tried; over the first one each audit is called in one way, or in two.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import random
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from closed_labels import CALLS, OF_AUDITS, PURPOSE, REFUSED, G, R, S, random_lake, statement, store, ways_of
from scipy.optimize import linprog

import counterbalance as cb
from counterbalance.engine.disclosure import protection
from counterbalance.engine.disclosure.cells import SHOWN, SMALL
from counterbalance.engine.errors import CounterbalanceError, SensitiveError

pytestmark = pytest.mark.slow

LAKES = int(os.environ.get("COUNTERBALANCE_LAKES", "1"))
K = 10
TWO_WAYS = {
    "association", "attribute_matrix", "balance", "concept_ratio", "cooccurrence", "crime_words", "demographics", "detection_recall",
    "geography", "hate_content_rate", "intersections", "keyword_profile", "sentiment", "subject_alterations", "win_rates",
}  # fmt: skip
"""Audits that are called in a second way where one lake is tried: one of each form of cells; all are in all ways over several lakes."""


def all_calls(lake, seen, audit, ways, *, thorough):
    """Calls of a default session by what they are called, without those that are refused; all counts, too, where thorough."""
    query, calls = cb.audits()[audit], {}

    def call(session, given):
        seen.clear()
        session.sql(statement(audit, given)).to_arrow()
        *_, (raw, shown, closed) = seen
        return read(query, raw, shown), closed

    with lake.session() as session, lake.session(sensitive=PURPOSE) as trusted:
        for way, more in ways.items():
            given = CALLS[audit] | more
            try:
                calls[way], closed = call(session, given)
            except SensitiveError:
                continue
            assert closed, "nothing closed is read"
            if thorough and "min_count" not in more:
                whole, _ = call(trusted, given | {"min_count": "0"})
                calls[f"{way}, all of it"] = replace(whole, shown={})
    return calls


@functools.cache
def hidden_of(lake):
    """Labels of which ``demographics`` tells no number."""
    sizes = [row for groups in (G, R, S) for row in lake.sql(f"FROM demographics({groups})").to_arrow().to_pylist()]
    return frozenset(row["label"] for row in sizes if row["suppressed"])


def found_by(query, calls, hidden=frozenset()):
    """Small counts that are shown or that follow, and measures that are shown without their counts; ``hidden``: labels."""
    attacker = Attacker(query, calls, hidden)
    secrets = {attacker.root(one): (width, one, of) for width, one, of in secrets_of(query, calls, attacker.value)}
    widths = attacker.width(list(secrets))
    for one, (wanted, shown, of) in secrets.items():
        if one in attacker.known:
            if of is not None and attacker.root(of) not in attacker.known:
                continue  # what is small is what it lacks of a number that nobody is told
            yield "shown", shown, attacker.value[one]
        elif widths[one] < wanted - 1e-6:
            yield "follows", shown, attacker.value[one], widths[one]
    for cell, (way, call) in itertools.product(query.cells, calls.items()):
        measures = [c for c in call.fractions if not cell.measures or c in cell.measures]
        for key, row in call.shown.items():
            if row[cell.count] is None and call.raw[key][cell.count] is not None:
                yield from (("measure", way, c, key) for c in measures if row[c] is not None)


def secrets_of(query, calls, values):
    """Counts under ``K``, and those that lack as little of their margin, which is named, with how wide the bounds must be."""
    for cell, (way, call) in itertools.product(query.cells, calls.items()):
        k = min(K, cell.below)
        margin = cell.out_of or (None if cell.by or cell.totals else cell.of)
        for key in call.raw:
            one = (way, cell.count, key)
            size = values.get((way, margin, key), math.inf)
            if one in values and values[one] > 0 and (values[one] < k or 0 < size - values[one] < k):
                yield min(k, size), one, None if values[one] < k else (way, margin, key)


PASSED_OVER = frozenset({"suppressed", "reason", "params", "n_suppressed"})


@dataclass
class Call:
    """One call: rows before and after small cells were hidden, by their keys."""

    raw: dict
    shown: dict
    numbers: list
    fractions: list


def read(query, raw, shown):
    """Rows of a call by their keys: all columns that name something."""
    of_cells = {c for cell in query.cells for c in (*cell.by, *cell.within, *cell.totals)}
    counts = {c for cell in query.cells for c in (cell.count, cell.of, cell.out_of)}
    kinds = {f.name: f.type for f in raw.schema if f.name not in PASSED_OVER}
    names = [c for c in kinds if c in of_cells]
    if len({tuple(row[c] for c in names) for row in raw.to_pylist()}) < len(raw):
        names = [c for c, t in kinds.items() if c in of_cells or pa.types.is_string(t) or pa.types.is_boolean(t)]
    numbers = [c for c, t in kinds.items() if c not in names and (pa.types.is_integer(t) or c in counts)]
    fractions = [c for c, t in kinds.items() if c not in names and c not in numbers and pa.types.is_floating(t)]

    def by_key(rows):
        return {tuple((c, row[c]) for c in names): row for row in rows.to_pylist()}

    whole = by_key(raw)
    assert len(whole) == len(raw), f"rows of {query.name} are not told apart by {names}"
    told = {key: row for key, row in by_key(shown).items() if key in whole}  # others are hidden with what names them
    return Call(whole, told, numbers, fractions)


class Attacker:
    """All that is known of the counts of an audit from several calls.

    A count of one row of one call is an unknown, and unknowns that are the same number are one. Facts are sums over
    unknowns that are 0, or at most 0, and constants.
    """

    def __init__(self, query, calls, hidden=frozenset()):
        self.query, self.calls, self.hidden = query, calls, hidden
        self.same, self.value, self.known = {}, {}, {}
        self.equal, self.at_most = [], []
        self.always = {}
        for way, call in calls.items():
            for key, row in call.raw.items():
                for column in call.numbers:
                    if row[column] is not None and not math.isnan(row[column]):
                        self.value[way, column, key] = float(row[column])
        self._merge()
        for (way, column, key), value in self.value.items():
            row = calls[way].shown.get(key)
            if row is not None and row[column] is not None:
                self.known[self.root((way, column, key))] = value
        for way, call in calls.items():
            for cell in query.cells:
                self._of_cells(cell, way, call)
            self._of_rows(way, call)

    # -- which numbers are the same

    def root(self, one):
        while one in self.same:
            one = self.same[one]
        return one

    def _join(self, one, other):
        one, other = self.root(one), self.root(other)
        if one != other:
            assert self.value[one] == self.value[other]
            self.same[one] = other

    def _merge(self):
        counted = {cell.count for cell in self.query.cells}
        families = {}
        for way, column, key in self.value:
            families.setdefault((way, column), []).append(key)
        for (way, column), keys in families.items():
            if column not in counted:  # a number of a table stands in all of its rows
                names = [name for name, _ in keys[0]]
                own = [(way, column, key) for key in keys]
                for size in range(min(len(names), 3)):
                    for some in itertools.combinations(range(len(names)), size):
                        self._join_equal(own, lambda one, some=some: tuple(one[2][i] for i in some))
        for cell in self.query.cells:
            for way, call in self.calls.items():
                own = [(way, cell.count, key) for key in call.raw if (way, cell.count, key) in self.value]
                self._join_equal(own, lambda one, cell=cell: cell_of(cell, dict(one[2])))
        for (one, keys), (other, more) in itertools.combinations(families.items(), 2):
            shared = set(keys) & set(more)
            pairs = [((*one, key), (*other, key)) for key in shared]
            values = [(self.value[a], self.value[b]) for a, b in pairs]
            if not shared or any(a != b for a, b in values):
                continue
            names = {one[1]: 1, other[1]: -1}
            enough = len({a for a, _ in values}) > 2 and (len(shared) > 5 or self._holds_always(names))
            if one[1] == other[1] or enough:  # and not in one call, by chance
                for a, b in pairs:
                    self._join(a, b)

    def _join_equal(self, own, group):
        groups = {}
        for one in own:
            groups.setdefault(group(one), []).append(one)
        if len(groups) < len(own) and all(len({self.value[o] for o in some}) == 1 for some in groups.values()):
            for some in groups.values():
                for one in some[1:]:
                    self._join(some[0], one)

    # -- what is known of them

    def _of_cells(self, cell, way, call):
        """Know what the declared cells say."""

        def at(column, key):
            return (way, column, key)

        keys, tables = {}, {}
        for key in call.raw:
            if at(cell.count, key) in self.value:
                keys.setdefault(cell_of(cell, dict(key)), key)
        for name, key in keys.items():
            tables.setdefault(name[:2], []).append(key)
            one = at(cell.count, key)
            for margin in (at(column, key) for column in (cell.of, cell.out_of)):
                if self.value.get(margin, -1) >= self.value[one]:
                    self.at_most.append(({one: 1, margin: -1}, 0))
        if len(cell.by) == 1 or cell.joint:
            self._siblings(cell, list(tables.values()), at)
        elif len(cell.by) > 1:
            self._two_ways(cell, list(tables.values()), at)
        if cell.totals:
            self._levels(cell, keys.values(), at)

    def _of_rows(self, way, call):
        """Know columns that add up in every row, such as count + rest = n, and shares that are quotients of two."""

        def at(column, key):
            return (way, column, key)

        for one, two, three in itertools.permutations(call.numbers, 3):
            if one < two:
                self._linear(call, {one: 1, two: 1, three: -1}, at)
        for share in call.fractions:
            for count, whole in itertools.permutations(call.numbers, 2):
                self._quotient(call, share, count, whole, at)

    def _siblings(self, cell, tables, at):
        if not cell.of and self._whole([[(dict(k)[cell.by[0]], at(cell.count, k)) for k in own] for own in tables]):
            return
        of = cell.of
        if of is None and (of := self._total(cell, several := [own for own in tables if len(own) > 1], at)) is not None:
            tables = several
        totals = [[at(of, k) for k in own if of and at(of, k) in self.value] for own in tables]
        sums = [sum(self.value[at(cell.count, k)] for k in own) for own in tables]
        lacks = [self.value[t[0]] - s if t else 0 for t, s in zip(totals, sums, strict=True)]
        for number, (own, total, whole, lack) in enumerate(zip(tables, totals, sums, lacks, strict=True)):
            fact = {at(cell.count, k): 1 for k in own}
            if lack < 0 or (of and not total):
                continue
            if total:
                fact[total[0]] = -1
            elif not self.calls[at("", ())[0]].shown or not any(self.root(one) in self.known for one in fact):
                continue  # nothing of the table is told, nor its sum: no column does, only measures of rows that are shown
            elif "is_same" in cell.within and not self._is_agreement_shown(own[0], at):
                continue  # what adds up to the images on which annotators agree tells nothing where these are hidden
            if any(lacks):
                rest = ("rest", cell, number, total[0])
                self.value[rest], fact[rest] = lack, 1
            self.equal.append((fact, 0 if total else whole))

    def _is_agreement_shown(self, key, at):
        """Tell whether the row of the agreement of two annotators shows its count."""
        (way, _, _) = at("", ())
        pair = {(name, value) for name, value in key if name in {"annotator", "other"}}
        rows = (row for k, row in self.calls[way].shown.items() if ("metric", "agreement") in k and pair <= set(k))
        return any(row["count"] is not None for row in rows)

    def _total(self, cell, tables, at):
        """A column that is the sum of the siblings of its table, in every table, though the cell does not say so."""
        (way, _, _) = at("", ())
        for column in self.calls[way].numbers:
            rows = [([at(cell.count, k) for k in own], [at(column, k) for k in own]) for own in tables]
            if (
                column != cell.count
                and rows
                and all(
                    {self.value.get(w) for w in wholes} == {sum(self.value[o] for o in own)} for own, wholes in rows
                )
            ):
                return column
        return None

    def _two_ways(self, cell, tables, at):
        for axis, column in enumerate(cell.by):
            lines = {}
            for number, own in enumerate(tables):
                for key in own:
                    others = tuple(dict(key)[c] for i, c in enumerate(cell.by) if i != axis)
                    lines.setdefault((number, others), []).append((dict(key)[column], at(cell.count, key)))
            if self._whole(list(lines.values())):
                continue
            told = {}  # another audit tells how many there are of each label, and of those that it hides together
            for (number, others), line in lines.items():
                told.setdefault((number, None if self.hidden.intersection(others) else others), []).extend(line)
            for (number, _), line in told.items():
                if any(self.root(at(cell.count, key)) in self.known for key in tables[number]):
                    self.equal.append(({one: 1 for _, one in line}, sum(self.value[one] for _, one in line)))

    def _whole(self, lines):
        """Whether one cell of every line, such as 'all', is the sum of the others there; then that is known."""
        names = set.intersection(*({name for name, _ in line} for line in lines)) if lines else set()
        for name in names:
            sums = [
                ({one: -1 if own == name else 1 for own, one in line}, sum(self.value[o] for n, o in line if n != name))
                for line in lines
            ]
            wholes = [next(self.value[o] for n, o in line if n == name) for line in lines]
            if max(map(len, lines)) > 2 and [total for _, total in sums] == wholes:
                self.equal += [(fact, 0) for fact, _ in sums]
                return True
        return False

    def _levels(self, cell, keys, at):
        by_levels = {cell_of(cell, dict(key), innermost=False): key for key in keys}
        families = {}
        for (within, levels, by), key in by_levels.items():
            last = max((i for i, v in enumerate(levels) if v is not None), default=None)
            if last is not None:
                above = (within, tuple(None if i == last else v for i, v in enumerate(levels)), by)
                if above in by_levels:
                    families.setdefault(by_levels[above], []).append(key)
        for above, parts in families.items():
            whole, own = at(cell.count, above), [at(cell.count, p) for p in parts]
            self.at_most += [({one: 1, whole: -1}, 0) for one in own]
            if sum(self.value[o] for o in own) >= self.value[whole]:
                self.at_most.append(({whole: 1, **dict.fromkeys(own, -1)}, 0))

    def _linear(self, call, factors, at):
        rows = [[at(c, key) for c in factors] for key in call.raw]
        rows = [row for row in rows if all(one in self.value for one in row)]
        held = all(self._is_zero(factors, [self.value[one] for one in row]) for row in rows)
        if held and len(rows) > 2 and (len(rows) > 5 or self._holds_always(factors)):  # and not in one call, by chance
            for row in rows:
                self._add(self.equal, zip(row, factors.values(), strict=True))

    def _holds_always(self, factors):
        """Tell whether a sum of columns is 0 in every row of every call."""
        name = tuple(factors.items())
        if name not in self.always:
            rows = (
                [self.value.get((way, c, key)) for c in factors] for way, call in self.calls.items() for key in call.raw
            )
            self.always[name] = all(self._is_zero(factors, row) for row in rows if None not in row)
        return self.always[name]

    @staticmethod
    def _is_zero(factors, row):
        return sum(f * v for f, v in zip(factors.values(), row, strict=True)) == 0

    def _quotient(self, call, share, count, whole, at):
        rows = [(value, *cells, key) for value, cells, key in self._quotients(call, share, count, whole, at)]
        held = all(self._is_quotient(*row[:3]) for row in rows)
        if held and len(rows) > 2 and (len(rows) > 5 or self._divides_always(share, count, whole)):
            for value, one, other, key in rows:
                if key in call.shown and call.shown[key][share] is not None:
                    self._add(self.equal, [(one, 1), (other, -value)])

    def _quotients(self, call, share, count, whole, at):
        """Yield a share, the two cells that it may be a quotient of, and the key, for each row that has all of them."""
        for key, row in call.raw.items():
            cells = at(count, key), at(whole, key)
            if row[share] is not None and cells[0] in self.value and self.value.get(cells[1]):
                yield row[share], cells, key

    def _is_quotient(self, value, count, whole):
        return math.isclose(value, self.value[count] / self.value[whole], rel_tol=1e-12)

    def _divides_always(self, share, count, whole):
        """Tell whether a share is the quotient of two columns in every row of every call."""
        name = share, count, whole
        if name not in self.always:
            self.always[name] = all(
                self._is_quotient(value, *cells)
                for way, call in self.calls.items()
                for value, cells, _ in self._quotients(call, *name, lambda column, key, way=way: (way, column, key))
            )
        return self.always[name]

    def _add(self, facts, terms, right=0):
        fact = {}
        for one, factor in terms:
            fact[one] = fact.get(one, 0) + factor
        facts.append((fact, right))

    # -- what follows

    def width(self, aims):
        """How far apart the bounds of sums of unknowns are, by what is known; ``aims``: unknowns with factors."""
        facts = []
        for is_equal, some in ((True, self.equal), (False, self.at_most)):
            for fact, right in some:
                row, left = {}, right
                for one, factor in ((self.root(o), f) for o, f in fact.items()):
                    if one in self.known:
                        left -= factor * self.known[one]
                    else:
                        row[one] = row.get(one, 0) + factor
                row = {o: f for o, f in row.items() if f}
                if row:
                    facts.append((is_equal, row, left))
        part = {}

        def find(one):
            while part.get(one, one) != one:
                one = part[one]
            return one

        for _, row, _ in facts:
            first, *more = row
            for one in more:
                a, b = find(first), find(one)
                if a != b:
                    part[a] = b
        by_part = {}
        for fact in facts:
            by_part.setdefault(find(next(iter(fact[1]))), []).append(fact)
        return {aim: self._width(self.root(aim), by_part.get(find(self.root(aim)), [])) for aim in aims}

    def _width(self, aim, facts):
        if aim in self.known:
            return 0.0
        place = {}
        for _, row, _ in facts:
            for one in row:
                place.setdefault(one, len(place))
        if aim not in place:
            return math.inf

        def matrix(wanted):
            rows = [(row, right) for is_equal, row, right in facts if is_equal == wanted]
            made = np.zeros((len(rows), len(place)))
            for i, (row, _) in enumerate(rows):
                for one, factor in row.items():
                    made[i, place[one]] = factor
            return (made, np.array([right for _, right in rows])) if rows else (None, None)

        (a_eq, b_eq), (a_ub, b_ub) = matrix(True), matrix(False)
        ends = []
        for sign in (1, -1):
            goal = np.zeros(len(place))
            goal[place[aim]] = sign
            solved = linprog(goal, A_ub=a_ub, b_ub=b_ub, A_eq=a_eq, b_eq=b_eq, bounds=(0, None), method="highs")
            assert solved.status in {0, 3}, solved.message
            ends.append(sign * solved.fun if solved.status == 0 else sign * -math.inf)
        return ends[1] - ends[0]


def cell_of(cell, key, *, innermost=True):
    """Within, level and name of the cell that a row tells of; the same innermost level is the same cell."""
    levels = tuple(key[c] for c in cell.totals)
    if innermost and levels:
        last = max((i for i, v in enumerate(levels) if v is not None), default=-1)
        levels = (last, levels[last] if last >= 0 else None)
    within = tuple(key[c] for c in cell.within)
    by = tuple(key[c] for c in cell.by) or (() if cell.totals else tuple(key.items()))
    return within, levels, by


@pytest.fixture(scope="module")
def lakes(build, tmp_path_factory):
    """A lake of a seed that has what some calls name, of all that is drawn for it."""
    folder = tmp_path_factory.mktemp("lakes")
    made = functools.cache(lambda seed: (*random_lake(build, folder, seed), set()))

    def with_those_of(seed, audit, ways):
        store(*made(seed), " ".join(v for given in (CALLS[audit], *ways.values()) for v in given.values()))
        return made(seed)[0]

    return with_those_of


@pytest.fixture
def seen(monkeypatch):
    """Rows of audits before and after small cells were hidden, and whether they are of closed labels, as they are computed."""
    found = []
    protect = protection.protect

    def watched(rows, *args, closed, **more):
        shown = protect(rows, *args, closed=closed, **more)
        found.append((rows, shown, closed))
        return shown

    monkeypatch.setattr(protection, "protect", watched)
    return found


def test_every_audit_has_a_place():
    assert set(CALLS) == set(cb.audits())
    assert OF_AUDITS | REFUSED.keys() < CALLS.keys()


@pytest.mark.parametrize("audit", REFUSED)
def test_some_need_a_purpose(lakes, audit):
    with pytest.raises(CounterbalanceError) as caught:
        lakes(0, audit, {}).sql(statement(audit, CALLS[audit])).fetchall()
    assert caught.value.code == REFUSED[audit]


@pytest.mark.parametrize("audit", [audit for audit in CALLS if audit not in OF_AUDITS | REFUSED.keys()])
@pytest.mark.parametrize("seed", range(LAKES))
def test_no_small_cell(lakes, seen, audit, seed, record_property):
    ways = dict(ways_of(cb.audits()[audit], CALLS[audit]))
    if LAKES == 1:
        other = random.Random(audit).sample(list(ways)[1:], len(ways) > 1 and audit in TWO_WAYS)
        ways = {way: ways[way] for way in ("as it is", *other)}
    lake = lakes(seed, audit, ways)
    calls = all_calls(lake, seen, audit, ways, thorough=LAKES > 1)
    record_property("calls", len(calls))
    if "as it is" not in calls:  # in some lakes few images have two labels, which no call goes around
        with lake.session() as session, pytest.raises(SensitiveError) as caught:
            session.sql(statement(audit, CALLS[audit])).to_arrow()
        assert caught.value.code == "E3326"
        assert LAKES > 1
    assert not list(found_by(cb.audits()[audit], calls, hidden_of(lake)))


@pytest.mark.parametrize("audit", ["intersections", "attribute_matrix"])
def test_the_attack_finds_what_is_hidden_alone(lakes, seen, monkeypatch, audit):
    """Without complementary suppression small counts follow."""
    hidden = protection.hidden_rows
    monkeypatch.setattr(
        protection, "hidden_rows", lambda *args, **how: np.where((found := hidden(*args, **how)) == SMALL, found, SHOWN)
    )
    calls = (all_calls(lakes(seed, audit, {}), seen, audit, {"as it is": {}}, thorough=True) for seed in range(3))
    found = itertools.chain.from_iterable(found_by(cb.audits()[audit], some) for some in calls)
    assert any(kind == "follows" for kind, *_ in found)
