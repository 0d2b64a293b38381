"""Sparse autoencoders: they find planted directions, their folder says what numpy says of them, and training can be run again."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from copies import filled

from counterbalance.engine.errors import FunctionError, NotFoundError, RequestError
from counterbalance.engine.functions import function
from counterbalance.udfs.models import sae_vectors
from counterbalance.udfs.models.sae_model import STRIDE

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
from counterbalance.udfs.models.sae_training import train_sae  # noqa: E402

WIDTH, PLANTED, ROWS = 16, 24, 1500
SMALL = {"steps": 40, "batch_size": 64, "expansion": 2, "k": 2, "kinds": "top_k"}


@pytest.fixture(scope="module")
def truth():
    """Directions, and vectors that are sums of two of them; every 50th row has none."""
    draw = np.random.default_rng(0)
    directions = draw.standard_normal((PLANTED, WIDTH))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    codes = np.zeros((ROWS, PLANTED))
    for row in codes:
        row[draw.choice(PLANTED, 2, replace=False)] = draw.uniform(0.5, 1.5, 2)
    vectors = (codes @ directions + 0.3).astype(np.float32)
    return directions, [None if i % 50 == 7 else v.tolist() for i, v in enumerate(vectors)]


@pytest.fixture
def lake(kept, disk_lake, build, row_function, truth):
    vectors = truth[1]
    row_function("planted_vector", lambda text: vectors[int(text)], returns=pa.list_(pa.float32(), WIDTH))

    def fill(lake):
        ids = list(range(ROWS))
        captions = build.captions(caption_id=ids, image_id=[1] * ROWS, text=[str(i) for i in ids])
        lake.ingest({"images": build.images(image_id=[1], key=["one"]), "captions": captions})
        lake.add_column("captions", "embedding", "planted_vector(text)")
        lake.refresh("captions.embedding", executor="inline")

    return filled(kept, disk_lake, fill)


def weights(folder):
    from safetensors.numpy import load_file

    return {p.stem: load_file(p) for p in folder.glob("*.safetensors")}


def activations(parts, kind, k, vectors):
    """What encodes a vector, in double precision."""
    parts = {n: v.astype(np.float64) for n, v in parts.items()}
    dense = np.maximum((vectors - parts["center"]) @ parts["encoder.weight"].T + parts["encoder.bias"], 0)
    if kind == "batch_top_k":
        return np.where(dense > parts["threshold"], dense, 0)
    kept = np.argsort(-dense, axis=1)[:, :k]
    found = np.zeros_like(dense)
    np.put_along_axis(found, kept, np.take_along_axis(dense, kept, 1), 1)
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """One training for several tests: its folder and report, made by the first that asks."""
    return {"folder": tmp_path_factory.mktemp("trained") / "sae"}


@pytest.fixture
def both(trained, lake):
    if "report" not in trained:
        grid = {"kinds": ["top_k", "batch_top_k"], "expansion": [3], "k": [2], "lr": [0.01]}
        trained["report"] = train_sae(
            lake, vectors="captions", output=trained["folder"], steps=400, batch_size=128, **grid
        )
    return trained["folder"], trained["report"].to_pylist()


def test_planted_directions_are_found(both, truth):
    folder, _ = both
    for name, parts in weights(folder).items():
        decoder = parts["decoder.weight"]
        assert np.linalg.norm(decoder, axis=0) == pytest.approx(np.ones(3 * WIDTH), abs=1e-5)
        best = (truth[0] @ decoder).max(axis=1)
        assert (best > 0.9).mean() > 0.8, (name, np.sort(best))
    chance = np.random.default_rng(1).standard_normal((WIDTH, 3 * WIDTH))
    chance /= np.linalg.norm(chance, axis=0)
    assert ((truth[0] @ chance).max(axis=1) > 0.9).mean() < 0.2


def test_the_report_is_what_numpy_says(both, truth):
    folder, report = both
    there = np.array([i for i, v in enumerate(truth[1]) if v is not None])
    vectors = np.array([truth[1][i] for i in there])
    held = there % 20 == 19
    learned = vectors[~held]
    assert [r["sae"] for r in report] == [0, 1]
    for row in report:
        name = f"{row['kind']}-x3-k2-lr0.01-s0"
        parts = weights(folder)[name]
        assert parts["center"].shape == learned.mean(0).shape
        codes = activations(parts, row["kind"], 2, vectors)
        again = codes[held] @ parts["decoder.weight"].T.astype(np.float64) + parts["center"]
        errors = ((vectors[held] - again) ** 2).sum(1)
        spread = ((vectors[held] - vectors[held].mean(0)) ** 2).sum(1)
        assert row["mse"] == pytest.approx(errors.mean(), rel=1e-4)
        assert row["explained"] == pytest.approx(1 - errors.mean() / spread.mean(), abs=1e-4)
        assert row["dead"] == int((codes == 0).all(0).sum())
        assert row["dead_share"] == row["dead"] / 48
        assert row["active"] == pytest.approx((codes > 0).sum(1).mean(), abs=1e-3)
        assert (row["vectors"], row["held_out"], row["features"]) == (len(there), int(held.sum()), 48)
        assert row["explained"] > 0.8
        assert row["active"] == pytest.approx(2, abs=0.5)


def test_features_of_vectors(both, lake, truth):
    folder, report = both
    lake.add_column("captions", "features", f"sae_features(embedding, '{folder}')")
    lake.refresh("captions.features", executor="inline")
    rows = lake.sql("SELECT caption_id, features FROM captions ORDER BY caption_id").to_arrow().to_pylist()
    there = np.array([v for v in truth[1] if v is not None])
    names = [f"{r['kind']}-x3-k2-lr0.01-s0" for r in report]
    codes = [activations(weights(folder)[n], r["kind"], 2, there) for n, r in zip(names, report, strict=True)]
    at = 0
    for row in rows:
        if truth[1][row["caption_id"]] is None:
            assert row["features"] is None
            continue
        wanted = {s * STRIDE + int(f): c[at, f] for s, c in enumerate(codes) for f in np.flatnonzero(c[at] > 1e-4)}
        got = {f["feature"]: f["activation"] for f in row["features"]}
        assert list(got) == sorted(got)
        assert {f: a for f, a in got.items() if a > 2e-4}.keys() <= wanted.keys()
        assert all(got[f] == pytest.approx(a, abs=1e-4) for f, a in wanted.items())
        at += 1
    again = train_sae(lake, vectors="captions", output=folder, steps=400, batch_size=128, lr=0.01, expansion=3, k=2)
    assert not any(again["trained"].to_pylist()), "another column makes no other autoencoders"


def test_rows_that_cannot_be_encoded(both):
    folder, _ = both
    opened = function("sae_features").open({"checkpoint": str(folder)}, "cpu")
    good = [0.1 * i for i in range(WIDTH)]
    given = pa.array([good, None, good[:-1], [float("nan"), *good[1:]], good], pa.list_(pa.float32()))
    found = opened([given])
    alone = opened([given.slice(4)])
    assert sorted(found.errors) == [2, 3]
    assert [v is None for v in found.values.to_pylist()] == [False, True, True, True, False]
    first, last, single = (
        {f["feature"]: f["activation"] for f in v.as_py()} for v in (found.values[0], found.values[4], alone.values[0])
    )
    assert first == last == pytest.approx(single, abs=1e-5)
    assert len(first) > 2
    assert opened([given.slice(1, 1)]).values.to_pylist() == [None]
    opened.close()


def test_a_seed_decides_everything(lake, tmp_path):
    def run(name, **more):
        train_sae(lake, vectors="captions", output=tmp_path / name, **SMALL, **more)
        return {p.name: p.read_bytes() for p in (tmp_path / name).glob("*.safetensors")}

    one, other, third = run("a", seeds=[3]), run("b", seeds=[3]), run("c", seeds=[4])
    assert one == other
    assert list(one.values()) != list(third.values())


def test_a_folder_with_these_very_autoencoders_is_left_alone(lake, tmp_path):
    folder = tmp_path / "sae"

    def run(**more):
        return train_sae(lake, vectors="captions", output=folder, **{**SMALL, **more})

    first = run()
    before = {p.name: (p.stat().st_mtime_ns, p.stat().st_ino) for p in folder.iterdir()}
    second = run()
    assert {p.name: (p.stat().st_mtime_ns, p.stat().st_ino) for p in folder.iterdir()} == before
    assert (first["trained"].to_pylist(), second["trained"].to_pylist()) == ([True], [False])
    assert first.drop_columns("trained").equals(second.drop_columns("trained"))
    assert list(tmp_path.glob(".sae*")) == []
    with pytest.raises(RequestError, match="something else") as caught:
        run(k=3)
    assert caught.value.code == "E3559"
    lake.ingest({"captions": lake_rows(lake)})
    lake.refresh("captions.embedding", executor="inline")
    with pytest.raises(RequestError, match="something else"):
        run()


def lake_rows(lake):
    """A caption more."""
    whole = lake.sql("SELECT caption_id, image_id, text FROM captions LIMIT 1").to_arrow()
    return pa.table({"caption_id": pa.array([9999]), "image_id": whole["image_id"], "text": pa.array(["3"])})


def test_what_a_killed_training_had_finished_is_taken_up(lake, tmp_path):
    folder = tmp_path / "sae"
    stages = []

    def stop(event):
        if "2 of 3" in event.stage and event.done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_sae(lake, vectors="captions", output=folder, seeds=[0, 1, 2], progress=stop, **SMALL)
    assert not folder.exists()
    train_sae(
        lake, vectors="captions", output=folder, seeds=[0, 1, 2], progress=lambda e: stages.append(e.stage), **SMALL
    )
    assert {s.partition(",")[0] for s in stages} == {"autoencoder 2 of 3", "autoencoder 3 of 3"}
    whole = tmp_path / "whole"
    train_sae(lake, vectors="captions", output=whole, seeds=[0, 1, 2], **SMALL)
    assert json.loads((folder / "config.json").read_text()) == json.loads((whole / "config.json").read_text())
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {p.name: p.read_bytes() for p in whole.iterdir()}


def test_every_row_is_learned_from_once_an_epoch(lake, truth, monkeypatch, tmp_path):
    monkeypatch.setattr(sae_vectors, "BLOCK", 100)
    monkeypatch.setattr(sae_vectors, "POOL", 4)
    with lake.session() as session:
        given = sae_vectors.read(session, lake.location, "captions", "embedding", tmp_path)
    wanted = Counter(tuple(np.float32(v)) for i, v in enumerate(truth[1]) if v is not None and i % 20 != 19)
    assert given.learned == wanted.total()
    whole = given.learned // 57
    batches = list(islice(given.batches(0, 57), 2 * whole))
    assert {b.shape for b in batches} == {(57, WIDTH)}
    epoch = [tuple(r) for b in batches[:whole] for r in b]
    assert Counter(epoch) <= wanted, "none twice, none that is held out; the rest joins the next epoch"
    assert {tuple(r) for b in batches for r in b} == set(wanted)
    other = [tuple(r) for b in islice(given.batches(1, 57), whole) for r in b]
    assert other != epoch == [tuple(r) for b in islice(given.batches(0, 57), whole) for r in b]
    vectors = np.array(list(wanted))
    assert given.center == pytest.approx(vectors.mean(0), abs=1e-6)
    assert given.variance == pytest.approx(((vectors - vectors.mean(0)) ** 2).sum(1).mean(), rel=1e-6)


def test_a_query_is_as_good_as_a_table(lake, tmp_path):
    query = "(SELECT embedding AS v FROM captions ORDER BY caption_id)"
    train_sae(lake, vectors="captions", output=tmp_path / "table", **SMALL)
    report = train_sae(lake, vectors=query, column="v", output=tmp_path / "query", **SMALL)
    assert report["trained"].to_pylist() == [True]
    (wanted,), (found,) = (weights(tmp_path / n).values() for n in ("table", "query"))
    assert all(np.array_equal(wanted[n], found[n]) for n in wanted)
    again = train_sae(lake, vectors=query, column="v", output=tmp_path / "table", **SMALL)
    assert again["trained"].to_pylist() == [False]
    half = "(SELECT embedding FROM captions WHERE caption_id % 2 = 1)"
    assert train_sae(lake, vectors=half, output=tmp_path / "half", **SMALL)["vectors"].to_pylist() == [720]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"kinds": ["top"]}, "E3051"),
        ({"lr": [0]}, "E3051"),
        ({"lr": []}, "E3051"),
        ({"expansion": [1.5]}, "E3051"),
        ({"k": [0]}, "E3051"),
        ({"k": [10_000]}, "E3051"),
        ({"expansion": [1 << 17]}, "E3051"),
        ({"steps": 0}, "E3051"),
        ({"vectors": "nothing"}, "E1311"),
        ({"vectors": "(SELECT text AS embedding FROM captions)"}, "E3713"),
        ({"vectors": "(SELECT text FROM captions)"}, "E1311"),
        ({"vectors": "(SELECT embedding FROM captions WHERE caption_id < 50)"}, "E3714"),
        ({"column": "embeding"}, "E1311"),
        ({"column": "text"}, "E3713"),
        ({"vectors": "few"}, "E3714"),
    ],
)
def test_what_makes_no_sense(lake, tmp_path, given, code):
    if given.get("vectors") == "few":
        lake.create_materialized_view(
            "few", "SELECT caption_id, embedding FROM captions WHERE caption_id < 50", key="caption_id"
        )
        lake.refresh("few", executor="inline")
    with pytest.raises((RequestError, NotFoundError)) as caught:
        train_sae(lake, **{"vectors": "captions", "output": tmp_path / "sae", **SMALL, **given})
    assert caught.value.code == code
    assert list(tmp_path.glob("*sae*")) == []


def test_vectors_of_what_is_no_number(lake, tmp_path, row_function):
    kind = pa.list_(pa.float32(), 2)
    row_function("broken_vector", lambda text: [float(text), float("nan")], returns=kind)
    lake.add_column("captions", "broken", "broken_vector(text)")
    lake.refresh("captions.broken", executor="inline")
    with pytest.raises(RequestError) as caught:
        train_sae(lake, vectors="captions", column="broken", output=tmp_path / "sae", **{**SMALL, "expansion": 4})
    assert caught.value.code == "E3702"


def test_training_that_diverges_says_so(lake, tmp_path):
    with pytest.raises(FunctionError, match="diverged in step") as caught:
        train_sae(lake, vectors="captions", output=tmp_path / "sae", **{**SMALL, "lr": 1e30})
    assert caught.value.code == "E8310"
    assert not (tmp_path / "sae").exists()


def test_what_is_no_folder_of_autoencoders(both, tmp_path):
    (tmp_path / "empty").mkdir()
    shutil.copytree(both[0], tmp_path / "torn")
    next((tmp_path / "torn").glob("*.safetensors")).unlink()
    call = function("sae_features")
    for name, code in (("nowhere", "E1310"), ("empty", "E3710"), ("torn", "E3710")):
        with pytest.raises((RequestError, NotFoundError)) as caught:
            call.open({"checkpoint": str(tmp_path / name)}, "cpu")
        assert caught.value.code == code
