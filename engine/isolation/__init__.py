"""Queries in warm worker processes, which the operating system and a clock hold to their limits (docs/decisions/025)."""

from __future__ import annotations
