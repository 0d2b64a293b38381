"""Run plans: one package for each engine that can."""

from __future__ import annotations
