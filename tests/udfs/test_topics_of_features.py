"""Clusters of topics, what features stand for, and their PMI with labels: as plain loops and dense matrices have it."""

from __future__ import annotations

import json
import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.udfs.models.sae_model import STRIDE
from counterbalance.udfs.topics import cluster_topics, name_features

WIDTH, EXPANSION, STEPS = 6, 3, 5
SAES = ("top_k", "batch_top_k")
NAMES = [*"gbkdqa", "Z", "éclair", "cats, dogs", "m n"]
LABELS = ("female", "male", "other")


@pytest.fixture(scope="module")
def vectors():
    """Vectors of names around three points, so that thresholds from .5 to .99 cut them differently."""
    draw = np.random.default_rng(1)
    points = draw.standard_normal((3, WIDTH))
    return {n: points[i % 3] + 0.45 * draw.standard_normal(WIDTH) for i, n in enumerate(NAMES)}


@pytest.fixture(scope="module")
def decoders():
    return [np.random.default_rng(9 + n).standard_normal((WIDTH, WIDTH * EXPANSION)) for n in range(len(SAES))]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, decoders):
    files = pytest.importorskip("safetensors.numpy")
    folder = tmp_path_factory.mktemp("sae")
    members = []
    for kind, decoder in zip(SAES, decoders, strict=True):
        name = f"{kind}-x{EXPANSION}-k2-lr0.1-s0"
        parts = {
            "encoder.weight": decoder.T,
            "encoder.bias": np.zeros(decoder.shape[1]),
            "decoder.weight": decoder,
            "center": np.zeros(WIDTH),
            "threshold": np.zeros(()),
        }
        files.save_file(
            {k: np.ascontiguousarray(v, np.float32) for k, v in parts.items()}, folder / f"{name}.safetensors"
        )
        settings = {"kind": kind, "lr": 0.1, "expansion": EXPANSION, "k": 2, "seed": 0}
        members.append({"name": name, "settings": settings})
    config = {"format": "counterbalance sparse autoencoders 1", "width": WIDTH, "members": members}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def cosine(a, b):
    return float(np.dot(a, b) / math.sqrt(np.dot(a, a)) / math.sqrt(np.dot(b, b)))


def naive_clusters(vectors, threshold):
    left, found = sorted(vectors), []
    while left:
        members = [left.pop(0)]
        for name in list(left):
            if all(cosine(vectors[name], vectors[m]) > threshold for m in members):
                members.append(name)
                left.remove(name)
        found.append(members)
    return found


def lists(names, vectors):
    return pa.array([names]), pa.array([[vectors[n].tolist() for n in names]], pa.list_(pa.list_(pa.float32())))


def test_clusters_are_greedy_in_alphabetical_order(vectors):
    rounded = {n: v.astype(np.float32) for n, v in vectors.items()}
    (found,) = cluster_topics(*lists(NAMES, vectors), least=0.5, most=0.99, steps=STEPS).to_pylist()
    wanted = [
        (step + 1, pytest.approx(threshold), ", ".join(members), topic)
        for step, threshold in enumerate(np.linspace(0.5, 0.99, STEPS))
        for members in naive_clusters(rounded, threshold)
        for topic in members
    ]
    key = lambda row: (row[0], row[3])  # noqa: E731
    assert [tuple(r.values()) for r in found] == sorted(wanted, key=key)
    sizes = [len({r["cluster"] for r in found if r["step"] == s + 1}) for s in range(STEPS)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == len(NAMES)


def test_clusters_do_not_depend_on_the_order_of_topics(vectors):
    assert cluster_topics(*lists(NAMES[::-1], vectors)).equals(cluster_topics(*lists(NAMES, vectors)))


def test_similar_to_one_member_is_not_enough():
    chain = {"a": np.array([1.0, 0.0]), "b": np.array([0.8, 0.6]), "c": np.array([0.28, 0.96])}
    (found,) = cluster_topics(*lists(list("abc"), chain), least=0.7, most=0.7, steps=1).to_pylist()
    assert [(r["cluster"], r["topic"]) for r in found] == [("a, b", "a"), ("a, b", "b"), ("c", "c")]


def test_features_stand_for_the_nearest_topics(vectors, decoders, checkpoint):
    (found,) = name_features(*lists(NAMES, vectors), checkpoint, keep=3).to_pylist()
    got = defaultdict(list)
    for row in found:
        got[row["sae"], row["feature"]].append((row["cluster"], row["cosine"], row["share"]))
    for sae, decoder in enumerate(decoders):
        for feature in range(decoder.shape[1]):
            near = sorted(((cosine(decoder[:, feature], v), n) for n, v in vectors.items()), reverse=True)[:3]
            near = [(n, c) for c, n in near if c > 0]
            total = sum(c for _, c in near)
            wanted = [(n, pytest.approx(c, abs=1e-6), pytest.approx(c / total, abs=1e-6)) for n, c in near]
            assert got[sae, sae * STRIDE + feature] == wanted
    assert min(len(v) for v in got.values()) < 3, "some are near to fewer topics"


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda n, v, c: cluster_topics(n, v, least=0.9, most=0.8), RequestError, "E3051"),
        (lambda n, v, c: cluster_topics(n, v, steps=0), RequestError, "E3051"),
        (lambda n, v, c: cluster_topics(pa.array([["a"]]), v), RequestError, "E3717"),
        (lambda n, v, c: cluster_topics(pa.array([["a", "a"]]), pa.array([[[1.0], [2.0]]])), RequestError, "E3717"),
        (lambda n, v, c: cluster_topics(pa.array([["a", "b"]]), pa.array([[[1.0], []]])), RequestError, "E3717"),
        (lambda n, v, c: name_features(n, v, c, keep=0), RequestError, "E3051"),
        (lambda n, v, c: name_features(pa.array([["a"]]), pa.array([[[1.0]]]), c), RequestError, "E3700"),
        (lambda n, v, c: name_features(n, v, c + "x"), NotFoundError, "E1310"),
    ],
)
def test_what_makes_no_sense(vectors, checkpoint, call, kind, code):
    with pytest.raises(kind) as caught:
        call(*lists(NAMES, vectors), checkpoint)
    assert caught.value.code == code


def test_without_topics_there_are_none(checkpoint):
    empty = pa.array([[], None], pa.list_(pa.string())), pa.array([[], None], pa.list_(pa.list_(pa.float32())))
    assert cluster_topics(*empty).to_pylist() == [[], None]
    assert name_features(*empty, checkpoint).to_pylist() == [[], None]


@pytest.fixture(scope="module")
def data(vectors, checkpoint):
    """Items with active features, their images' labels, and what features stand for."""
    draw = np.random.default_rng(5)
    images = 300
    labels = draw.choice([*LABELS, "unclear"], images, p=[0.4, 0.3, 0.2, 0.1])
    rows = [
        {"item_id": i, "image_id": i // 2, "sae": s, "feature": s * STRIDE + int(f), "activation": float(draw.random())}
        for i in range(2 * images)
        for s in range(2)
        for f in draw.choice(WIDTH * EXPANSION - 4, 3, replace=False, p=_preferred(labels[i // 2]))
    ]
    (clusters,) = cluster_topics(*lists(NAMES, vectors), least=0.5, most=0.99, steps=STEPS).to_pylist()
    shares = []
    for step in range(1, STEPS + 1):
        names = sorted({r["cluster"] for r in clusters if r["step"] == step})
        means = {c: np.mean([vectors[r["topic"]] for r in clusters if r["cluster"] == c], axis=0) for c in names}
        shares += [{"step": step, **r} for r in name_features(*lists(names, means), checkpoint, keep=2).to_pylist()[0]]
    groups = pa.table({"image_id": np.arange(images), "label": labels.tolist()})
    return {
        "features": pa.Table.from_pylist(rows),
        "shares": pa.Table.from_pylist(shares),
        "clusters": pa.Table.from_pylist(clusters),
        "groups": groups,
    }


def _preferred(label):
    weights = np.ones(WIDTH * EXPANSION - 4)
    weights[["female", "male", "other", "unclear"].index(label) :: 4] = 5
    return weights / weights.sum()


def notebook(data, smoothing=1.0):
    """PMI of labels and clusters by step and autoencoder from dense matrices, as the released code computes it."""
    label = dict(zip(data["groups"]["image_id"].to_pylist(), data["groups"]["label"].to_pylist(), strict=True))
    found, expected = {}, {}
    for sae in range(2):
        counts = np.zeros((WIDTH * EXPANSION, len(LABELS)))
        for row in data["features"].to_pylist():
            if row["sae"] == sae and label[row["image_id"]] in LABELS:
                counts[row["feature"] % STRIDE, LABELS.index(label[row["image_id"]])] += 1
        p_f = counts.sum(1) / counts.sum()
        p_i = (counts + smoothing) / (counts + smoothing).sum(1, keepdims=True)
        for step in range(1, STEPS + 1):
            rows = [r for r in data["shares"].to_pylist() if r["step"] == step]
            names = sorted({r["cluster"] for r in rows})
            p_t = np.zeros((len(p_f), len(names)))
            for row in rows:
                if row["sae"] == sae:
                    p_t[row["feature"] % STRIDE, names.index(row["cluster"])] = row["share"]
            joint = (p_i * p_f[:, None]).T @ p_t
            alone = np.outer((p_i * p_f[:, None]).sum(0), p_f @ p_t)
            ratio = np.divide(joint, alone, out=np.ones_like(joint), where=alone > 0)
            for at, name in enumerate(names):
                found[sae, step, name] = np.log(ratio[:, at])
                expected[sae, step, name] = counts.T @ p_t[:, at]
    return found, expected


def by_hand(data, rule, best):
    pmi, counts = notebook(data)
    clusters = data["clusters"].to_pylist()
    scores, soft = defaultdict(lambda: np.zeros((2, len(LABELS)))), defaultdict(lambda: np.zeros(len(LABELS)))
    for step in range(1, STEPS + 1):
        names = sorted({n for _, s, n in pmi if s == step})
        mean = np.array([(pmi[0, step, n] + pmi[1, step, n]) / 2 for n in names])
        chosen = np.ones_like(mean, bool)
        if rule == "best":
            chosen = np.argsort(np.argsort(-mean, axis=0, kind="stable"), axis=0) < best
        for row in clusters:
            if row["step"] == step and row["cluster"] in names:
                at = names.index(row["cluster"])
                for sae in range(2):
                    scores[row["topic"]][sae] += pmi[sae, step, names[at]] * chosen[at] / STEPS
                    soft[row["topic"]] += counts[sae, step, names[at]] / STEPS / 2
    rows = []
    for topic, values in scores.items():
        for i, label in enumerate(LABELS):
            mean, error = values[:, i].mean(), values[:, i].std(ddof=1) / math.sqrt(2)
            half = scipy.stats.t.ppf(0.975, 1) * error
            rows.append((label, topic, mean, mean - half, mean + half, soft[topic][i]))
    return rows


@pytest.mark.parametrize(("rule", "best"), [("all", 25), ("best", 2)])
def test_pmi_is_that_of_dense_matrices(empty_lake, build, data, rule, best):
    empty_lake.ingest({"images": build.images(image_id=list(range(300)), key=[str(i) for i in range(300)])})
    got = empty_lake.audit("topic_pmi", **data, rule=rule, best=best, top=100, min_count=1).to_arrow().to_pylist()
    wanted = {(r[0], r[1]): r for r in by_hand(data, rule, best)}
    if rule == "all":
        assert {(r["label"], r["topic"]) for r in got} == {k for k, r in wanted.items() if r[5] >= 1}
    assert len(got) >= 8
    for row in got:
        _, _, score, low, high, count = wanted[row["label"], row["topic"]]
        assert row["score"] == pytest.approx(score, abs=1e-9)
        assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
        assert row["count"] == pytest.approx(count, abs=1e-6)
    for label in LABELS:
        own = [r for r in got if r["label"] == label]
        assert [r["rank"] for r in own] == list(range(1, len(own) + 1))
        assert [r["score"] for r in own] == sorted((r["score"] for r in own), reverse=True)
    if rule == "best":
        left = {(r["label"], r["topic"]) for r in got}
        assert all(r[2] == 0 for k, r in wanted.items() if k not in left and r[5] >= 1), (
            "nothing of theirs is among the best"
        )


def test_the_paper_counts_all_clusters_and_the_notebook_25(empty_lake, data):
    def rows(**more):
        found = empty_lake.audit("topic_pmi", **data, min_count=1, **more).to_arrow()
        return found.drop_columns(["params"]).to_pylist()

    empty_lake.ingest({"images": pa.table({"image_id": list(range(300))})})
    assert rows(preset="paper") == rows(rule="all", smoothing=0, top=20)
    assert rows(preset="code") == rows(rule="best", best=25, smoothing=1, top=20)


def test_small_pairs_are_left_out(empty_lake, build, data):
    empty_lake.ingest({"images": build.images(image_id=list(range(300)), key=[str(i) for i in range(300)])})
    found = empty_lake.audit("topic_pmi", **data, top=100, min_count=40).to_arrow().to_pylist()
    wanted = by_hand(data, "all", 25)
    counts = defaultdict(dict)
    for label, topic, *_, count in wanted:
        counts[topic] |= {label: count} if count > 0 else {}
    few = {topic for topic, own in counts.items() if min(own.values()) < 40}
    shown = {(r["label"], r["topic"]) for r in found}
    every = {(label, topic) for topic, own in counts.items() for label in own}
    assert {(label, topic) for label, topic in every if topic not in few} <= shown <= every
    for topic in few:  # the pmi of the others would tell a small count, were it alone
        hidden = [count for label, count in counts[topic].items() if (label, topic) not in shown]
        assert len(hidden) >= 2
        assert sum(hidden) >= 40
    assert {r["n_suppressed"] for r in found} == {len(every) - len(shown)}
    assert few
    assert empty_lake.audit("topic_pmi", **data, top=1, min_count=40).to_arrow().num_rows == len({r[0] for r in shown})


def test_texts_that_show_a_topic(empty_lake, build, data):
    ids = list(range(600))
    images = [str(i) for i in range(300)]
    empty_lake.ingest({"images": build.images(image_id=list(range(300)), key=images)})
    empty_lake.ingest(
        {"captions": build.captions(caption_id=ids, image_id=[i // 2 for i in ids], text=[f"text {i}" for i in ids])}
    )
    with empty_lake.session() as session:
        names = [session.bind(name, data[name]) for name in ("features", "shares", "clusters")]
        got = session.sql(
            f"SELECT * FROM topic_examples((SELECT caption_id AS item_id, image_id, text FROM captions), {', '.join(names)}, k := 3) "
            "ORDER BY topic, rank"
        ).fetchall()
    shares = {(r["feature"], r["cluster"]): r["share"] for r in data["shares"].to_pylist() if r["step"] == STEPS}
    scores = defaultdict(float)
    for row in data["features"].to_pylist():
        for topic in NAMES:  # at the highest threshold each is alone
            if (row["feature"], topic) in shares:
                scores[topic, row["item_id"]] += row["activation"] * shares[row["feature"], topic] / 2
    for topic in NAMES:
        best = sorted(((s, -i) for (t, i), s in scores.items() if t == topic), reverse=True)[:3]
        wanted = [
            (topic, n + 1, -i, -i // 2, f"text {-i}", pytest.approx(s, abs=1e-6)) for n, (s, i) in enumerate(best)
        ]
        assert [r for r in got if r[0] == topic] == wanted


def test_sparse_rows(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    items = (
        "(SELECT 7 AS item_id, 1 AS image_id, [{'feature': 3, 'activation': 0.5}, {'feature': 2097153, 'activation': 2.0}] "
        "AS features UNION ALL SELECT 8, 1, [] UNION ALL SELECT 9, 1, NULL)"
    )
    rows = empty_lake.sql(f"SELECT * FROM feature_rows({items}) ORDER BY ALL").fetchall()
    assert [tuple(map(float, r)) for r in rows] == [(7, 1, 0, 3, 0.5), (7, 1, 2, 2 * STRIDE + 1, 2)]


def test_the_functions_are_known():
    assert {"cluster_topics", "name_features", "sae_features"} <= set(cb.functions())


def test_five_autoencoders_by_hand(empty_lake, build):
    """Feature 0 of each is active for label a alone and stands for t, only in the first one at the second threshold as well."""
    empty_lake.ingest({"images": build.images(image_id=list(range(61)), key=[str(i) for i in range(61)])})
    rows, score = [], {("a", "t"): [], ("b", "t"): [], ("a", "u"): [], ("b", "u"): []}
    for sae in range(5):
        active = {"t": (12 + sae, 0), "u": (3 * sae, 20 - sae)}  # of a and of b
        for feature, counts in enumerate(active.values()):
            ids = [*range(counts[0]), *range(30, 30 + counts[1])]
            rows += [{"item_id": i, "image_id": i, "sae": sae, "feature": sae * STRIDE + feature} for i in ids]
        total = sum(map(sum, active.values()))
        weight = {t: [sum(n) / total * (c + 1) / (sum(n) + 2) for c in n] for t, n in active.items()}
        for at, label in enumerate("ab"):
            own = sum(w[at] for w in weight.values())
            for topic, w in weight.items():
                steps = 2 if topic == "u" or sae == 0 else 1
                score[label, topic].append(steps / 2 * math.log(w[at] / own / sum(w)))
    given = {
        "features": pa.Table.from_pylist(rows),
        "clusters": pa.table({"step": [1, 1, 2, 2], "cluster": list("tutu"), "topic": list("tutu")}),
        "shares": pa.Table.from_pylist(
            [
                {"step": step, "sae": sae, "feature": sae * STRIDE + f, "cluster": cluster, "share": 1.0}
                for step in (1, 2) for sae in range(5) for f, cluster in enumerate("tu")
                if step == 1 or cluster == "u" or sae == 0
            ]
        ),
        "groups": pa.table({"image_id": [*range(61), 60], "label": ["a"] * 30 + ["b"] * 31 + ["a"]}),
    }  # fmt: skip
    found = empty_lake.audit("topic_pmi", **given, min_count=0).to_arrow().to_pylist()
    assert [(r["label"], r["rank"], r["topic"]) for r in found] == [
        ("a", 1, "t"),
        ("a", 2, "u"),
        ("b", 1, "u"),
        ("b", 2, "t"),
    ]
    for row in found:
        values = score[row["label"], row["topic"]]
        assert row["score"] == pytest.approx(np.mean(values), abs=1e-9)
        half = scipy.stats.t.ppf(0.975, 4) * np.std(values, ddof=1) / math.sqrt(5)
        assert (row["high"] - row["score"], row["score"] - row["low"]) == pytest.approx((half, half), rel=1e-3)
        assert (row["thresholds"], row["saes"], row["n_label"], row["n"], row["n_suppressed"]) == (2, 5, 31, 61, 0)
