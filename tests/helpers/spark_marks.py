"""Marks of every test file that runs Spark."""

from __future__ import annotations

import pytest

QUIET = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning")
"""PySpark warns of itself."""
ON_SPARK = [pytest.mark.slow, QUIET, pytest.mark.usefixtures("spark")]
