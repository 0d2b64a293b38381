"""Checkpoints of diffusers come from a folder or from the cache, in full precision and without pickle; planning loads none."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from counterbalance.engine.functions import function
from counterbalance.udfs.models.diffusion_files import FILES
from counterbalance.udfs.models.diffusion_model import MODELS

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

PLAN = """
import sys
from counterbalance.engine.functions import function
names = ("generate", "instruct_pix2pix", "inpaint", "prompt_to_prompt")
print(len({function(n).digest({"model": sys.argv[1]}) for n in names}))
print([m for m in ("torch", "diffusers", "transformers", "PIL", "huggingface_hub") if m in sys.modules])
"""
PARTS = ["unet", "vae", "text_encoder", "safety_checker"]
REPOSITORY = [
    "README.md",
    "model_index.json",
    "v1-5-pruned.ckpt",
    "v1-5-pruned.safetensors",
    "scheduler/scheduler_config.json",
    "tokenizer/merges.txt",
    "tokenizer/vocab.json",
    "feature_extractor/preprocessor_config.json",
    *(f"{part}/config.json" for part in PARTS),
    *(f"{part}/{kind}" for part in PARTS[2:] for kind in ("model.safetensors", "model.fp16.safetensors", "pytorch_model.bin")),
    *(f"{part}/diffusion_pytorch_model{kind}" for part in PARTS[:2] for kind in (".safetensors", ".fp16.safetensors", ".bin")),
    "unet/diffusion_pytorch_model.non_ema.safetensors",
]  # fmt: skip
"""Names in a repository such as that of Stable Diffusion 1.5."""


@pytest.fixture(scope="module")
def folder(tiny_diffusion):
    return tiny_diffusion("StableDiffusionPipeline")


def opened(model):
    return function("generate").open({"model": str(model), "width": 64, "height": 64}, "cpu")


def made(model):
    generate = opened(model)
    try:
        result = generate([pa.array([v]) for v in ("a man", 7.5, 1, 1)])
        assert result.errors == {}
        source = function("synthetic_source").open({})([result.values])
        return result.values[0].as_py(), source.values[0].as_py()
    finally:
        generate.close()


def test_planning_imports_nothing_heavy(folder, tmp_path):
    command = [sys.executable, "-c", PLAN, str(folder)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1", "[]"]


def test_a_repository_gives_what_its_folder_gives(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("COUNTERBALANCE_ALLOW_DOWNLOAD", raising=False)
    root = tmp_path / "models--somebody--tiny"
    for number, file in enumerate(f for f in folder.rglob("*") if f.is_file()):
        blob, link = root / "blobs" / f"{number:064}", root / "snapshots" / "c0ffee" / file.relative_to(folder)
        for path in (blob, link):
            path.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(file.read_bytes())
        link.symlink_to(blob)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("c0ffee")
    (_, here), (_, there) = made(folder), made("somebody/tiny")
    assert (here["model"], there["model"]) == ("model", "somebody/tiny")
    assert {**here, "model": "", "weights": ""} == {**there, "model": "", "weights": ""}


def test_only_what_is_needed_is_fetched():
    from huggingface_hub.utils import filter_repo_objects

    wanted = set(filter_repo_objects(REPOSITORY, allow_patterns=list(FILES)))
    left = {
        name for name in REPOSITORY if name.endswith((".bin", ".ckpt", ".md")) or "fp16" in name or "non_ema" in name
    }
    assert wanted == set(REPOSITORY) - left - {"v1-5-pruned.safetensors"}


def test_a_pipeline_is_loaded_once_and_let_go(folder):
    one = opened(folder)
    other = function("prompt_to_prompt").open({"model": str(folder), "attention": "self", "size": 64}, "cpu")
    try:
        assert [key[:4] for key in MODELS._held if key[1] == str(folder)] == [
            ("generate", str(folder), "cpu", "checked")
        ]
    finally:
        one.close()
        other.close()
    assert not any(key[1] == str(folder) for key in MODELS._held)
