"""Rewrites of a query that read less for the same rows."""

from __future__ import annotations
