"""Values of JSON, drawn by Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

VALUE = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=5)
    | st.lists(st.integers(0, 9), max_size=2)
)
"""Of a cell: what a table keeps as text."""
