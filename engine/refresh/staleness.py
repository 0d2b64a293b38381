"""What of a definition changed since its stored results were made: the parts behind each fingerprint are kept in the lake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import meta
from counterbalance.engine.errors import CounterbalanceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.refresh.fingerprint import Fingerprints
    from counterbalance.engine.store.location import Location

    Parts = Mapping[str, Any]

_TEXTS: Final = {
    "format": "the way results are computed",
    "key": "key",
    "column": "indexed column",
    "options": "options",
}
_DIGITS: Final = 8


def remember(location: Location, fingerprints: Fingerprints, definitions: Iterable[Definition]) -> None:
    """Keep the parts of these fingerprints, each once; one that cannot be made is left to its stage."""
    known = set(meta.read(location, "fingerprints")["fingerprint"].to_pylist())
    fresh: dict[str, dict[str, Any]] = {}
    for definition in definitions:
        try:
            fingerprint, parts = fingerprints.of(definition), fingerprints.parts(definition)
        except CounterbalanceError:
            continue
        if fingerprint not in known:
            body = json.dumps(parts, sort_keys=True, default=str)
            fresh[fingerprint] = {"fingerprint": fingerprint, "at": meta.now(), "body": body}
    if fresh:
        meta.write(location, "fingerprints", list(fresh.values()))


def since(location: Location, fingerprint: str | None, fingerprints: Fingerprints, definition: Definition) -> str:
    """Return what changed since results were stored under a fingerprint; empty where that cannot be told."""
    rows = meta.read(location, "fingerprints").select(["fingerprint", "body"]).to_pylist()
    before = next((r["body"] for r in rows if r["fingerprint"] == fingerprint), None)
    if before is None:
        return ""
    now = json.loads(json.dumps(fingerprints.parts(definition), default=str))
    return ", ".join(differences(json.loads(before), now))


def differences(before: Parts, now: Parts) -> list[str]:
    """Return what differs between the parts of two fingerprints, in words.

    Example:
        >>> one = {"name": "vader", "version": "1", "returns": "double", "constants": {}, "weights": ""}
        >>> differences({"functions": [one]}, {"functions": [{**one, "version": "2"}]})
        ['function vader changed (version 1 -> 2)']
    """
    rewritten = before.get("sql") != now.get("sql")
    found = [f"{'SELECT' if now.get('kind') == 'view' else 'expression'} changed"] if rewritten else []
    found += [f"{text} changed" for part, text in _TEXTS.items() if before.get(part) != now.get(part)]
    found += _functions(before, now, rewritten=rewritten)
    found += [f"list {n} changed" for n in _unequal(before.get("lists", {}), now.get("lists", {}))]
    if not rewritten:
        found += [
            f"upstream {_noun(n)} {n} was changed" for n in _unequal(before.get("reads", {}), now.get("reads", {}))
        ]
    if not found and before.get("plain") != now.get("plain"):
        found.append("a view or table that its SELECT reads is of another form")
    return list(dict.fromkeys(found))


def _noun(target: str) -> str:
    return "column" if "." in target else "index"


def _unequal(before: Parts, now: Parts) -> list[str]:
    return sorted(n for n in {*before, *now} if before.get(n) != now.get(n))


def _functions(before: Parts, now: Parts, *, rewritten: bool) -> Iterator[str]:
    """Yield functions that both call, and that are not the same any more."""
    for old, new in _pairs(before.get("functions", ()), now.get("functions", ())):
        name = new["name"]
        for part, text in (("version", "version "), ("returns", "returns ")):
            if old[part] != new[part]:
                yield f"function {name} changed ({text}{old[part]} -> {new[part]})"
        if old["weights"] != new["weights"]:
            yield f"weights of {name} changed ({_short(old['weights'])} -> {_short(new['weights'])})"
        if not rewritten and old.get("arguments") != new.get("arguments"):
            yield f"a default of {name} changed"
        for parameter in _unequal(old["constants"], new["constants"]):
            was, is_ = (json.dumps(p["constants"].get(parameter)) for p in (old, new))
            yield f"{parameter!r} of {name} changed ({was} -> {is_})"


def _pairs(before: Iterable[Parts], now: Iterable[Parts]) -> Iterator[tuple[Parts, Parts]]:
    """Yield calls of the same function, in order."""
    left = list(before)
    for new in now:
        old = next((f for f in left if f["name"] == new["name"]), None)
        if old is not None:
            left.remove(old)
            yield old, new


def _short(digest: str) -> str:
    return digest[:_DIGITS] or "none"
