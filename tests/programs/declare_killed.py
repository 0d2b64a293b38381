"""Run a statement and be killed on the way. Arguments: lake, statement, the step at which the process ends itself.

Steps: ``definition`` ends it when the definition is about to be kept, ``column`` when the stored column is about to be made,
``stored`` when the stored column or view has just been made or dropped, ``end`` when the journal is about to be closed.
"""

from __future__ import annotations

import os
import signal
import sys

import counterbalance as cb
from counterbalance.engine.catalog import ddl, definitions, runs
from counterbalance.engine.sql import statements
from counterbalance.engine.store import columns, tables


def die(*_arguments, **_options):
    os.kill(os.getpid(), signal.SIGKILL)


def after(function):
    def run(*arguments, **options):
        function(*arguments, **options)
        die()

    return run


def arm(step):
    if step == "definition":
        definitions.declare = die
    elif step == "column":
        columns.declare = die
    elif step == "stored":
        columns.declare, columns.drop, tables.drop = after(columns.declare), after(columns.drop), after(tables.drop)
    elif step == "end":
        runs.Run.close = die


if __name__ == "__main__":
    lake = cb.connect(sys.argv[1])
    statement = statements.read(sys.argv[2])
    run = {
        statements.AddColumn: ddl.add_column,
        statements.CreateView: ddl.create_view,
        statements.DropColumn: ddl.drop_column,
        statements.DropView: ddl.drop_view,
    }[type(statement)]
    arm(sys.argv[3])
    run(lake.location, statement)
    sys.stdout.write("not killed\n")
