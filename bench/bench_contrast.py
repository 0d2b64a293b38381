"""The filter of contrast sets beside scripts and the product alone, and what one percent more sources cost.

*KNN filter*: real and edited boxes as vectors of 512, a fourteenth of them real; shares among the nearest of edits, by
``knn_filter``, by scripts with scikit-learn and faiss, and the product of the matrices alone (the limit). ``full`` has the
papers' 370,000 boxes; so that it ends, the neighbours of 5,000 of the edits are asked for, among all boxes. K = 50 is the
paper's for CLIP, K_R = 5000 for DINO (faiss is asked for 50 only). Shares are told to three digits: float32 distances of
scripts exchange a few neighbours.

*One percent more*: the recipe gensynth, with edits that cost half a millisecond in the place of diffusion, so that what is
left is ours; from nothing, and over a lake where all is done but for one percent of the sources. Both end with the same
set. Edits of c seconds add 16 c for each source of a first run, and for each new one of a later run.

What an edit costs beside the network, and GPU hours of the papers by arithmetic: ``bench_edits``.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

DIMENSIONS = 512
BLOCK = 500
REAL = 14
SIZES = {"small": (8_000, 7_000, 100), "full": (370_000, 5_000, 2_000)}
"""Boxes, edits that are asked about, and sources of the recipe, by scale."""
ONCE = ("full",)
HERE = Path(__file__).parent


def prepare(folder: Path, scale: str) -> None:
    """Vectors in clusters."""
    boxes, asked, sources = SIZES[scale]
    (folder / "contrast.json").write_text(json.dumps({"boxes": boxes, "asked": asked, "sources": sources}))
    path = folder / f"boxes-{boxes}.npy"
    if not path.exists():
        generator = np.random.default_rng(5)
        centres = generator.normal(size=(40, DIMENSIONS)).astype(np.float32)
        made = np.lib.format.open_memmap(path, "w+", np.float32, (boxes, DIMENSIONS))
        for start in range(0, boxes, 10_000):
            part = made[start : start + 10_000]
            part[:] = centres[generator.integers(0, 40, len(part))] + generator.normal(size=part.shape)
            part /= np.linalg.norm(part, axis=1, keepdims=True)


def cases(folder: Path) -> dict[str, Any]:
    """Both, by what ``prepare`` was given."""
    sizes = json.loads((folder / "contrast.json").read_text())
    boxes, asked, sources = sizes["boxes"], sizes["asked"], sizes["sources"]
    shape = f"KNN filter, {asked:,} edits among {boxes:,} boxes x {DIMENSIONS}"
    pool = folder / f"sources-{sources}"

    def opened() -> Any:
        return np.load(folder / f"boxes-{boxes}.npy"), asked

    def compared(k_r: int) -> dict[str, Any]:
        return {
            "counterbalance": (lambda: _relations(*opened()), lambda s: _ours(s, k_r)),
            "the product alone": (opened, _product),
            "scikit-learn, a script": (opened, lambda s: _sklearn(*s, k_r)),
        }

    return {
        f"{shape}, K = 50": {**compared(50), "faiss flat, a script": (opened, lambda s: _faiss(*s, 50))},
        f"{shape}, K_R = 5000, K_G = 50": compared(5000),
        f"gensynth, {sources:,} sources": {
            "one percent more": (Path, lambda _: _recipe(pool / "now"), lambda: _fresh(pool, "most")),
            "from nothing": (Path, lambda _: _recipe(pool / "now"), lambda: _fresh(pool, "none")),
        },
    }


def _labels(count: int) -> tuple[int, Any]:
    return count // REAL, np.where(np.random.default_rng(6).integers(0, 2, count), "female", "male")


def _relations(boxes: Any, asked: int) -> Any:
    import counterbalance as cb

    real, labels = _labels(len(boxes))
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(boxes.reshape(-1)), DIMENSIONS)
    ids = np.arange(len(boxes))
    lake = cb.connect(tempfile.mkdtemp())
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["a"]})})
    session = lake.session().__enter__()
    held = {"detection_id": ids[:real], "label": labels[:real], "embedding": vectors[:real]}
    edited = {"edit_id": ids[real:], "image_id": ids[real:] // 16, "label": labels[real:], "embedding": vectors[real:]}
    some = slice(real, real + asked)
    queries = {"query_id": ids[some], "embedding": vectors[some], "own": ids[some]}
    return session, *(session.bind(n, pa.table(rows)) for n, rows in (("r", held), ("e", edited), ("q", queries)))


def _ours(state: Any, k_r: int) -> list[float]:
    session, real, edited, asked = state
    call = f"knn_filter({real}, {edited}, k_r := {k_r}, asked := {asked})"
    rows = session.sql(
        f"SELECT avg(CAST(accepted AS DOUBLE)), avg(p_real), avg(p_group) FROM {call} WHERE p_real IS NOT NULL"
    ).fetchall()
    return [round(v, 3) for v in rows[0]]


def _product(state: Any) -> None:
    boxes, asked = state
    first = len(boxes) // REAL
    out = np.empty((BLOCK, len(boxes)), np.float32)
    for start in range(first, first + asked, BLOCK):
        block = boxes[start : min(start + BLOCK, first + asked)]
        np.matmul(block, boxes.T, out=out[: len(block)])


def _sklearn(boxes: Any, asked: int, k_r: int) -> list[float]:
    from sklearn.neighbors import NearestNeighbors

    real, _ = _labels(len(boxes))
    near = NearestNeighbors(n_neighbors=k_r + 1, algorithm="brute").fit(boxes)
    return _script(boxes, near.kneighbors(boxes[real : real + asked], return_distance=False))


def _faiss(boxes: Any, asked: int, k_r: int) -> list[float]:
    import faiss

    real, _ = _labels(len(boxes))
    index = faiss.IndexFlatL2(DIMENSIONS)
    index.add(boxes)
    return _script(boxes, index.search(boxes[real : real + asked], k_r + 1)[1])


def _script(boxes: Any, found: Any) -> list[float]:
    """The shares as a script has them, of tables of neighbours, the edit itself among them."""
    real, labels = _labels(len(boxes))
    edits = np.arange(real, real + len(found))[:, None]
    others = np.argsort(found == edits, axis=1, kind="stable")[:, :-1]
    near = np.take_along_axis(found, others, axis=1)
    p_real = (near < real).mean(axis=1)
    p_group = (labels[near[:, :50]] == labels[edits]).mean(axis=1)
    accepted = (p_real > 0.08) & (p_group > 0.5)
    return [round(float(v.mean()), 3) for v in (accepted, p_real, p_group)]


# -- the recipe ----------------------------------------------------------------------------------------------------------


def _ready_lake(folder: Path, sources: int) -> None:
    """Lakes with all sources and nothing done, and with 99 percent done and the rest ingested."""
    import counterbalance as cb

    folder.mkdir()
    text = (HERE.parent / "queries" / "recipes" / "gensynth.sql").read_text(encoding="utf-8")
    start, end = text.index("  instruct_pix2pix("), text.index("\n);\nREFRESH gensynth_requests.edited")
    text = text[:start] + "  bench_edit(image, x, y, width, height, prompt, seed)" + text[end:]
    text = text.replace("embed_image(", "bench_vector(").replace("), $embedder)", "))")
    (folder / "recipe.sql").write_text(text.replace("nsfw_score(edited, $nsfw_model)", "bench_safety(edited)"))
    first = sources - max(1, sources // 100)
    for name in ("none", "most"):
        lake = cb.connect(folder / name)
        lake.ingest(_sources(0, first))
        if name == "most":
            _recipe(folder / name)
        lake.ingest(_sources(first, sources))


def _sources(first: int, last: int) -> dict[str, pa.Table]:
    from PIL import Image

    from counterbalance.engine.schema import BASE_TABLES

    ids = list(range(first, last))
    pictures = []
    for i in ids:
        colour = np.random.default_rng(i).integers(0, 256, 3)
        buffer = io.BytesIO()
        Image.new("RGB", (96, 64), tuple(int(c) for c in colour)).save(buffer, "PNG")
        pictures.append(buffer.getvalue())
    n = len(ids)
    columns: dict[str, dict[str, Any]] = {
        "images": {"image_id": ids, "key": [str(i) for i in ids], "image": pictures},
        "captions": {"caption_id": ids, "image_id": ids, "text": [("a man", "a woman")[i % 2] for i in ids]},
        "detections": {
            "detection_id": ids, "image_id": ids, "category": ["person"] * n,
            "x": [10.0] * n, "y": [10.0] * n, "width": [40.0] * n, "height": [40.0] * n,
        },
    }  # fmt: skip
    return {
        name: pa.table({c: pa.array(v, BASE_TABLES[name].schema(blobs=True).field(c).type) for c, v in held.items()})
        for name, held in columns.items()
    }


def _fresh(pool: Path, name: str) -> None:
    """A copy to work on; what is copied takes minutes to make, so that it is made when it is first wanted."""
    if not pool.exists():
        _ready_lake(pool, int(pool.name.removeprefix("sources-")))
    shutil.rmtree(pool / "now", ignore_errors=True)
    shutil.copytree(pool / name, pool / "now")


def _recipe(lake: Path) -> list[int]:
    import counterbalance as cb

    opened = cb.connect(lake)
    udfs = str(HERE / "functions_of_contrast.py")
    parameters = {"tau_r": -1.0, "tau_g": 0.0}  # every edit looks real enough: what it was painted with tells its group
    opened.recipe(str(lake.parent / "recipe.sql"), parameters, udfs=udfs, refresh={"executor": "inline"})
    rows = opened.sql("SELECT count(*), CAST(sum(edit_id % 1000003) AS BIGINT) FROM gensynth_set").fetchall()
    assert rows[0][0], "a set without edits proves nothing"
    return list(rows[0])
