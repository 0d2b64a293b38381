"""From text to one read-only statement, or an error that a person can use.

This gate is one of three walls: DuckDB's own settings (``session.py``) and what is registered at all stand behind it.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from counterbalance.engine.errors import LimitError, RefusedError, SqlError, did_you_mean
from counterbalance.engine.sql.diagnostics import hints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


MOST_CHARACTERS: Final = 2_000_000
MOST_WORDS: Final = 250_000
"""Words, values and signs; a list of 100,000 values has 200,000 and takes 4 s to plan."""
LONGEST_RUN: Final = 20_000
"""Words, values and signs without a comma or bracket between them; a sum of 10,000 takes 1 s, and time grows faster than it."""
DEEPEST: Final = 200
_OPEN: Final = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSE: Final = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_HINT: Final = 'give many values as a table: sql("… WHERE key IN (SELECT key FROM mine)", mine=table)'
DIALECT: Final = "duckdb"
PLACE: Final = "_"
"""What the names of values begin with that are written as ``?``; a number follows."""
DuckDB.parser_class.FUNCTIONS.pop("VECTOR_SEARCH", None)  # BigQuery's, of another form, which DuckDB does not have
Kind = Literal["query", "explain", "describe", "summarize", "show"]


class _Ours(DuckDB):
    """The dialect without an operator of Databricks, so that ``?::INT`` is a parameter and its type."""

    class Tokenizer(DuckDB.Tokenizer):
        """A question mark stands by itself."""

        KEYWORDS: ClassVar = {word: kind for word, kind in DuckDB.Tokenizer.KEYWORDS.items() if word != "?::"}


class _Plain(_Ours):
    """The dialect without texts in dollars, for text that has none: there ``$a,$b`` is two parameters."""

    class Tokenizer(_Ours.Tokenizer):
        """Dollars begin the names of parameters."""

        HEREDOC_STRINGS: ClassVar = []


_FORBIDDEN: Final = tuple(
    getattr(exp, name)
    for name in (
        "DML", "DDL", "Alter", "Drop", "TruncateTable", "Command", "Set", "Pragma", "Copy", "Attach", "Detach", "Into",
        "Use", "Kill", "Transaction", "Commit", "Rollback", "Install", "Export", "ReadCSV", "ReadParquet", "Analyze", "Cache",
        "Uncache", "Refresh", "LoadData", "Comment", "Grant", "Revoke", "Lock",
    )
    if hasattr(exp, name)
)  # fmt: skip
_FORBIDDEN_FUNCTIONS: Final = frozenset(
    {
        "query", "query_table", "json_execute_serialized_sql", "from_substrait", "from_substrait_json", "getenv",
        "write_log", "parse_duckdb_log_message", "read_text", "read_blob", "glob", "sniff_csv", "read_csv", "read_csv_auto",
        "read_parquet", "parquet_scan", "read_json", "read_json_auto", "read_ndjson", "read_json_objects", "arrow_scan",
        "pandas_scan", "sql_auto_complete", "which_secret", "duckdb_secrets", "test_all_types", "nextval", "currval",
        "setval", "current_setting", "json_serialize_plan",
    }
)  # fmt: skip
SEARCHES: Final = frozenset(
    {
        "full_text_search", "hybrid_search", "knn", "knn_shares", "moments", "nearest_counts", "nearest_items", "top_k",
        "vector_search",
    }
)  # fmt: skip
"""Our table functions (``engine/search``)."""
TABLE_FUNCTIONS: Final = frozenset({"unnest", "range", "generate_series", "generateseries", "json_each", "json_tree"})
"""DuckDB's own functions that may stand in FROM: those that make rows of their arguments."""
_PLAIN: Final = re.compile(
    r"""(?:
      '(?:[^'\0]|'')*+'                        # a string
    | "(?:[^"\0]|"")*+"                        # a quoted name
    | --[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029\0]*+   # a comment up to the end of its line
    | /\*(?:[^*/\0]|\*(?!/)|/(?!\*))*+\*/      # a comment without another one inside
    | \$?[A-Za-z0-9_]++(?![$'"])               # a word or number, no prefix of a string
    | [\s,.;:()\[\]+*%<>=!~^&|@?}]             # punctuation
    | -(?!-) | /(?!\*) | \{(?!\#) | \#(?!\})
    )*+""",
    re.VERBOSE | re.ASCII,
)
"""Text that any two lexers of this dialect cut alike: no backticks, dollar quotes, string prefixes or nested comments."""

_BEGINNINGS: Final = (
    "SELECT",
    "FROM",
    "WITH",
    "DESCRIBE",
    "SHOW",
    "SUMMARIZE",
    "EXPLAIN",
    "REFRESH",
    "CREATE",
    "ALTER",
    "DROP",
)
_INSIDE: Final = re.compile(r" but got <Token.*| for <class .*", re.DOTALL)
"""What the parser says of its own insides."""
_ODD: Final = re.compile(r"[`'\"$\x00-\x1f\x7f]")
"""What no unquoted name holds; DuckDB reads backticks and dollars as quotes, which this parser does not."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement that only reads.

    Args:
        kind: What is asked of the query.
        tree: The query; for ``show`` a placeholder.
        text: What was written.
        analyze: ``EXPLAIN ANALYZE``.
        of_name: A relation was named where a query may stand.
        of_all: Of ``SHOW``, also what the lake does not hold itself.
    """

    kind: Kind
    tree: exp.Query
    text: str
    analyze: bool = False
    of_name: bool = False
    of_all: bool = False

    @property
    def is_plain(self) -> bool:
        """Return whether the text itself may be run: then DuckDB cannot read anything in it that this parser did not see.

        Example:
            >>> parse("select 'a' -- b").is_plain, parse("select $$a$$").is_plain
            (True, False)
        """
        return _PLAIN.fullmatch(self.text) is not None


def parse(text: str) -> Statement:
    """Parse and check one statement.

    Args:
        text: SQL in DuckDB's dialect; a trailing semicolon is fine.

    Raises:
        SqlError: It cannot be parsed; carries line and column.
        RefusedError: It is not one read-only statement.
        LimitError: It is too large to be planned.

    Example:
        >>> parse("select 1 as one").kind
        'query'
    """
    check_length(text)
    stripped = text.strip()
    if not stripped:
        raise SqlError("nothing to run", code="E3101", hint="write a query, such as: SELECT count(*) FROM images")
    words = stripped.split(None, 2)
    if words[0].lower() == "explain" and len(words) > 1:
        analyze = words[1].lower() == "analyze"
        offset = len(text) - len(text.lstrip()) + stripped.lower().find("analyze" if analyze else "explain") + 7
        inner = parse(" " * offset + text[offset:] if "\n" not in text[:offset] else text[offset:])
        if inner.kind != "query":
            raise RefusedError("EXPLAIN takes a query", code="E3202")
        return Statement("explain", inner.tree, text, analyze)
    tree = _one(text)
    _check(tree)
    return _classified(tree, text)


def _one(text: str) -> exp.Expr:
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        dialect = (_Plain if "$" in text and _PLAIN.fullmatch(text) else _Ours)()
        words = _with_places(dialect.tokenize(text))
        check_words(words)
        parsed = dialect.parser().parse(words, text)
        trees = [t for t in parsed if t is not None and not isinstance(t, exp.Semicolon)]
    except ParseError as error:
        raise _syntax(text, error.with_traceback(None)) from None  # the parser's frames keep it, and all above them
    except TokenError as error:
        raise unreadable(text, error) from None
    except RecursionError:
        raise SqlError("nested too deeply", code="E3102", sql=None) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:  # the parser's own slips
        raise SqlError("the text cannot be parsed", code="E3102", sql=text) from error
    if not trees:
        raise SqlError("nothing to run", code="E3101", hint="write a query, such as: SELECT count(*) FROM images")
    if len(trees) > 1:
        raise RefusedError("one statement at a time", code="E3201", hint="split the text at its semicolons")
    tree: exp.Expr = trees[0]
    return tree


def _with_places(words: list[Token]) -> list[Token]:
    """Name the places of values without names: ``?`` is ``$_1``, the next one ``$_2``, as DuckDB takes them beside others."""
    found: list[Token] = []
    places = 0
    for word in words:
        if word.token_type != TokenType.PLACEHOLDER:
            found.append(word)
            continue
        places += 1
        parts = ((TokenType.PARAMETER, "$"), (TokenType.VAR, PLACE + str(places)))
        found += [Token(kind, said, word.line, word.col, word.start, word.end) for kind, said in parts]
    return found


def _syntax(text: str, error: ParseError) -> SqlError:
    first = error.errors[0] if error.errors else {}
    token = first.get("highlight") or ""
    line, column = first.get("line"), first.get("col")
    if column is not None:
        column = max(1, column - len(token) + 1)
    near = f" near {token!r}" if token.strip() else ""
    reason = _INSIDE.sub("", str(first.get("description") or error)).rstrip(".")
    reason = "something is missing after it" if reason.startswith("Required keyword") else reason
    hint = hints.of_no_sql(text.strip())
    return SqlError(f"syntax error{near}: {reason}", code="E3102", hint=hint, sql=text, line=line, column=column)


def unreadable(text: str, error: TokenError) -> SqlError:
    """Return the error for text that cannot be cut into tokens: a quote or comment that is never closed, mostly."""
    quote = hints.open_quote(text)
    if quote is None:
        return SqlError(f"cannot read the text: {error}", code="E3102", sql=text)
    mark, line, column = quote
    what = {"'": "text", '"': "name", "/*": "comment"}[mark]
    hint = "a quote inside of a text is written twice: 'it''s'" if mark == "'" else None
    return SqlError(
        f"a {what} begins with {mark} and does not end", code="E3102", hint=hint, sql=text, line=line, column=column
    )


def _check(tree: exp.Expr) -> None:
    for node in tree.walk():
        if isinstance(node, exp.Identifier | exp.Var) and not node.args.get("quoted") and _ODD.search(str(node.name)):
            raise RefusedError(
                f"the name {node.name!r} is refused: it is not a word", code="E3206", hint='write such names as "name"'
            )
        if isinstance(node, _FORBIDDEN):
            raise RefusedError(
                f"{_verb(node)} is refused: a session only reads",
                code="E3202",
                hint=hints.of_statement(node.sql(DIALECT)),
            )
        name = _function_name(node)
        if name in _FORBIDDEN_FUNCTIONS:
            raise RefusedError(f"function {name}() is refused: a session reads the lake and nothing else", code="E3203")
        if _makes_rows(node):
            raise RefusedError("this form of FROM is refused: a session reads the lake and nothing else", code="E3203")


def _makes_rows(node: exp.Expr) -> bool:
    """Tell whether it calls a table function in a way that ``bind.py`` does not look at."""
    if isinstance(node, exp.Lateral):
        return isinstance(node.this, exp.Func) and _function_name(node.this) not in TABLE_FUNCTIONS
    return isinstance(node, exp.Table) and node.this is None


def _function_name(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else None


def _verb(node: exp.Expr) -> str:
    if isinstance(node, exp.Command):
        return str(node.this).upper()
    return {"ReadCSV": "READ_CSV", "ReadParquet": "READ_PARQUET"}.get(type(node).__name__, type(node).__name__.upper())


def _classified(tree: exp.Expr, text: str) -> Statement:
    if isinstance(tree, exp.Show) or (isinstance(tree, exp.Describe) and tree.this is None):
        return Statement("show", exp.select("1"), text, of_all=bool(re.match(r"\s*SHOW\s+ALL\b", text, re.IGNORECASE)))
    if isinstance(tree, exp.Describe):
        return Statement("describe", _as_query(tree.this, text), text, of_name=isinstance(tree.this, exp.Table))
    if isinstance(tree, exp.Summarize):
        return Statement("summarize", _as_query(tree.this, text), text)
    return Statement("query", _as_query(tree, text), text)


def _as_query(tree: exp.Expr, text: str) -> exp.Query:
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query) and not tree.args.get("alias"):
        return exp.select("*").from_(exp.Subquery(this=tree.this, alias=exp.to_identifier("q")))
    if isinstance(tree, exp.Query) and not isinstance(tree, exp.Table):
        return tree
    if isinstance(tree, exp.Table):
        return exp.select("*").from_(tree)
    if isinstance(tree, exp.Values):
        values = tree.copy()
        values.set("alias", exp.TableAlias(this=exp.to_identifier("v")))
        return exp.select("*").from_(values)
    if isinstance(tree, exp.Pivot):
        word = "UNPIVOT" if tree.args.get("unpivot") else "PIVOT"
        raise RefusedError(f"the {word} statement is refused", code="E3202", hint=hints.of_no_sql(word))
    if isinstance(tree, exp.Alias):  # two words, the first of which is none of SQL's
        word = text.split(maxsplit=1)[0]
        raise SqlError(
            f"no statement begins with {word!r}{did_you_mean(word, _BEGINNINGS)}",
            code="E3102",
            sql=text,
            hint="SELECT, FROM, DESCRIBE, SHOW TABLES, SUMMARIZE and EXPLAIN ask; counterbalance --help lists the rest",
        )
    if isinstance(tree, exp.Condition):
        raise SqlError(f"{to_sql(tree)!r} is not a statement", code="E3102", hint=hints.of_expression(to_sql(tree)))
    raise RefusedError(f"{_verb(tree)} is refused: a session only reads", code="E3202")


def to_sql(tree: exp.Expr, *, pretty: bool = False, last: bool = False) -> str:
    """Return the tree as DuckDB SQL, names as they were written, without comments (which could be read as more than that).

    Args:
        tree: The tree.
        pretty: On several lines.
        last: The tree is not needed any more: writing it may change it, which saves a copy.
    """
    return tree.sql(DIALECT, copy=not last, pretty=pretty, normalize_functions=False, comments=False)


def quoted(name: str) -> str:
    """Return a name as an identifier.

    Example:
        >>> quoted('my "own" column')
        '"my ""own"" column"'
    """
    return '"' + name.replace('"', '""') + '"'


def is_callable(name: str) -> bool:
    """Tell whether SQL can call rows by a name: some are functions that want arguments.

    Example:
        >>> is_callable("my_audit"), is_callable("power")
        (True, False)
    """
    try:
        DuckDB().parse(f"SELECT * FROM {name}()")
    except ParseError:
        return False
    return True


def as_text(value: object) -> str:
    """Return a value as a literal of text.

    Example:
        >>> as_text("it's")
        "'it''s'"
    """
    return "'" + str(value).replace("'", "''") + "'"


def visible_ctes(node: exp.Expr) -> Iterator[str]:
    """Yield lower-case names of the common table expressions that a relation at this place can mean."""
    child: exp.Expr = node
    parent = node.parent
    while parent is not None:
        clause = parent.args.get("with_")
        if isinstance(clause, exp.With) and child is not clause:
            yield from (cte.alias.lower() for cte in clause.expressions)
        elif isinstance(parent, exp.With):
            for cte in parent.expressions:
                if cte is child:
                    if parent.args.get("recursive"):
                        yield cte.alias.lower()
                    break
                yield cte.alias.lower()
        child, parent = parent, parent.parent


# -- how large a statement may be: planning takes longer than its size says, and cannot be interrupted -------------------


def check_length(text: str) -> None:
    """Refuse a text that is too long to be read.

    Raises:
        LimitError: It is (E5005).

    Example:
        >>> check_length("SELECT 1")
    """
    if len(text) > MOST_CHARACTERS:
        raise _too_large(f"{len(text):,} characters", f"{MOST_CHARACTERS:,}")


def check_words(words: Iterable[Token]) -> None:
    """Refuse a statement of too many words, too long a run of them, or brackets nested too deeply.

    Raises:
        LimitError: It is too large (E5005).

    Example:
        >>> from sqlglot import tokenize
        >>> check_words(tokenize("SELECT 1 IN (2, 3)"))
        >>> check_words(tokenize("SELECT 1" + " + 1" * 20_000))
        Traceback (most recent call last):
            ...
        counterbalance.engine.errors.LimitError: the statement has more than 20,000 words and signs without a comma or bracket between them
        hint: give many values as a table: sql("… WHERE key IN (SELECT key FROM mine)", mine=table)
    """
    runs = [0]
    for number, word in enumerate(words):
        kind = word.token_type
        if number >= MOST_WORDS:
            raise _too_large("more words and signs than it may have", f"{MOST_WORDS:,}")
        if kind in _OPEN:
            runs.append(0)
            if len(runs) > DEEPEST:
                raise _too_large("brackets nested too deeply", f"{DEEPEST}")
        elif kind in _CLOSE:
            if len(runs) > 1:
                runs.pop()
        elif kind == TokenType.COMMA:
            runs[-1] = 0
        else:
            runs[-1] += 1
            if runs[-1] > LONGEST_RUN:
                raise LimitError(
                    f"the statement has more than {LONGEST_RUN:,} words and signs without a comma or bracket between them",
                    code="E5005",
                    hint=_HINT,
                )


def _too_large(what: str, most: str) -> LimitError:
    return LimitError(f"the statement has {what}; the limit is {most}", code="E5005", hint=_HINT)
