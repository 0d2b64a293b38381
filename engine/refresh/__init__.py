"""The verb: compute what is missing or stale, in order, and nothing else."""

from __future__ import annotations
