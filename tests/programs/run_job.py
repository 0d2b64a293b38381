"""Run a job: executor, the job as JSON, the number of workers, then low and high of each task in fragment 0."""

from __future__ import annotations

import sys

from counterbalance.engine.executors.protocol import Job, Task
from counterbalance.engine.executors.registry import executor

if __name__ == "__main__":
    bounds = list(map(int, sys.argv[4:]))
    tasks = [Task(i, 0, bounds[2 * i], bounds[2 * i + 1]) for i in range(len(bounds) // 2)]
    for _ in executor(sys.argv[1], workers=int(sys.argv[3])).run(Job.from_json(sys.argv[2]), tasks):
        pass
