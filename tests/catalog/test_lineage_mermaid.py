"""Lineage as a Mermaid flowchart: every line is of a form that Mermaid reads, whatever the names hold."""

from __future__ import annotations

import re

import pytest

from counterbalance.engine.catalog import ddl, lineage
from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.sql.statements import read

NODE = re.compile(r'  (n\d+)(?:\[\("(.*)"\)\]|\[\["(.*)"\]\]|\["(.*)"\]|\{\{"(.*)"\}\}|\("(.*)"\))')
EDGE = re.compile(r"  (n\d+) --> (n\d+)")


def parsed(chart):
    first, *lines, style = chart.rstrip("\n").split("\n")
    assert first == "flowchart LR"
    nodes = {m[1]: next(g for g in m.groups()[1:] if g is not None) for m in map(NODE.fullmatch, lines) if m}
    edges = {(nodes[m[1]], nodes[m[2]]) for m in map(EDGE.fullmatch, lines) if m}
    assert len(nodes) + len([line for line in lines if EDGE.fullmatch(line)]) == len(lines)
    chosen = re.fullmatch(r"  style (n\d+) stroke-width:3px", style)
    return nodes, edges, nodes[chosen[1]]


@pytest.fixture
def chained(lake):
    ddl.add_column(lake.location, read("ALTER TABLE captions ADD COLUMN size AS (length(text))"))
    text = "CREATE MATERIALIZED VIEW v WITH (key = 'caption_id') AS SELECT caption_id, size FROM captions"
    ddl.create_view(lake.location, read(text))
    ddl.create_index(lake.location, read("CREATE INDEX by_size ON v (size)"))
    return lake


def test_nodes_and_edges(chained):
    nodes, edges, chosen = parsed(lineage.mermaid(chained.location, "captions.size"))
    assert set(nodes.values()) == {"captions.text", "captions.size", "v", "v.size", "by_size"}
    assert edges == {
        ("captions.text", "captions.size"),
        ("captions.size", "v"),
        ("captions.size", "v.size"),
        ("v.size", "by_size"),
    }
    assert chosen == "captions.size"


def test_shapes_tell_the_kinds(chained):
    chart = lineage.mermaid(chained.location, "v.size")
    assert '["captions.size"]' in chart
    assert '{{"by_size"}}' in chart
    assert '[["v"]]' in lineage.mermaid(chained.location, "v")
    assert '[("captions")]' in lineage.mermaid(chained.location, "captions")


@pytest.mark.parametrize("name", ['a"b', "a]b", "a`b`", "<script>", "a#b;", "a\nb", "end", "é x", "%%", "a--b"])
def test_no_name_leaves_its_quotes(name):
    shown = lineage._escaped(name)
    assert not set(shown) & set('"<>[]{}()`\n%')
    assert re.sub(r"#(\d+);", lambda m: chr(int(m[1])), shown) == name


def test_unknown_name(chained):
    with pytest.raises(NotFoundError):
        lineage.mermaid(chained.location, "captions.nothing")
