"""Two lakes that differ in one image's closed label answer every statement of a default session alike.

Statements come from a small grammar: queries, DDL, refreshes, times and tags, another lake, audits with good and bad arguments,
audits and views of one's own in files that are loaded on the way, their errors and notes. What is not an audit must be equal to the
last letter; audits may differ in what they show, by that one image. ``COUNTERBALANCE_STATEMENTS`` sets how many are tried; at
least a third must give rows, since statements that all fail show nothing.
"""

from __future__ import annotations

import collections
import datetime as dt
import itertools
import json
import os
import random
import re
import shutil

import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.sql import queries

TRIES = int(os.environ.get("COUNTERBALANCE_STATEMENTS", "40"))
ANSWERS = collections.Counter()
IMAGES = 60
WHO = 7
PURPOSE = "a test of the wall"
GROUPS = (
    "pg", "again.pg", "image_labels('perceived_gender')", "person_units('perceived_gender')", "clear_labels(pg)", "was_closed",
    "image_labels('perceived_gender', min_side := 60)", "balanced_subset(pg)",
)  # fmt: skip
CLOSED = (
    *GROUPS, "labels", "again.labels", "meta.access", "person_labels('perceived_gender')", "label_concepts('perceived_gender')",
    "group_sizes(pg, min_count := 1)",
)  # fmt: skip
OPEN_GROUPS = (
    "caption_gender",
    "image_labels('scene')",
    "image_labels('scene', annotator := 'z')",
    "images_behind('word', 'zebra')",
)
"""The last two are about the one image alone, whose caption has words of its own, too."""
OPEN = (
    *OPEN_GROUPS, "images", "captions", "detections", "label_concepts('scene')", "open_view", "meta.tables", "meta.columns",
    "meta.errors", "meta.runs", "meta.views", "lists.gender_words",
)  # fmt: skip
FIELDS = {
    "images": ("image_id", "key"), "captions": ("image_id", "text"), "open_view": ("image_id", "text"),
    "detections": ("image_id", "category"), "labels": ("image_id", "value", "attribute"),
    "again.labels": ("image_id", "value", "attribute"), "meta.tables": ("name", "doc"), "meta.columns": ("table_name", "column_name"), "meta.errors": ("message",),
    "meta.runs": ("target", "mode"), "meta.views": ("name",), "meta.access": ("purpose",), "lists.gender_words": ("term", "class"),
    "label_concepts('scene')": ("image_id", "concept"), "label_concepts('perceived_gender')": ("image_id", "concept"),
}  # fmt: skip
"""Columns of relations; those of groups, audits and files are ``image_id`` and ``label``."""
COLUMNS = (
    "*",
    "*",
    "{0}",
    "{0}",
    "CAST({0} AS VARCHAR)",
    "CAST({0} AS INTEGER)",
    "COLUMNS('.*')",
    "error(CAST({0} AS VARCHAR))",
)
SUMS = ("count(*)", "min({0})", "max({0})", "string_agg({0} ORDER BY {0})", "bit_xor(hash({0}))", "histogram({0})")
CONDITIONS = ("", "", "", "", "WHERE {0} = {1}", "WHERE {0} IS NOT NULL", "ORDER BY ALL LIMIT 3", "ORDER BY {0}",
              "WHERE {0} IN (SELECT value FROM labels)", "WHERE image_id IN (SELECT image_id FROM labels WHERE value = 'a')")  # fmt: skip
LEARNERS = {"leakage", "lic", "spurious_probe"}
"""They train for seconds, and have tests of their own, such as test_no_audit_gives_a_small_cell_away."""
AUDITS = tuple(sorted(cb.audits().keys() - LEARNERS))
MADE = {
    "embedding": "CAST([image_id % 7 + 1, image_id % 3, 1] AS FLOAT[3])", "grid": "CAST([0.1, 0.2, image_id / 100] AS FLOAT[3])",
    **dict.fromkeys(("rr", "r_o", "o_r", "cc", "c_o", "o_c", "x", "y", "width", "height", "background"), "image_id / 100.0"),
    **dict.fromkeys(("accepted", "predicted"), "image_id % 3 > 0"), "score": "image_id / 100.0",
    "share": "0.5", "value": "image_id / 100.0", "weight": "1.0", "k": "5", "place": "image_id", "size": "image_id",
    "text": "concat('a man with a ', CASE WHEN image_id % 4 = 0 THEN 'cat' ELSE 'dog' END)", "answer": "'yes'", "country": "'France'",
}  # fmt: skip
"""Values of rows that are made up, by the names of columns; others hold one of three words."""
OWN_CELLS = (
    "", '[[cells]]\ncount = "n"\nwithin = ["label"]\n', '[[cells]]\ncount = "n"\nof = "image_id"\nby = ["label"]\n',
    '[[cells]]\ncount = "n"\nmeasures = ["n"]\nomit = true\n',
)  # fmt: skip
OWN_BODIES = (
    "SELECT image_id, label, 100 AS n FROM groups",
    "SELECT label, count(*) AS n, min(image_id) AS image_id FROM groups GROUP BY label",
    "SELECT concat(image_id, '=', label) AS label, 100 AS n, image_id FROM groups",
    "SELECT g.label, 100 AS n, l.image_id FROM labels AS l JOIN groups AS g USING (image_id) WHERE l.attribute LIKE '%gender'",
    "SELECT 'x' AS label, 100 AS n, max(CASE WHEN image_id = 7 THEN 1 ELSE 0 END) AS image_id FROM groups WHERE label = 'a'",
    "SELECT label, count AS n, n AS image_id FROM demographics(groups)",
    "SELECT label, count AS n, n AS image_id FROM demographics(clear_labels(groups))",
    "SELECT label, count AS n, other AS image_id FROM intersections(groups, (SELECT image_id, image_id = 7 AS label FROM images))",
    "SELECT image_id, CASE WHEN image_id = 7 THEN 'me' ELSE label END AS label, 100 AS n FROM groups",
)
"""What files of one's own say: they count what they are given, tell it row by row, or read labels themselves."""
WORDS = ("'perceived_gender'", "'scene'", "'a'", "NULL", "0", "1", "9", "10", "30", "'labels'", "[5, 10]", "true")


def build_lake(folder, build, label):
    lake = cb.connect(str(folder))
    ids = list(range(1, IMAGES + 1))
    gender = {i: "ab"[i % 2] for i in ids} | {WHO: label}
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[f"k{i}" for i in ids]),
            "captions": build.captions(
                caption_id=ids, image_id=ids, text=[
                    f"a {'man' if i % 3 else 'woman'} with a {'dog' if i % 4 else 'cat'}{' and a zebra, murderer in France' * (i == WHO)}"
                    for i in ids
                ],
            ),
            "detections": build.detections(
                detection_id=ids, image_id=ids, category=["person"] * IMAGES, width=[30.0 + i for i in ids], height=[300.0] * IMAGES
            ),
            "labels": build.labels(
                label_id=[*ids, *(1000 + i for i in ids), 2001, 2002], image_id=[*ids, *ids, WHO, WHO],
                detection_id=[*ids, *([None] * IMAGES), None, None],
                attribute=["perceived_gender"] * IMAGES + ["scene"] * IMAGES + ["scene", "hateful"],
                value=[*gender.values(), *("indoor" if i % 2 else "outdoor" for i in ids), "sea", "yes"],
                score=[None] * (2 * IMAGES) + [0.4] * 2, annotator=["ann"] * (2 * IMAGES) + ["z"] * 2,
            ),
        }
    )  # fmt: skip
    view = "SELECT image_id, label FROM image_labels('perceived_gender')"
    for name in ("pg", "was_closed"):
        lake.create_materialized_view(name, view, "image_id", purpose=PURPOSE)
    lake.create_materialized_view("open_view", "SELECT image_id, text FROM captions", "image_id")
    lake.refresh()
    lake.tag("before")
    lake.create_materialized_view("was_closed", "SELECT image_id, key AS label FROM images", "image_id", replace=True)
    lake.refresh()
    return lake


class Grammar:
    """Statements by seed."""

    def __init__(self, seed, folder):
        self.draw, self.folder, self.written = random.Random(seed), folder, []
        self.numbers = itertools.count()

    def relation(self, depth=0):
        kind = self.draw.random()
        if kind < 0.1 and depth < 3:
            return f"({self.query(depth + 1)})"
        if kind < 0.2 and depth < 3:
            return self.audit(depth + 1)
        if kind < 0.3 and depth < 3:
            return self.own(depth + 1)
        return self.draw.choice(CLOSED if kind < 0.37 else OPEN)

    def argument(self, parameter, depth):
        """Mostly rows with the columns that a parameter wants, if these are groups, else whatever there is."""
        kind = self.draw.random()
        if "label" in parameter.columns and kind < 0.9:
            return self.draw.choice(GROUPS[:3] if kind < 0.5 else GROUPS if kind < 0.6 else OPEN_GROUPS)
        if parameter.default is not None and kind < 0.7:
            return parameter.default
        return self.made(parameter) if kind < 0.95 else self.relation(depth)

    def made(self, parameter):
        """One row an image, with the columns that a parameter wants."""
        word = "['cat', 'dog', 'a'][image_id % 3 + 1]"
        values = ("image_id" if c.endswith("_id") else MADE.get(c, word) for c in parameter.columns)
        return f"(SELECT {', '.join(map(' AS '.join, zip(values, parameter.columns, strict=True)))} FROM images)"

    def own(self, depth=0):
        """A call of an audit or view in a file, one that was written before or a new one."""
        if not self.written or self.draw.random() < 0.4:
            kind, name = self.draw.choice(("audits", "views")), f"own_{next(self.numbers)}"
            default = f"default = {json.dumps(self.draw.choice(CLOSED + OPEN))}\n" if self.draw.random() < 0.5 else ""
            cells = self.draw.choice(OWN_CELLS) if kind == "audits" else ""
            body = (
                self.draw.choice(OWN_BODIES)
                if self.draw.random() < 0.7
                else f"SELECT g.* FROM groups AS h, ({self.query(2)}) AS g"
            )
            file = self.folder / name / kind / f"{name}.sql"
            file.parent.mkdir(parents=True)
            given = f'[params.groups]\nrelation = ["image_id", "label"]\n{default}'
            file.write_text(f'/*--- toml\nanswers = "Mine."\n{given}{cells}---*/\n{body}\n')
            assert queries.load(file if kind == "audits" else self.folder / name) == [name], queries.broken()
            self.written.append((name, body + default, bool(default)))
        name, body, has_default = self.draw.choice(self.written)
        group = self.draw.choice(OPEN_GROUPS if self.draw.random() < 0.8 else GROUPS)
        given = (
            ""
            if has_default and self.draw.random() < 0.3
            else group
            if depth > 1 or self.draw.random() < 0.7
            else self.relation(depth + 1)
        )
        return f"{name}({given})"

    def says(self, text):
        """A statement with what stands in the files that it calls, and in those that these call."""
        found = [body for name, body, _ in self.written if re.search(rf"\b{name}\b", text)]
        return " ".join([text, *map(self.says, found)])

    def audit(self, depth=0):
        name = self.draw.choice(AUDITS)
        given = []
        for parameter in cb.audits()[name].parameters:
            needed = parameter.default is None
            if needed or self.draw.random() < (0.8 if parameter.name in {"groups", "others"} else 0.05):
                value = self.argument(parameter, depth + 1) if parameter.is_relation else self.draw.choice(WORDS)
                given.append(f"{parameter.name} := {value}")
        return f"{name}({', '.join(given)})"

    def query(self, depth=0):
        kind = self.draw.random()
        if kind < 0.1 and depth < 2:
            return f"WITH g AS ({self.query(depth + 1)}) SELECT {self.draw.choice(('*', 'count(*)', 'g'))} FROM g"
        if kind < 0.15 and depth < 2:
            return f"{self.query(depth + 1)} UNION ALL {self.query(depth + 1)}"
        relation = self.relation(depth)
        name = self.draw.choice(
            FIELDS.get(relation, ("image_id", "label")) if self.draw.random() < 0.95 else ("label", "value", "n")
        )
        value = "7" if name == "image_id" else self.draw.choice(("'a'", "'perceived_gender'", "'b'"))
        if self.draw.random() < 0.5:
            column, condition = self.draw.choice(COLUMNS), self.draw.choice(CONDITIONS)
            if "meta.runs" in relation and "LIMIT" in condition:  # which are first goes by ids, drawn for every run
                condition = ""
        else:
            column, condition = (
                self.draw.choice(SUMS),
                self.draw.choice(("", "", "", "GROUP BY ALL", "GROUP BY {0}", "WHERE {0} = {1}")),
            )
        return f"SELECT {column.format(name)} FROM {relation} {condition.format(name, value)}".strip()

    def statement(self):
        kind = self.draw.random()
        if kind < 0.5:
            return self.query()
        if kind < 0.62:
            return f"SELECT * FROM {self.audit()}"
        if kind < 0.68:
            return f"SELECT * FROM {self.own()}"
        if kind < 0.74:
            return f"{self.draw.choice(('EXPLAIN', 'EXPLAIN ANALYZE', 'DESCRIBE', 'SUMMARIZE'))} {self.query()}"
        if kind < 0.9:
            return f"-- at {self.draw.choice(('before', '2999-01-01'))}\n{self.query()}"
        name = self.draw.choice(("pg", "was_closed", "mine", "open_view"))
        replace = self.draw.choice(("", "OR REPLACE "))
        return self.draw.choice(
            (
                f"CREATE {replace}MATERIALIZED VIEW {name} WITH (key = 'image_id') AS {self.query()}",
                f"CREATE {replace}MATERIALIZED VIEW {name} WITH (key = 'image_id') AS SELECT image_id, key AS label FROM images",
                f"DROP MATERIALIZED VIEW {name}",
                f"REFRESH {name}",
                "ALTER TABLE images ADD COLUMN more AS (upper(key))",
                "ALTER TABLE images DROP COLUMN more",
                f"ALTER TABLE {name} ADD COLUMN leak AS (CAST(CASE WHEN label = 'a' THEN 'x' ELSE '1' END AS INTEGER))",
                f"REFRESH {name}.leak",
            )
        )


NAMES = {"params", "label", "other", "concept", "metric", "class", "term", "level", "item"} | {
    column
    for audit in cb.audits().values()
    for cell in audit.cells
    for column in (*cell.by, *cell.within, *cell.totals)
}
"""Columns that say what a row is about."""
MASKED = re.compile(
    r"\d{4}-\d\d-\d\d[T ][\d:.+Z]*|\b[0-9a-f]{8,}\b|~\w+|\b\d+(\.\d+)? ?(ms|s|seconds)\b|\(\d+(\.\d+)?s\)"
)


MEASURED = {"seconds", "took", "bytes", "size", "versions", "version"}
"""Columns that differ from one run to the next."""


def masked(value, uri):
    if isinstance(value, dt.datetime | dt.timedelta):
        return "a time"
    if isinstance(value, list | tuple):
        return tuple(masked(v, uri) for v in value)
    if isinstance(value, dict):
        return {k: "…" if k in MEASURED else masked(v, uri) for k, v in value.items()}
    return MASKED.sub("…", value.replace(uri, "LAKE")) if isinstance(value, str) else value


def outcome(lake, text, *, twice):
    """All that is seen of a statement: columns, rows, notes, or the error with its hint; the lake stands in it twice, as ``again``, too."""
    at = re.match(r"-- at (\S+)\n", text)
    try:
        attach = {"again": lake} if twice else {}  # opening it takes as long as most statements
        with lake.session(at=at[1] if at else None, attach=attach) as session:
            result = session.sql(text[at.end() :] if at else text)
            if text.startswith("EXPLAIN ANALYZE"):  # how long it took
                return "rows", result.columns, [], []
            rows, names = result.fetchall(), result.columns
            if text.startswith("SUMMARIZE"):  # how many moments there are is estimated from the moments
                rows = [
                    (*r[:2], *("…" for _ in r[2:]))
                    if r[1].startswith(("TIMESTAMP", "DOUBLE")) or r[0] in {"run_id", *MEASURED}
                    else r
                    for r in rows
                ]
            times = [i for i, n in enumerate(names) if n in MEASURED]
            rows = [tuple("…" if i in times else masked(v, lake.uri) for i, v in enumerate(row)) for row in rows]
            return "rows", names, sorted(rows, key=repr), sorted(masked(n, lake.uri) for n in result.notes)
    except CounterbalanceError as error:
        return (
            "error",
            type(error).__name__,
            error.code,
            masked(str(error), lake.uri),
            masked(str(error.hint), lake.uri),
        )


def counts_an_audit(text):
    return any(f"{name}(" in text for name in AUDITS)


def leaves_out(text):
    """Tell whether an audit that is asked leaves hidden rows out, rather than showing them without their numbers."""
    return any(f"{name}(" in text for name in AUDITS if any(cell.omit for cell in cb.audits()[name].cells))


def differs_by_one(one, other, *, omits):
    """Whether rows of audits differ in shown numbers only, counts of them by one image.

    Rows that are left out are not there on one side: this tells what ``suppressed`` does. Or one is refused because two of its calls differ by few images (E3321), or few have two labels (E3326): this tells, as
    ``suppressed`` does, that there are few.
    """
    if len({o[2] for o in (one, other) if o[0] == "error"} & {"E3321", "E3326"}) == 1 and one[:3] != other[:3]:
        return True
    if one[:2] != other[:2] or one[0] != "rows" or one[3] != other[3]:
        return False
    names = one[1]
    texts = [i for i, n in enumerate(names) if n in NAMES]
    keys = [sorted(repr([row[i] for i in texts]) for row in rows) for rows in (one[2], other[2])]
    if keys[0] != keys[1] and not omits:
        return False
    is_summary = omits and "approx_unique" in names  # whose count is that of the rows which are left
    counts = [i for i, n in enumerate(names) if n in {"count", "n_label"} and not is_summary]
    by_key = [{repr([row[i] for i in texts]): [row[i] for i in counts] for row in rows} for rows in (one[2], other[2])]
    pairs = [
        (a, b) for k in by_key[0].keys() & by_key[1].keys() for a, b in zip(by_key[0][k], by_key[1][k], strict=True)
    ]
    return all(a is None or b is None or abs(a - b) <= 1 for a, b in pairs if not isinstance(a, str))


def comes_by_chance(twins, text, one, other, *, twice):
    """Whether one lake gives both errors: of several values that cannot be cast, any thread's may be told."""
    if one[0] != "error" or other[0] != "error":
        return False
    again = ([outcome(twin, text, twice=twice) for twin in twins] for _ in range(20))
    return any(first == other or second == one for first, second in again)


@pytest.fixture(scope="module")
def lakes(tmp_path_factory, build):
    folder = tmp_path_factory.mktemp("twins")
    return [build_lake(folder / f"{label}.lake", build, label) for label in "ab"]


@pytest.fixture(scope="module", autouse=True)
def enough_of_them_give_rows():
    yield
    assert 3 * ANSWERS["rows"] >= ANSWERS.total() > 0, ANSWERS


@pytest.mark.parametrize("seed", range(max(TRIES // 100, 1)))
def test_one_closed_label_changes_nothing_but_cells(lakes, seed, tmp_path, record_property):
    record_property("statements", min(TRIES, 100))
    twins = []
    for lake in lakes:  # statements change a copy
        copy = tmp_path / lake.uri.rpartition("/")[2]
        shutil.copytree(lake.uri, copy)
        twins.append(cb.connect(str(copy)))
    grammar = Grammar(seed, tmp_path)
    answers = collections.Counter()
    for _ in range(min(TRIES, 100)):
        text = grammar.statement()
        twice = "again" in grammar.says(text)
        one, other = (outcome(twin, text, twice=twice) for twin in twins)
        answers["rows" if one[0] == "rows" and one[2] else one[0] if one[0] == "error" else "no rows"] += 1
        if one != other and not comes_by_chance(twins, text, one, other, twice=twice):
            assert counts_an_audit(grammar.says(text)), (text, one, other)
            assert differs_by_one(one, other, omits=leaves_out(grammar.says(text))), (text, one, other)
        told = repr((one, other))
        assert not re.search(rf"\({WHO}, '[ab]'\)|'perceived_gender', '[ab]'", told), (text, one)
    print(dict(answers))  # noqa: T201
    ANSWERS.update(answers)
