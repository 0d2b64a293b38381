"""Pages of what SQL files say: audits, views, functions and recipes, from their front matter as the engine reads it."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import docs_columns
import docs_units
from docs_words import cell, code, fence, folded, page, paragraphs, plain, table

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.recipes import files as recipe_files
from counterbalance.engine.sql import queries
from counterbalance.report import behind, charts, scatter, svg, transfer
from counterbalance.shell import describe, markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from counterbalance.engine.session import Session
    from counterbalance.engine.sql.query_model import Query, QueryParameter

_ROWS: Final = 6
_GENDER: Final = "image_labels('perceived_gender', annotator := 'first')"
_OBJECTS: Final = "(SELECT image_id, 'object' AS category, concept AS attribute FROM category_concepts{where})"
_VECTORS: Final = """(
  SELECT image_id, list(n ORDER BY concept) AS embedding
  FROM (
    SELECT i.image_id, c.concept, CAST(count(o.concept) AS FLOAT) AS n
    FROM (SELECT DISTINCT image_id FROM category_concepts) AS i
    CROSS JOIN (SELECT DISTINCT concept FROM category_concepts) AS c
    LEFT JOIN category_concepts AS o ON o.image_id = i.image_id AND o.concept = c.concept
    GROUP BY ALL
  ) AS counts
  GROUP BY image_id
)"""
"""In the place of vectors of a model: which objects an image shows."""
_DIRECTIONS: Final = """(
  SELECT a.concept AS category, list(CAST(a.concept = b.concept AS FLOAT) ORDER BY b.concept) AS embedding
  FROM (SELECT DISTINCT concept FROM category_concepts) AS a
  CROSS JOIN (SELECT DISTINCT concept FROM category_concepts) AS b
  GROUP BY a.concept
)"""
"""In the place of vectors of words: one of each object."""
_OWN: Final = f"(SELECT image_id AS text_id, image_id, image_id AS source_id, embedding FROM {_VECTORS})"
_ASKED: Final = "CASE n WHEN 0 THEN 'female' ELSE 'male' END"
_PAIRS: Final = r"""(
  SELECT caption_id AS pair_id, text AS original, regexp_replace(text, '\bman\b', 'woman') AS counterfactual
  FROM captions
)"""
_PLACES: Final = """(
  SELECT image_id, CASE WHEN label IN ('beach', 'park', 'street') THEN 'outdoors' ELSE 'indoors' END AS label
  FROM image_labels('scene')
)"""
_MADE_UP: Final = frozenset({"edit_quality", "image_text_matching", "label_validation", "subject_errors", "win_rates"})
_STANDS_IN: Final = " Counts of objects stand in the place of a model's vectors here."
_INSTEAD: Final = {
    "bias_transfer": " Every second image stands in the place of what a model makes here.",
    "lic": " Alt texts stand in the place of a model's captions here.",
    "ratio": " Captions by people, of pictures as they are, stand in the place of a model's of masked ones here.",
}
_MAP: Final = """
SELECT m.x, m.y, c.name, CASE c.name WHEN 'red' THEN 'over' WHEN 'blue' THEN 'under' ELSE 'even' END AS tone
FROM image_map((SELECT image_id, color_grid(image) AS embedding FROM images)) AS m
JOIN (
  SELECT image_id, list_extract(['red', 'green', 'blue'], (list_position(g, list_max(g)) - 1) % 3 + 1) AS name
  FROM (SELECT image_id, color_grid(image) AS g FROM images) AS s
) AS c ON c.image_id = m.image_id"""
"""Pictures by their colours, each with its brightest one."""
BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "label_validation": (
        "cp -r sample.lake asked.lake",
        f"""cbal sql asked.lake --csv "
  SELECT
    image_id, 'place' AS attribute, 'a' || n || '@made-up' AS annotator,
    CASE
      WHEN image_id % 7 > 0 AND (n = 1 OR image_id % 7 <> 3) THEN label
      WHEN label = 'indoors' THEN 'outdoors' ELSE 'indoors'
    END AS value
  FROM {_PLACES} AS place
  CROSS JOIN (SELECT unnest([1, 2]) AS n)
  WHERE image_id % 8 < 5" > answers.csv""",
        "cbal ingest asked.lake answers.csv",
    )
}
"""Of audits that read more than the tour's lake has: the commands that make a copy of it which has that, too."""
ARGUMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "agreement": {"attribute": "perceived_gender"},
    "artifact_shift": {
        "edited": f"(SELECT image_id, 'female' AS label, list_transform(embedding, x -> x + 0.5) AS embedding FROM {_VECTORS})",
        "originals": _VECTORS,
    },
    "association": {"images": _VECTORS, "categories": _DIRECTIONS},
    "attribute_auc": {
        "scores": """(
  SELECT i.image_id, 'object' AS category, o.concept AS attribute, count(w.concept) AS score
  FROM (SELECT DISTINCT image_id FROM category_concepts) AS i
  CROSS JOIN (SELECT DISTINCT concept FROM category_concepts) AS o
  LEFT JOIN word_concepts AS w ON w.image_id = i.image_id AND w.concept = o.concept
  GROUP BY ALL
)""",
        "labels": _OBJECTS.format(where=""),
    },
    "attribute_confounding": {
        "attributes": """(
  SELECT image_id, 'named' AS category, label AS attribute FROM caption_gender WHERE label IN ('female', 'male')
  UNION ALL
  SELECT i.image_id, 'laptop', CASE WHEN c.concept IS NULL THEN 'no' ELSE 'yes' END
  FROM images AS i
  LEFT JOIN category_concepts AS c ON c.image_id = i.image_id AND c.concept = 'laptop'
)"""
    },
    "attribute_frequencies": {"attributes": _OBJECTS.format(where="")},
    "attribute_matrix": {
        "attributes": f"""(
  SELECT image_id, 'place' AS category, label AS attribute FROM {_PLACES} AS place
  UNION ALL
  SELECT image_id, 'named', label FROM caption_gender
)""",
        "category": "place",
        "other": "named",
    },
    "average_precision": {
        "predictions": "(SELECT image_id, concept, count(*) AS score FROM word_concepts GROUP BY image_id, concept)"
    },
    "bias_transfer": {
        "model_bias": """(
  SELECT concept AS category, value
  FROM concept_ratio(groups := (SELECT image_id, label FROM caption_gender WHERE image_id % 2 = 0), min_count := 5)
)""",
        "min_count": "5",
    },
    "casc": {"images": _VECTORS, "categories": _DIRECTIONS},
    "cluster_representation": {"clusters": "(SELECT image_id, caption_id, caption_id % 2 AS cluster FROM captions)"},
    "compare_attributes": {
        "attributes": _OBJECTS.format(where=" WHERE image_id % 2 = 0"),
        "others": _OBJECTS.format(where=" WHERE image_id % 2 = 1"),
    },
    "compare_crime_words": {"others": "caption_gender_gensynth", "other_texts": "captions"},
    "compare_demographics": {"others": _GENDER},
    "compare_intersections": {
        "others": "caption_gender_gensynth",
        "crossed": _PLACES,
        "others_crossed": _PLACES,
    },
    "compare_sentiment": {"others": "caption_gender_gensynth", "other_texts": "captions"},
    "contrast_balance": {
        "contrast": "(SELECT image_id AS edit_id, image_id, label FROM balanced_subset(caption_gender))"
    },
    "counterfactual_retrieval": {
        "texts": _OWN,
        "original_texts": _OWN,
        "images": f"(SELECT image_id, embedding FROM {_VECTORS})",
        "original_images": f"(SELECT image_id, embedding FROM {_VECTORS})",
    },
    "detection_recall": {"predicted": "detections"},
    "directional_amplification": {
        "predicted_concepts": "(SELECT w.* FROM word_concepts AS w WHERE concept IN (SELECT concept FROM category_concepts))",
        "show": "pairs",
    },
    "edit_quality": {
        "edits": f"""(
  SELECT
    image_id * 2 + n AS edit_id, image_id, {_ASKED} AS label, 'a photo' AS template, image_id % 3 > 0 AS accepted,
    CASE WHEN image_id % 5 = 0 THEN 'male' ELSE {_ASKED} END AS predicted, 0.0 AS background
  FROM images
  CROSS JOIN (SELECT unnest([0, 1]) AS n)
)"""
    },
    "generated_ratio": {
        "generations": """(
  SELECT image_id, concept AS category, row_number() OVER (PARTITION BY concept ORDER BY image_id) AS place
  FROM category_concepts
)""",
        "groups": "caption_gender",
    },
    "harmful_zero_shot": {
        "predictions": "(SELECT image_id, min(concept) AS predicted FROM word_concepts GROUP BY image_id)"
    },
    "ieat": {
        "images": _VECTORS,
        "attributes": "(SELECT image_id, concept AS label FROM category_concepts WHERE concept IN ('umbrella', 'laptop'))",
        "a": "umbrella",
        "b": "laptop",
    },
    "image_text_matching": {
        "scores": """(
  SELECT
    image_id AS pair_id, 0.30 + image_id % 7 / 100 AS rr, 0.24 + image_id % 5 / 100 AS r_o, 0.25 + image_id % 3 / 100 AS o_r,
    0.29 + image_id % 11 / 100 AS cc, 0.26 + image_id % 5 / 100 AS c_o, 0.25 + image_id % 3 / 100 AS o_c
  FROM images
)"""
    },
    "intersections": {"others": _GENDER},
    "label_validation": {"attribute": "place", "model": _PLACES},
    "lic": {
        "human": "(SELECT caption_id, image_id, text FROM captions WHERE origin <> 'alt_text')",
        "generated": "(SELECT caption_id, image_id, text FROM captions WHERE origin = 'alt_text')",
    },
    "markedness": {"images": _VECTORS, "prompts": _DIRECTIONS},
    "min_size_study": {
        "labels": "person_labels('perceived_gender', annotator := 'first')",
        "reference": "person_labels('perceived_gender', annotator := 'second')",
    },
    "proposal_recall": {
        "proposal": f"(SELECT category AS term, embedding FROM {_DIRECTIONS} WHERE category <> 'umbrella')",
        "reference": f"(SELECT category AS term, embedding FROM {_DIRECTIONS})",
    },
    "ratio": {"texts": "(SELECT image_id, text FROM captions)"},
    "ratio_shift": {
        "original": "captions",
        "inpainted": r"(SELECT image_id, regexp_replace(text, '\bman\b', 'person') AS text FROM captions)",
    },
    "retrieval_bias_models": {
        "columns": "embedding",
        "asked": f"(SELECT image_id AS query_id, image_id, embedding FROM {_VECTORS})",
        "ranked": f"(SELECT image_id AS item_id, image_id, embedding FROM {_VECTORS})",
    },
    "retrieval_bias_sets": {
        "asked": f"(SELECT image_id AS query_id, image_id, embedding FROM {_VECTORS})",
        "original": f"""(
  SELECT v.image_id AS item_id, v.image_id, g.label, v.embedding FROM {_VECTORS} AS v LEFT JOIN caption_gender AS g USING (image_id)
)""",
        "balanced": f"""(
  SELECT v.image_id AS item_id, v.image_id, g.label, v.embedding
  FROM {_VECTORS} AS v JOIN balanced_subset(caption_gender) AS g USING (image_id)
)""",
        "contrast": f"""(
  SELECT v.image_id * 2 + n AS item_id, v.image_id, {_ASKED} AS label, v.embedding
  FROM {_VECTORS} AS v CROSS JOIN (SELECT unnest([0, 1]) AS n)
)""",
    },
    "score_distribution": {"attribute": "hateful", "bins": "[0.1, 0.2, 0.3, 0.4, 0.5]"},
    "self_similarity": {"images": _VECTORS},
    "similarity_bias": {"images": _VECTORS, "categories": _DIRECTIONS},
    "so_b_it": {"images": _VECTORS, "words": _DIRECTIONS},
    "subject_alterations": {"pairs": _PAIRS},
    "subject_errors": {
        "alterations": f"altered_words({_PAIRS})",
        "answers": """(
  SELECT
    caption_id AS pair_id, 'original' AS side, 'ann' AS annotator,
    CASE WHEN caption_id % 4 = 0 THEN 'neither' ELSE 'original' END AS answer
  FROM captions
)""",
    },
    "topic_pmi": {
        "features": "(SELECT image_id, sae, concept AS feature FROM category_concepts CROSS JOIN (SELECT unnest([1, 2]) AS sae))",
        "shares": """(
  SELECT DISTINCT 0.5 AS step, sae, concept AS feature, concept AS cluster, 1.0 AS share
  FROM category_concepts CROSS JOIN (SELECT unnest([1, 2]) AS sae)
)""",
        "clusters": "(SELECT DISTINCT 0.5 AS step, concept AS cluster, concept AS topic FROM category_concepts)",
    },
    "weat": {
        "vectors": """(
  SELECT
    CASE
      WHEN w.word IN ('umbrella', 'bench') THEN 'x' WHEN w.word IN ('laptop', 'bicycle') THEN 'y'
      WHEN w.word IN ('woman', 'girl') THEN 'a' ELSE 'b'
    END AS class,
    list(CAST(h.concept IS NOT NULL AS FLOAT) ORDER BY i.image_id) AS embedding
  FROM (SELECT unnest(['umbrella', 'bench', 'laptop', 'bicycle', 'woman', 'girl', 'man', 'boy']) AS word) AS w
  CROSS JOIN images AS i
  LEFT JOIN word_concepts AS h ON h.image_id = i.image_id AND h.concept = w.word
  GROUP BY w.word
)"""
    },
    "win_rates": {
        "judgements": """(
  SELECT
    image_id, 'one' AS first, 'other' AS second,
    CASE image_id % 3 WHEN 0 THEN 'tie' WHEN 1 THEN 'one' ELSE 'other' END AS winner
  FROM images
)"""
    },
}
"""Of audits that need some: what their examples give them, of the tour's lake."""


def prepare(folder: Path) -> Path:
    """Make the copy of the tour's lake that some examples ask, in its folder; returns where it is.

    Args:
        folder: The one that holds ``sample.lake``.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for commands in BEFORE.values():
        for command in commands:
            words = ["bash", "-c", command]
            subprocess.run(words, check=True, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.DEVNULL)
    return folder / "asked.lake"


def parameters(known: Iterable[QueryParameter]) -> str:
    """Return a table of parameters: name, type, default, what it may be and is about; then their values in papers."""
    rows = [
        (
            code(p.name),
            cell(p.type + (f" ({', '.join(p.columns)})" if p.columns else "")),
            "required" if describe.required(p) else code(str(p.default)),
            cell("; ".join(part for part in (p.about, p.bounds, _free(p)) if part)),
        )
        for p in known
    ]
    values = [(code(s.name), code(p.name), code(str(s.value)), cell(s.source)) for p in known for s in p.presets]
    return "\n\n".join(
        part
        for part in (
            table(("parameter", "type", "default", "what it is"), rows),
            values and "With `preset`, values as papers have them:",
            table(("preset", "parameter", "value", "source"), values),
        )
        if part
    )


def _free(parameter: QueryParameter) -> str:
    if parameter.grid is None:
        return ""
    values = ", ".join(map(str, parameter.grid)) or "the default only"
    return f"without a purpose, where perceived labels are counted: {values}"


def audit(query: Query, session: Session | None, links: Mapping[str, str]) -> str:
    """Return the page of an audit.

    Args:
        query: The audit.
        session: Over the lake of the tour, for an example; none without it.
        links: By name of another query: its page.
    """
    needed = [p for p in query.parameters if describe.required(p)]
    example, types = _example(query, session)
    words = " ".join(f"{p.name}=…" for p in needed)
    call = ", ".join(f"{p.name} := …" for p in needed)
    return page(
        query.name,
        f"**{plain(query.doc)}**",
        paragraphs(query.text),
        "## Ask it",
        fence(
            "console",
            f"$ cbal audit LAKE {query.name} {words}".rstrip() + f'\n$ cbal sql LAKE "FROM {query.name}({call})"',
        ),
        "In Python: " + code(f'lake.audit("{query.name}"{"".join(f", {p.name}=…" for p in needed)})'),
        "## Parameters",
        parameters(query.parameters) or "None.",
        "## Columns",
        _columns(query, types),
        "## Example" if example else "",
        example,
        *_ends(query, links),
    )


def _columns(query: Query, types: Mapping[str, str]) -> str:
    names = list(types) or docs_columns.of(query)
    rows = [
        (
            code(n),
            cell(types.get(n, "")),
            cell(docs_units.of(query, n, names)),
            cell(docs_columns.meaning(query, n)),
        )
        for n in names
    ]
    if types:
        return table(("column", "type", "unit", "what it is"), rows)
    return table(("column", "unit", "what it is"), [(n, unit, what) for n, _, unit, what in rows])


def _example(query: Query, session: Session | None) -> tuple[str, dict[str, str]]:
    """Return a call over the tour's lake with its first rows and their chart, and the types of its columns; nothing where it cannot run there."""
    needed = {p.name for p in query.parameters if describe.required(p)}
    given = ARGUMENTS.get(query.name, {})
    if session is None or not needed <= given.keys():
        return "", {}
    try:
        found = session.audit(query.name, max_rows=charts.MOST, **given).to_arrow()
    except CounterbalanceError as error:
        if error.code != "E1102":  # weights of a model that are not here; all else is a mistake in this file
            raise
        return "", {}
    types, rows = {field.name: str(field.type) for field in found.schema}, found.slice(0, _ROWS)
    if not rows.num_rows:
        return "", types
    sink: Any = SimpleNamespace(stream=io.BytesIO())
    empty = [n for n in rows.schema.names if rows[n].null_count == rows.num_rows]
    markdown.write(rows.drop_columns([*empty, "params"]).to_reader(), sink)
    words = " ".join(f"{name}={_quoted(value)}" for name, value in given.items())
    before = BEFORE.get(query.name, ())
    commands = (*before, f"cbal audit {'asked' if before else 'sample'}.lake {query.name} {words}".rstrip())
    return "\n\n".join(
        (
            "Over the lake of the [tour](/tour.md), its first rows, without `params` and columns that are empty in all of them."
            + " What people or models would say of it is made up." * (query.name in _MADE_UP)
            + _INSTEAD.get(query.name, "")
            + (_STANDS_IN if any(_VECTORS in value for value in given.values()) else ""),
            fence("console", "\n".join(f"$ {command}" for command in commands)),
            sink.stream.getvalue().decode(),
            _chart(query, found),
        )
    ), types


def _chart(query: Query, rows: pa.Table) -> str:
    """Return the chart of an example's rows as a report draws it.

    Raises:
        ValueError: No row has a value.
    """
    drawn = charts.draw(rows, behind.keys(query, rows), query.doc, query.name)
    if drawn is None:
        raise ValueError(f"the example of {query.name} has no row with a value: give it other ARGUMENTS")
    rows_drawn = "row with a value, as a report draws it"
    if len(drawn.rows) > 1:
        rows_drawn = f"{len(drawn.rows)} rows with a value, as a report draws them"
    told = f"Its first {rows_drawn}: {drawn.label}."
    return f"{told}\n\n{fence('{raw} html', drawn.wide)}"


def kinds_of_charts(session: Session) -> str:
    """Return a chart of each kind that reports and pages draw, over the lake of the tour, for the gallery."""
    pairs = session.audit("cooccurrence").to_arrow().slice(0, 12)
    boxes = session.sql("SELECT category, count(*) AS count FROM detections GROUP BY ALL ORDER BY ALL").to_arrow()
    found = session.audit("bias_transfer", show="categories", **ARGUMENTS["bias_transfer"]).to_arrow().to_pylist()
    line = [row for row in found if row["fitted"] is not None]
    spots = [scatter.Point(**row) for row in session.sql(_MAP).to_arrow().to_pylist()]
    legend: dict[svg.Tone, str] = {"over": "red is brightest", "under": "blue is brightest", "even": "green is"}
    drawn = {
        "Dots with their 95 % intervals (`cooccurrence`)": charts.draw(pairs, ["label", "concept"], "Objects", "dots"),
        "Bars of counts, which have no interval": charts.draw(boxes, ["category"], "Boxes by category", "bars"),
        "Points of a map, here of pictures by their colours, with the names of groups": scatter.points(
            spots, legend, title="A map", desc=f"{len(spots)} pictures", name="points"
        ),
        "A point a category over two axes, with a fitted line (`bias_transfer`)": transfer.scatter(
            line, name="line", width=svg.WIDE
        ),
    }
    shown = {told: chart.wide if isinstance(chart, charts.Drawn) else chart for told, chart in drawn.items()}
    return "\n\n".join(f"{told}:\n\n{fence('{raw} html', chart)}" for told, chart in shown.items() if chart)


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"\w+", value) else f'"{value}"'


def view(query: Query, links: Mapping[str, str]) -> str:
    """Return the page of a view."""
    return page(
        query.name,
        f"**{plain(query.doc)}**",
        paragraphs(query.text),
        fence("sql", f"FROM {query.signature}"),
        "## Parameters" if query.parameters else "",
        parameters(query.parameters),
        "## Columns",
        ", ".join(map(code, docs_columns.of(query))) + ".",
        *_ends(query, links),
    )


def _ends(query: Query, links: Mapping[str, str]) -> Iterator[str]:
    """Yield what pages of queries end with: source, what it reads and is read by, the SQL."""
    if query.source:
        yield f"## Source\n\n{plain(query.source.strip().rstrip('.'))}."
    yield f"In every release since {query.since}."
    reads, readers = _neighbours(query)
    told = {"Reads": reads, "Read by": readers}
    if reads or readers:
        yield "## Around it"
    for title, names in told.items():
        if names:
            yield f"{title}: " + ", ".join(f"[`{n}`](/{links[n]})" for n in names) + "."
    yield "## SQL"
    yield folded(f"The SQL of {query.name}", fence("sql", query.sql))


def _neighbours(query: Query) -> tuple[list[str], list[str]]:
    reads = _reads()
    return sorted(reads[query.name]), sorted(name for name, found in reads.items() if query.name in found)


@cache
def _reads() -> dict[str, set[str]]:
    """Return by query the names of those that it reads or calls, also in the defaults of its parameters."""
    known = {**queries.queries(), **queries.sql_functions()}
    found = {}
    for name, query in known.items():
        defaults = " ".join(f"FROM {p.default}" for p in query.parameters if p.is_relation)
        pairs = re.findall(r"\b(?:FROM|JOIN)\s+(\w+)|\b(\w+)\(", f"{query.sql} {defaults}")
        words = {word for pair in pairs for word in pair if word} - {p.name for p in query.parameters}
        found[name] = (words & known.keys()) - {name}
    return found


def sql_functions(known: Mapping[str, Query]) -> str:
    """Return the page of the functions that are written in SQL."""
    parts = []
    for query in known.values():
        parts += [
            f"## {query.name}",
            f"**{plain(query.doc)}**",
            fence("sql", f"{query.signature} -> {query.returns}"),
            paragraphs(query.text),
            parameters(query.parameters),
            f"Source: {plain(query.source)}." if query.source else "",
            f"In every release since {query.since}.",
            folded("Its SQL", fence("sql", query.sql)),
        ]
    intro = "A call is put in as plain SQL: `cbal sql LAKE --expand QUERY` shows it. So they run on Spark, too."
    return page("Functions in SQL", intro, *parts)


def recipe(name: str) -> str:
    """Return the page of a recipe."""
    found = recipe_files.recipe(name)
    steps = []
    for number, step in enumerate(found.steps, start=1):
        steps += [f"{number}. **{step.name}**: {plain(step.doc)}"]
    needed = " ".join(f"--param {p.name}=…" for p in found.parameters if describe.required(p))
    body = "\n\n".join(f"-- step {s.name}: {s.doc}\n" + ";\n".join(s.statements) + ";" for s in found.steps)
    return page(
        found.name,
        f"**{plain(found.doc)}**",
        paragraphs(found.text),
        fence(
            "console",
            f"$ cbal recipe LAKE {name} --dry-run\n$ cbal recipe LAKE {name} {needed}".rstrip(),
        ),
        "## Steps",
        "\n".join(steps),
        "## Parameters" if found.parameters else "",
        parameters(found.parameters),
        f"## Source\n\n{plain(found.source.strip())}." if found.source else "",
        "## SQL",
        folded(f"The steps of {name}", fence("sql", body)),
    )
