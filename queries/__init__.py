"""Audits, views and functions: one SQL file each."""

from __future__ import annotations
