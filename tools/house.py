"""Print what the code is made of: lines and modules by room, circles of modules, the objects with most attributes.

python tools/house.py [ROOT]
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

ROOMS = ("engine", "ingest", "udfs", "counterbalance", "tests", "bench")


def modules(root: Path) -> dict[str, Path]:
    """Return the files of the package by the names they are imported under."""
    found = {}
    for room in ROOMS[:4]:
        for path in sorted((root / room).rglob("*.py")):
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            found[name if name.startswith("counterbalance") else f"counterbalance.{name}"] = path
    return found


def imports(name: str, tree: ast.Module, known: dict[str, Path]) -> dict[str, set[str]]:
    """Return which modules one imports: at the top, inside of functions, for types only."""
    kinds: dict[str, set[str]] = {"top": set(), "inside": set(), "types": set()}

    def visit(node: ast.AST, kind: str) -> None:
        for child in ast.iter_child_nodes(node):
            own = kind
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                own = "inside"
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                own = "types"
            if isinstance(child, ast.ImportFrom) and (child.module or "").startswith("counterbalance"):
                for alias in child.names:
                    full = f"{child.module}.{alias.name}"
                    target = full if full in known else str(child.module)
                    if target in known and target != name:
                        kinds[own].add(target)
            visit(child, own)

    visit(tree, "top")
    return kinds


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected parts of more than one module, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = []
            while not part or part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def attributes(tree: ast.Module) -> Counter[str]:
    """Return how many attributes the constructor of each class sets."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for made in (n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"):
                names = {
                    n.attr
                    for n in ast.walk(made)
                    if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and ast.unparse(n.value) == "self"
                }
                found[node.name] = len(names)
    return found


def main(root: Path) -> None:
    """Print the figures."""
    sys.setrecursionlimit(10_000)
    for room in ROOMS:
        files = list((root / room).rglob("*.py"))
        lines = sum(len(f.read_text().splitlines()) for f in files)
        print(f"{room:16} {len(files):5} files {lines:8,} lines")
    known = modules(root)
    trees = {name: ast.parse(path.read_text()) for name, path in known.items()}
    kinds = {name: imports(name, tree, known) for name, tree in trees.items()}
    inside = sum(len(k["inside"]) for n, k in kinds.items() if n.startswith("counterbalance.engine"))
    print(f"modules {len(known)}; imports inside of functions of engine {inside}")
    for kept in (("top",), ("top", "inside"), ("top", "inside", "types")):
        parts = circles({name: set().union(*(own[k] for k in kept)) for name, own in kinds.items()})
        print(f"circles with {' + '.join(kept)}: {sorted(map(len, parts), reverse=True)}")
    counts = Counter({f"{n}.{c}": k for n, t in trees.items() for c, k in attributes(t).items() if ".engine" in n})
    for name, count in counts.most_common(5):
        print(f"attributes of {name.removeprefix('counterbalance.')}: {count}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
