"""Notes, hints and errors: what to say of a query, beside its rows."""

from __future__ import annotations
