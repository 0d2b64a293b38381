"""Embedding pictures, exact search and index building on the device that is there, beside their limits.

    python bench/bench_embed.py [--scale tiny|small|full] [--images N] [--items N] [--rounds 3] [--device auto]
        [--only images|knn|index] [--output DIR]

First table: images/s of ``embed_image`` (shapes of ViT-B-32 and ViT-B-16, random weights) once pictures are decoded and
resized, against a bare torch loop over the same pixels and against the model alone with its input on the device; all run in
turn and give the same vectors. *End to end* starts from JPEG bytes of 640 x 480 pixels. Second table: the 10 nearest of all
items by exact search, against the product alone and against reading the items once, both as this device does them. Third
table: k-means and an IVF_RQ index on the GPU against the CPU; on a CPU alone, how long it takes there.

With a GPU, ``--scale full --output bench/results/MACHINE`` is all that is needed. ``tiny``, of a model of 16 dimensions, only
shows that it runs.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
import pyarrow as pa
import results

from counterbalance.engine.functions import function
from counterbalance.engine.search.exact_knn import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = {"tiny": ("tiny",), "small": ("ViT-B-32", "ViT-B-16"), "full": ("ViT-B-32", "ViT-B-16")}
TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": 16, "vocab_size": 64, "width": 32, "heads": 2, "layers": 2},
}
IMAGES = {"cpu": {"tiny": 8, "small": 8, "full": 256}, "cuda": {"tiny": 1024, "small": 4096, "full": 16_384}}
ITEMS = {"tiny": 500, "small": 50_000, "full": 1_000_000}
QUERIES = {"tiny": 20, "cpu": 500, "cuda": 10_000}
BATCH = {"cpu": 8, "cuda": 512}
DIMENSIONS, K = 512, 10
JPEGS = 256
"""Different pictures; more are these again."""


def main() -> None:
    """Parse the command line and run."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=tuple(SHAPES), default="small")
    parser.add_argument("--images", type=int, default=None)
    parser.add_argument("--items", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", choices=("images", "knn", "index"), default=None)
    parser.add_argument("--output", type=Path, default=None, metavar="DIR", help="write results to files, too")
    options = parser.parse_args()
    device = options.device if options.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    device = "cuda:0" if device == "cuda" else device
    kind, scale = device.partition(":")[0], options.scale
    images = options.images or IMAGES[kind][scale]
    items = options.items or ITEMS["full" if kind == "cuda" and scale == "small" else scale]
    queries = QUERIES["tiny" if scale == "tiny" else kind]
    threads = torch.get_num_threads()
    print(f"{_named(device)}, torch {torch.__version__}, {threads} threads\n", flush=True)
    tables = []
    with tempfile.TemporaryDirectory(prefix="counterbalance-bench-") as scratch:
        folder = Path(scratch)
        measured = {
            "images": lambda: [r for s in SHAPES[scale] for r in embedding(folder, s, device, images, options.rounds)],
            "knn": lambda: searching(device, items, queries, options.rounds),
            "index": lambda: building(folder, device, items, options.rounds),
        }
        for name, measure in measured.items():
            if options.only in {None, name}:
                tables.append(measure())
                print(harness.table(tables[-1]) + "\n", flush=True)
    if options.output is not None:
        how = {"scale": scale, "rounds": options.rounds, "device": device, "threads": threads}
        results.write(options.output, "bench_embed", tables, **how)


def _named(device: str) -> str:
    return results.processor() if device == "cpu" else str(results.gpu(device))


def in_turn(contenders: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds of each, and what each gave; one round before is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    answers: dict[str, Any] = {}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            began = time.perf_counter()
            answers[name] = run()
            if number:
                seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(s) for name, s in seconds.items()}, answers


def made(folder: Path, shape: str) -> Path:
    """A folder with a model of that shape and random weights."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    from counterbalance.udfs.models.shared import loading

    torch.manual_seed(0)
    target = folder / shape
    target.mkdir()
    with loading():
        config = TINY if shape == "tiny" else open_clip.get_model_config(shape)
        network = open_clip.CLIP(**TINY) if shape == "tiny" else open_clip.create_model(shape, load_weights=False)
    save_file(network.state_dict(), target / "open_clip_model.safetensors")
    described = {"model_cfg": config, "preprocess_cfg": {}}
    (target / "open_clip_config.json").write_text(json.dumps(described))
    return target


def pictures(count: int) -> list[bytes]:
    """JPEGs of 640 x 480 pixels with waves and noise, about as large as photographs."""
    from PIL import Image

    rng = np.random.default_rng(0)
    y, x = np.mgrid[:480, :640]
    found = []
    for number in range(min(count, JPEGS)):
        waves = 127 + 80 * np.sin(x[..., None] / (20 + number % 7 + np.arange(3)) + y[..., None] / 31)
        pixels = np.clip(waves + rng.normal(0, 12, (480, 640, 3)), 0, 255).astype(np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "JPEG", quality=85, comment=str(number))
        found.append(buffer.getvalue())
    return found


def embedding(folder: Path, shape: str, device: str, count: int, rounds: int) -> list[dict[str, Any]]:
    """The rows of the first table for one shape."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from counterbalance.udfs.models.running import inference

    opened = function("embed_image").open({"model": str(made(folder, shape)), "drop": None}, device)
    model, kind = opened._instance, device.partition(":")[0]  # noqa: SLF001 - the part after decoding is timed alone
    clip = model.loaded
    jpegs = pictures(count)
    # A trailing comment makes bytes differ, so that no picture is computed once for several rows.
    encoded = [jpegs[i % len(jpegs)] + str(i).encode() for i in range(count)]
    rng = np.random.default_rng(1)
    size = BATCH[kind], clip.preparation.height, clip.preparation.width, 3
    batches = [rng.integers(0, 256, size, np.uint8) for _ in range(max(1, count // BATCH[kind]))]
    there = clip.preparation.tensor(torch.from_numpy(batches[0]).to(device))
    images = BATCH[kind] * len(batches)

    def ours() -> Any:
        parts = ((list(range(len(b))), b, {}) for b in batches)
        return np.concatenate([model.unit(clip.encoded(pixels)) for _, pixels, _ in clip.placed(parts)])

    def bare() -> Any:
        found = []
        for batch in batches:
            pixels = torch.from_numpy(batch).to(device, non_blocking=True)
            with inference(device):
                values = clip.network.encode_image(clip.preparation.tensor(pixels))
            found.append(torch.nn.functional.normalize(values.float(), dim=-1))
        return torch.cat(found).cpu().numpy()

    def alone() -> None:
        with inference(device):
            for _ in batches:
                values = clip.network.encode_image(there)
        values.float().cpu()

    def whole() -> Any:
        found = [opened([pa.array(encoded[i : i + 1024], pa.binary())]) for i in range(0, len(encoded), 1024)]
        assert not any(f.errors for f in found)

    with FlopCounterMode(display=False) as counter:  # with gradients: torch's fused attention is not counted
        clip.network.encode_image(there[:1])
    seconds, answers = in_turn(
        {"counterbalance": ours, "bare torch loop": bare, "model alone": alone, "end to end": whole}, rounds
    )
    opened.close()
    assert np.abs(answers["counterbalance"] - answers["bare torch loop"]).max() < (1e-5 if kind == "cpu" else 1e-2)
    return [
        _rate(shape, name, (count if name == "end to end" else images) / s, counter.get_total_flops(), device)
        | {"bare / it": seconds["bare torch loop"] / s * (count / images if name == "end to end" else 1)}
        for name, s in seconds.items()
    ]


def _rate(shape: str, name: str, rate: float, operations: float, device: str) -> dict[str, Any]:
    done = rate * operations / 1e12
    peak, what = _peak(device)
    return {
        "shape": shape,
        "contender": name,
        "images/s": rate,
        "TFLOP/s": done,
        f"% of peak ({peak:.3g} TFLOP/s, {what})": 100 * done / peak,
    }


_peaks: dict[str, tuple[float, str]] = {}


def _peak(device: str) -> tuple[float, str]:
    """TFLOP/s of the device's matrix units: the data sheet's where it is known, else what a large product reaches."""
    from counterbalance.udfs.models.meter import PEAKS

    if device not in _peaks:
        known = next((p for part, p in PEAKS.items() if part in _named(device)), None) if device != "cpu" else None
        _peaks[device] = (_product(device), "measured, float32") if known is None else (known, "data sheet, bfloat16")
    return _peaks[device]


def _wait(device: str) -> None:
    import torch

    if device != "cpu":
        torch.cuda.synchronize(device)


def _product(device: str) -> float:
    """TFLOP/s of a float32 product of 4,096 (CPU: 2,048) squared, the best of five."""
    import torch

    side = 2048 if device == "cpu" else 4096
    a = torch.randn(side, side, device=device)
    best = float("inf")
    for _ in range(6):
        _wait(device)
        began = time.perf_counter()
        _ = a @ a
        _wait(device)
        best = min(best, time.perf_counter() - began)
    return 2 * side**3 / best / 1e12


def searching(device: str, count: int, asked_for: int, rounds: int) -> list[dict[str, Any]]:
    """The second table: exact search, the product alone in the same blocks, and reading the items."""
    import torch

    torch.set_float32_matmul_precision("highest")
    rng = np.random.default_rng(0)
    items = rng.standard_normal((count, DIMENSIONS), np.float32)
    queries = rng.standard_normal((asked_for, DIMENSIONS), np.float32)
    a, b = torch.from_numpy(queries).to(device), torch.from_numpy(items).to(device)

    def product() -> None:
        for low in range(0, len(a), 4096):
            for start in range(0, len(b), 65_536):
                _ = a[low : low + 4096] @ b[start : start + 65_536].T
        _wait(device)

    def topk() -> Any:
        best = []
        for low in range(0, len(a), 1024):
            scores = a[low : low + 1024] @ b.T
            best.append(scores.topk(K, dim=1).indices)
        return torch.cat(best).cpu().numpy()

    def one() -> None:
        _ = b.sum()
        _wait(device)

    def ours() -> Any:
        return nearest(queries, items, K, metric="dot", device=device).columns.reshape(-1, K)

    def single() -> Any:
        return nearest(queries[:1], items, K, metric="dot", device=device).columns

    def put() -> None:
        _ = torch.from_numpy(items).to(device, copy=True)
        _wait(device)

    many, few = f"{len(queries):,} queries", "1 query"
    seconds, answers = in_turn(
        {"counterbalance": ours, "torch, product and topk": topk, "product alone": product, "items to the device": put,
         "counterbalance, one": single, "items read once": one}, rounds
    )  # fmt: skip
    same = (answers["counterbalance"] == answers["torch, product and topk"]).mean()
    assert same > 0.999, same
    work, size = 2 * len(queries) * count * DIMENSIONS / 1e12, items.nbytes / 1e9
    rows = []
    for name, s in seconds.items():
        asked = few if name in {"counterbalance, one", "items read once"} else many
        limit = seconds["items read once" if asked == few else "product alone"]
        rate = f"{size / s:.3g} GB/s" if asked == few or name.startswith("items") else f"{work / s:.3g} TFLOP/s"
        rows.append(
            {"items": f"{count:,} x {DIMENSIONS}", "queries": asked, "contender": name.removesuffix(", one"), "s": s,
             "rate": rate, "it / limit": s / limit}
        )  # fmt: skip
    return rows


def building(folder: Path, device: str, count: int, rounds: int) -> list[dict[str, Any]]:
    """The third table: k-means alone, and the whole index, on the GPU and on the CPU."""
    import lance

    from counterbalance.engine.search.indexes import IndexSpec, build
    from counterbalance.engine.search.kmeans import train

    rng = np.random.default_rng(0)
    centres = rng.standard_normal((2000, DIMENSIONS), np.float32)
    items = centres[rng.integers(0, 2000, count)] + rng.standard_normal((count, DIMENSIONS), np.float32)
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    column = pa.FixedSizeListArray.from_arrays(pa.array(items.ravel()), DIMENSIONS)
    dataset = lance.write_dataset(pa.table({"id": np.arange(count), "embedding": column}), str(folder / "t.lance"))
    partitions = round(count**0.5)
    sample = items[: partitions * 128]
    spec = IndexSpec("it", "ivf_rq", "embedding")
    seconds, _ = in_turn(
        {
            f"{what} {where}": (
                (lambda d=where: train(sample, partitions, spherical=True, device=d).shape)
                if what == "k-means,"
                else (lambda d=where: build(dataset, spec, device=d).indexed)
            )
            for what in ("k-means,", "k-means and IVF_RQ,")
            for where in dict.fromkeys((device, "cpu"))
        },
        rounds,
    )
    rows = []
    vectors = f"{count:,} x {DIMENSIONS}, {partitions:,} partitions"
    for name, s in seconds.items():
        what, _, where = name.rpartition(", ")
        rows.append(
            {"vectors": vectors, "work": what, "device": where, "s": s, "cpu / it": seconds[f"{what}, cpu"] / s}
        )
    return rows


if __name__ == "__main__":
    main()
