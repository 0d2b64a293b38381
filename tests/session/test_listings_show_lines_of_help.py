"""``cb.audits()`` and ``cb.functions()`` show a line each, not the whole of what they hold."""

from __future__ import annotations

import counterbalance as cb
from counterbalance.engine.listing import Listing


class Thing:
    """What has a line of help."""

    def __init__(self, doc):
        self.doc = doc


def test_audits():
    lines = repr(cb.audits()).splitlines()
    assert len(lines) == len(cb.audits())
    assert lines[0].startswith("agreement ")
    assert lines[0].endswith(cb.audits()["agreement"].doc)
    assert "<code>agreement</code></td>" in cb.audits()._repr_html_()


def test_functions():
    lines = repr(cb.functions()).splitlines()
    assert len(lines) == len(cb.functions())
    assert any(line.startswith("vader(text[, rules]) ") for line in lines)
    assert "<code>vader(text[, rules])</code>" in cb.functions()._repr_html_()


def test_they_are_dictionaries():
    assert cb.audits() == dict(cb.audits())
    assert "sentiment" in cb.audits()


def test_hostile_help():
    listing = Listing({"<b>": Thing("<script>"), "c": Thing("")})
    assert listing._repr_html_() == (
        '<table><tr><td style="text-align: left"><code>&lt;b&gt;</code></td><td style="text-align: left">&lt;script&gt;</td></tr>'
        '<tr><td style="text-align: left"><code>c</code></td><td style="text-align: left"></td></tr></table>'
    )
    assert repr(listing) == "<b>  <script>\nc"
    assert repr(Listing({})) == "nothing"
