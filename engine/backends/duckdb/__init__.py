"""Run plans in DuckDB, over tables that Lance keeps."""

from __future__ import annotations
