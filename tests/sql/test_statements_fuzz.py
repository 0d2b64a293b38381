"""Any text at all is read as a statement, left alone, or refused with an error of ours; what is written is read back."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from counterbalance.engine.errors import CounterbalanceError, SqlError
from counterbalance.engine.sql.statements import AddColumn, CreateView, Refresh, read

PIECES = [
    "ALTER", "TABLE", "ADD", "DROP", "COLUMN", "IF", "NOT", "EXISTS", "AS", "GENERATED", "ALWAYS", "STORED", "WITH", "CREATE", "OR", "REPLACE",
    "MATERIALIZED", "VIEW", "INDEX", "ON", "USING", "REFRESH", "ALL", "CASCADE", "key", "=", "'a'", "'a, b'", "true", "1", "-1.5", "(", ")", "[", "]",
    "{", "}", ",", ".", ";", "SELECT", "FROM", "t", '"q"', '""', "INTEGER", "STRUCT(", "--c\n", "/*c*/", "$x", "?", "'", '"', "$$", "/*", "\n", "é",
    "\0", "`", "\\", "@", "1e", "0x", "{{", "{%", "::", "->",
]  # fmt: skip
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}x", fullmatch=True)


def place_is_in_the_text(error: SqlError, text: str) -> bool:
    lines = text.split("\n")
    return error.line is None or (
        1 <= error.line <= len(lines) and 1 <= (error.column or 1) <= len(lines[error.line - 1]) + 2
    )


def check(text):
    refused = None
    try:
        read(text)
    except CounterbalanceError as error:
        refused = error
    assert refused is None or refused.message
    if isinstance(refused, SqlError):
        assert place_is_in_the_text(refused, text)
        refused.excerpt()


@given(st.text(max_size=60))
@example("REFRESH \x00")
@example("ALTER TABLE\u2028")
def test_any_text(text):
    check(text)
    check("REFRESH " + text)


@given(
    st.sampled_from(
        [
            "ALTER TABLE t ADD COLUMN",
            "ALTER TABLE",
            "CREATE MATERIALIZED VIEW v WITH (",
            "CREATE INDEX",
            "REFRESH",
            "DROP INDEX",
            "CREATE",
        ]
    ),
    st.lists(st.sampled_from(PIECES), max_size=14),
    st.sampled_from([" ", "", "\n"]),
)
def test_any_sequence_of_its_words(start, pieces, between):
    check(start + " " + between.join(pieces))


@given(
    NAMES,
    NAMES,
    st.sampled_from(["x", "f(a, 'é)')", "a + (b) -- )\n", "\"q)\" || '('", "CASE WHEN a THEN 1 END"]),
    st.sampled_from([None, "DOUBLE", "INTEGER[]"]),
)
def test_a_column_is_read_back(table, name, expression, kind):
    text = f"ALTER TABLE {table} ADD COLUMN {name} {kind or ''} AS ({expression})"
    assert read(text) == AddColumn(table, name, kind, expression.strip())


@given(
    NAMES,
    st.lists(NAMES, min_size=1, max_size=3),
    st.sampled_from(["SELECT 1 AS a", "FROM t -- c", "WITH q AS (SELECT ';' AS s) SELECT * FROM q"]),
)
def test_a_view_is_read_back(name, key, select):
    text = f"CREATE MATERIALIZED VIEW {name} WITH (key = '{', '.join(key)}') AS {select}"
    assert read(text) == CreateView(name, select, tuple(key))


@given(st.lists(st.tuples(NAMES, st.none() | NAMES), min_size=1, max_size=4, unique=True))
def test_targets_are_read_back(parts):
    targets = [a if b is None else f"{a}.{b}" for a, b in parts]
    assert read("REFRESH " + ", ".join(targets)) == Refresh(tuple(dict.fromkeys(targets)), all=False)
