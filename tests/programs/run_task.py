"""Run one task of a job: the job as JSON, then number, fragment, low and high."""

from __future__ import annotations

import sys

from counterbalance.engine.executors.protocol import Job, Task
from counterbalance.engine.executors.worker import Worker

for _ in Worker(Job.from_json(sys.argv[1])).run(Task(*map(int, sys.argv[2:]))):
    pass
