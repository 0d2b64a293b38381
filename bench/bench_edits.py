"""What candidates cost beside the network, with and without what those of a source share; and GPU hours, by arithmetic.

``python bench/run.py bench_edits``. *Beside the network*: ``inpaint`` and ``instruct_pix2pix`` on tiny pipelines of the real
architectures, photographs of 640 x 480, 30 candidates each (two texts, three scales of guidance, five seeds). ``alone`` is each
candidate for itself, as it was until November 2026: decoded, encoded and written one after the other. Counted are the pictures
that are decoded, and the pictures and texts that the encoders get. *ms* are wall time without what the network and the decoder
of latents take, *CPU ms* likewise of all threads. On a GPU writing overlaps with the network, so that *ms* shrinks further.

*GPU hours*: the papers' sizes by a published rate, not measured: Stable Diffusion 1.5 by diffusers (torch 2.1, SDPA) on an A100 80G SXM,
float16, 512 x 512, 50 steps, one picture at once: 1.591 s (github.com/fal-ai/stable-diffusion-benchmarks), in proportion to
passes of the network: two a step with guidance, three for InstructPix2Pix. Batches are faster, attention control slower. The
last column is what the paper says of its own time.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

HELPERS = Path(__file__).resolve().parents[1] / "tests" / "helpers"
KINDS = {
    "inpaint": ("StableDiffusionInpaintPipeline", 9),
    "instruct_pix2pix": ("StableDiffusionInstructPix2PixPipeline", 8),
}
SOURCES = {"tiny": 1, "small": 2, "full": 10}
CANDIDATES = [
    (text, guidance, seed) for text in ("a man", "a woman") for guidance in (7.5, 9.5, 15.0) for seed in range(5)
]
RATE = 1.591 / (50 * 2)
"""Seconds a pass of the network for one picture of 512 x 512."""
PAPERS = [  # paper, pictures, steps, passes a step, what it says
    ("Smith et al. 2023 (GenSynth), 11,541 sources x 16", 11_541 * 16, 500, 3, ""),
    ("the same, 100 steps (the recipe's default)", 11_541 * 16, 100, 3, ""),
    ("Hirota et al. 2024, COCO, 28,487 sources x 2 x 30", 28_487 * 60, 50, 2, "432 (6 A100 40GB, 72 hours)"),
    ("Le et al. 2023 (COCO-Counterfactuals), 2.45 M pairs", 2 * 2_450_000, 50, 2, "3 days (up to 512 Gaudi, RTX 3090)"),
]  # fmt: skip


def beside(folder: Path, sources: int) -> list[dict[str, Any]]:
    """The first table."""
    rows = []
    for name, (kind, channels) in KINDS.items():
        (folder / name).mkdir()
        model = _checkpoint(folder / name, kind, channels)
        for how in ("alone", "shared"):
            with _alone() if how == "alone" else contextlib.nullcontext(), _counted() as counts:
                seconds, busy, made = _made(name, model, sources, counts)
            each = len(made)
            rows.append({
                "function": name, "candidates": how,
                **{f"{what} / candidate": counts[what] / each for what in ("decoded", "encoded", "texts")},
                "kB / candidate": sum(map(len, made)) / each / 1000,
                "ms / candidate": 1000 * seconds / each, "CPU ms / candidate": 1000 * busy / each,
                "bytes": hashlib.sha256(b"".join(made)).hexdigest()[:12],
            })  # fmt: skip
    return rows


def hours() -> list[dict[str, Any]]:
    """The second table."""
    return [
        {"paper": paper, "pictures": f"{n:,}", "steps": str(steps), "s / picture": RATE * steps * passes,
         "A100 hours": f"{n * RATE * steps * passes / 3600:,.0f}", "its own": own}
        for paper, n, steps, passes, own in PAPERS
    ]  # fmt: skip


def _checkpoint(folder: Path, kind: str, channels: int) -> Path:
    sys.path.insert(0, str(HELPERS))
    import pipelines

    return pipelines.save(folder, kind, channels)


def _made(name: str, model: Path, sources: int, counts: dict[str, float]) -> tuple[float, float, list[bytes]]:
    """Seconds and CPU seconds beside the network, and the candidates."""
    from counterbalance.engine.functions import function

    wanted = [(_photograph(s), *candidate) for s in range(sources) for candidate in CANDIDATES]
    mask = _mask()
    own = {
        "inpaint": lambda image, text, guidance, seed: (image, mask, text, guidance, 1, seed),
        "instruct_pix2pix": lambda image, text, g, seed: (image, 64.0, 48.0, 512.0, 384.0, text, g, 1.5, 1, seed),
    }[name]
    types = [p.type for p in function(name).parameters if not p.constant]
    columns = [pa.array(c, t) for c, t in zip(zip(*(own(*row) for row in wanted), strict=True), types, strict=True)]
    opened = function(name).open({"model": str(model), "size": 64}, "cpu")
    try:
        counts.update(dict.fromkeys(counts, 0))
        began, busy = time.perf_counter(), time.process_time()
        found = [opened([c.slice(start, 64) for c in columns]) for start in range(0, len(wanted), 64)]
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
    finally:
        opened.close()
    made = [data for result in found for data in result.values.to_pylist()]
    return seconds - counts["s"], busy - counts["CPU s"], made


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Candidates that share nothing, and are written one after the other."""
    from unittest.mock import patch

    from counterbalance.udfs.models import diffusion_model, diffusion_rows

    with (
        patch.object(diffusion_model, "encode_once", lambda _: None),
        patch.object(diffusion_rows, "_WRITERS", 1),
        patch.object(diffusion_rows, "lru_cache", lambda **_: lambda plain: plain),
    ):
        yield


@contextlib.contextmanager
def _counted() -> Iterator[dict[str, float]]:
    """How much the encoders get, what is decoded, and the time of the network and of the decoder of latents."""
    from unittest.mock import patch

    import diffusers
    import torch
    import transformers

    from counterbalance.udfs.models import inpaint, instruct_pix2pix

    counts = {"decoded": 0.0, "encoded": 0.0, "texts": 0.0, "s": 0.0, "CPU s": 0.0}

    def counting(owner: Any, name: str, what: str, rows: Any) -> Any:
        plain = getattr(owner, name)

        def call(*given: Any, **how: Any) -> Any:
            counts[what] += rows(*given)
            return plain(*given, **how)

        return patch.object(owner, name, call)

    def timing(owner: Any, name: str) -> Any:
        plain = getattr(owner, name)

        def call(*given: Any, **how: Any) -> Any:
            began, busy = time.perf_counter(), time.thread_time()
            result = plain(*given, **how)
            counts["s"] += time.perf_counter() - began
            counts["CPU s"] += time.thread_time() - busy
            return result

        return patch.object(owner, name, call)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # or the network's time would not be that of its thread
    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_num_threads, threads)
        for patched in (
            counting(inpaint, "decode", "decoded", lambda _: 1),
            counting(instruct_pix2pix, "decode", "decoded", lambda _: 1),
            counting(diffusers.AutoencoderKL, "_encode", "encoded", lambda _, x: len(x)),
            counting(transformers.CLIPTextModel, "forward", "texts", lambda _, ids, *__: len(ids)),
            timing(diffusers.UNet2DConditionModel, "forward"),
            timing(diffusers.AutoencoderKL, "decode"),
        ):
            stack.enter_context(patched)
        yield counts


def _photograph(seed: int) -> bytes:
    """A JPEG of 640 x 480 with large shapes and fine grain."""
    from PIL import Image

    generator = np.random.default_rng(seed)
    shapes = Image.fromarray(generator.integers(0, 256, (12, 16, 3), np.uint8)).resize(
        (640, 480), Image.Resampling.BICUBIC
    )
    grain = generator.normal(0, 6, (480, 640, 1))
    buffer = io.BytesIO()
    Image.fromarray((np.asarray(shapes) + grain).clip(0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def _mask() -> bytes:
    from PIL import Image

    white, buffer = Image.new("L", (640, 480)), io.BytesIO()
    white.paste(255, (200, 80, 440, 470))
    white.save(buffer, "PNG")
    return buffer.getvalue()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--scale", choices=tuple(SOURCES), default="small")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="counterbalance-bench-") as scratch:
        for rows in (beside(Path(scratch), SOURCES[options.scale]), hours()):
            print(harness.table(rows) + "\n", flush=True)


if __name__ == "__main__":
    main()
