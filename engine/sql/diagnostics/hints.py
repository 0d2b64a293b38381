"""What to do instead: hints for statements that a session refuses, and for quotes that went wrong."""

from __future__ import annotations

import re
from typing import Final

_READS: Final = "change a lake with counterbalance ingest"
_SETTINGS: Final = (
    "settings are locked; --memory, --threads and --timeout (or memory=, threads=, timeout=) set the limits"
)
_ATTACH: Final = "attach lakes with --attach NAME=LAKE (or attach={'name': lake}); their tables are NAME.table"
_WRITE: Final = "write rows to a file with --output FILE (or .once FILE in the shell)"
FUNCTIONS: Final = "SELECT * FROM meta.functions lists them; one of your own is loaded with --udfs FILE"
"""Where functions are to be found, when one is not."""
_HINTS: Final = (
    (r"(SET|RESET|PRAGMA)\b.*\b(max_)?memory", "--memory 2GB (or memory='2GB') sets the limit"),
    (r"(SET|RESET|PRAGMA)\b.*\bthreads\b", "--threads 4 (or threads=4) sets their number"),
    (
        r"(SET|RESET)\s+VARIABLE\b|EXECUTE\b|PREPARE\b",
        "write $name in the query, and give its value with -p NAME=VALUE",
    ),
    (r"PRAGMA\b.*\b(show|table_info|database)", "SHOW TABLES lists the relations, DESCRIBE name its columns"),
    (r"(SET|RESET|PRAGMA)\b", _SETTINGS),
    (r"(ATTACH|DETACH|USE)\b", _ATTACH),
    (r"READ_|'", "a session reads the lake and nothing else; put files into it with counterbalance ingest"),
    (r"(COPY|EXPORT)\b", _WRITE),
    (r"CREATE\b.*?\b(MACRO|FUNCTION)\b", "functions are written in Python and declared with @counterbalance.udf"),
    (r"CREATE\s+(UNIQUE\s+)?INDEX\b", "indexes are declared with: CREATE INDEX ON t (column)"),
    (r"CREATE\b", "rows of a query are kept with: CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT …"),
    (r"ALTER\b", "columns are declared with: ALTER TABLE t ADD COLUMN c AS (expression)"),
    (
        r"DROP\b",
        "what was declared is dropped with: ALTER TABLE t DROP COLUMN c, DROP MATERIALIZED VIEW v, DROP INDEX i",
    ),
    (
        r"CALL\s+train_classifier\b",
        "train with: counterbalance train classifier LAKE --labels RELATION --attribute NAME --output FOLDER",
    ),
    (
        r"SHOW\b",
        "SHOW TABLES lists what the lake holds, SHOW ALL TABLES all relations, DESCRIBE name one's columns; counterbalance audit --list lists audits",
    ),
    (r"CALL\b", "CALL is for recipes: write it into FILE.sql, and run counterbalance recipe LAKE FILE.sql"),
    (r"(FORCE\s+)?(INSTALL|LOAD)\b", "extensions are not loaded; put the data into a lake: counterbalance ingest"),
)
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|(?P<open>['\"]|/\*)", re.DOTALL)


def of_statement(text: str) -> str:
    """Return what does the work of a statement that is refused.

    Example:
        >>> of_statement("SET threads = 4")
        '--threads 4 (or threads=4) sets their number'
        >>> of_statement("DELETE FROM images")
        'change a lake with counterbalance ingest'
    """
    return next((hint for begin, hint in _HINTS if re.match(begin, text.strip(), re.IGNORECASE | re.DOTALL)), _READS)


def of_expression(text: str) -> str:
    """Return what to write where an expression stands for a statement.

    Example:
        >>> of_expression("images")
        'FROM images reads a relation, SELECT images computes a value'
        >>> of_expression("query.sql")
        'a file is run with -f query.sql'
    """
    if text.lower().endswith(".sql"):
        return f"a file is run with -f {text}"
    if re.fullmatch(r"\w+", text):
        return f"FROM {text} reads a relation, SELECT {text} computes a value"
    return "a value is computed with SELECT"


def of_no_sql(text: str) -> str | None:
    """Return what does the work of a dot command, of one of another shell, or of a path in place of SQL.

    Example:
        >>> of_no_sql("./query.sql")
        'a file is run with -f ./query.sql'
        >>> of_no_sql("UNPIVOT t ON a, b ORDER BY a")
        'write it inside a query: SELECT * FROM t UNPIVOT (value FOR name IN (a, b))'
        >>> of_no_sql("SELECT SELECT") is None
        True
    """
    if re.fullmatch(r"\S+\.sql", text, re.IGNORECASE):
        return of_expression(text)
    if (first := re.match(r"(UN)?PIVOT\b", text, re.IGNORECASE)) is not None:
        inside = "UNPIVOT (value FOR name IN (a, b))" if first[1] else "PIVOT (count(*) FOR column IN ('a', 'b'))"
        return f"write it inside a query: SELECT * FROM t {inside}"
    if text[:1] in {".", "\\"}:
        return "such commands are the shell's: counterbalance sql LAKE; in SQL there are SHOW TABLES and DESCRIBE name"
    return None


def open_quote(text: str) -> tuple[str, int, int] | None:
    r"""Return the quote (or comment) that is never closed, with its line and column.

    Example:
        >>> open_quote("SELECT 'a',\n  'b FROM images")
        ("'", 2, 3)
        >>> open_quote("SELECT 'it''s'") is None
        True
    """
    for found in _QUOTED.finditer(text):
        if found["open"]:
            before = text[: found.start()]
            return found["open"], before.count("\n") + 1, found.start() - before.rfind("\n")
    return None


def of_bytes(name: str) -> str:
    """Say that no star stands for a column of bytes.

    Example:
        >>> of_bytes("image")
        'image holds bytes, which no star stands for: name it in the SELECT whose FROM names its table'
    """
    return f"{name} holds bytes, which no star stands for: name it in the SELECT whose FROM names its table"


def of_double_quotes(name: str, sql: str) -> str | None:
    """Say to write text in single quotes, when a name that is not a column was written in double quotes.

    Example:
        >>> of_double_quotes("train", 'SELECT * FROM images WHERE split = "train"')
        "double quotes are for names; a text is written 'train'"
    """
    quoted = '"' + name.replace('"', '""') + '"'
    if quoted.lower() not in {m[0].lower() for m in _QUOTED.finditer(sql)}:
        return None
    text = name.replace("'", "''")
    return f"double quotes are for names; a text is written '{text}'"
