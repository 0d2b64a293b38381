"""A contract for import-linter: no circle of modules, imports inside of functions and for types counted."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from importlinter import Contract, ContractCheck, output

if TYPE_CHECKING:
    from grimp import ImportGraph


class AcyclicModules(Contract):  # type: ignore[misc, unused-ignore]
    """Holds where modules can be put in an order in which each imports only those before it."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look for a circle."""
        del verbose
        try:
            TopologicalSorter({m: graph.find_modules_directly_imported_by(m) for m in graph.modules}).prepare()
        except CycleError as error:
            return ContractCheck(kept=False, metadata={"circle": error.args[1]})
        return ContractCheck(kept=True)

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the circle."""
        output.print_error(" imports ".join(reversed(check.metadata["circle"])))
