"""Names of CLIP models: found without importing a heavy library, and one clear error where there is none."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from function_calls import called

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import function
from counterbalance.udfs.models import clip_names

pytest.importorskip("open_clip")
PLAN = """
import sys
from counterbalance.engine.functions import function
embed = function("embed_image")
print(embed.type({"model": sys.argv[1], "drop": [0]}).list_size, len(embed.digest({"model": sys.argv[1], "drop": None})))
print(sorted({"torch", "open_clip", "transformers", "torchvision", "PIL", "sklearn"} & sys.modules.keys()))
"""


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """An empty cache of Hugging Face, and a way to put files of a repository there as it does."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("COUNTERBALANCE_ALLOW_DOWNLOAD", raising=False)

    def put(repository, **files):
        root = tmp_path / "hub" / f"models--{repository.replace('/', '--')}"
        for name, content in files.items():
            blob = root / "blobs" / f"digest-of-{name}"
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(content)
            link = root / "snapshots" / "c0ffee" / name.replace("__", ".")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(blob)
        (root / "refs").mkdir(parents=True, exist_ok=True)
        (root / "refs" / "main").write_text("c0ffee")
        return root / "snapshots" / "c0ffee"

    return put


def test_planning_imports_nothing_heavy(tiny_clip, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PLAN, tiny_clip()], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["15 16", "[]"]


def test_the_registry_is_the_librarys():
    """Read from the text of its module, and equal to what the module says when it runs."""
    import open_clip

    ours = {(name, tag) for name, tags in clip_names.registry().items() for tag in tags}
    assert ours == set(open_clip.list_pretrained())
    for name, tag in ours:
        known, read = open_clip.get_pretrained_cfg(name, tag), clip_names.registry()[name][tag]
        assert read["hf_hub"] == known["hf_hub"]
        assert bool(read.get("quick_gelu")) == bool(known.get("quick_gelu"))
    assert {n: json.loads(f.read_text())["embed_dim"] for n, f in clip_names.architectures().items()} == {
        name: open_clip.get_model_config(name)["embed_dim"] for name in open_clip.list_models()
    }


@pytest.mark.parametrize(
    ("model", "length"),
    [
        ("ViT-B-32/laion2b_s34b_b79k", 512),
        ("ViT-L-14/openai", 768),
        ("ViT-B-16-SigLIP/webli", 768),
        ("RN50/cc12m", 1024),
    ],
)
def test_length_of_vectors(model, length):
    assert function("embed_text").type({"model": model, "drop": None}).list_size == length


def test_weights_of_a_tag_are_taken_from_the_cache(hub_cache):
    where = hub_cache("laion/CLIP-ViT-B-32-laion2B-s34B-b79K", open_clip_pytorch_model__bin=b"weights")
    found = clip_names.named("ViT-B-32/laion2b_s34b_b79k")
    assert found.checkpoint() == where / "open_clip_pytorch_model.bin"
    before = found.digest()
    hub_cache("laion/CLIP-ViT-B-32-laion2B-s34B-b79K", open_clip_model__safetensors=b"the same, safely")
    assert found.checkpoint() == where / "open_clip_model.safetensors"
    assert found.digest() != before


def test_a_file_of_a_tag(hub_cache):
    """Repositories whose file has a name of its own."""
    where = hub_cache("jienengchen/ViTamin-S", pytorch_model__bin=b"weights")
    assert clip_names.named("ViTamin-S/datacomp1b").checkpoint() == where / "pytorch_model.bin"


def test_a_repository_gives_what_its_folder_gives(hub_cache, tiny_clip):
    folder = tiny_clip(seed=2)
    files = {f.name.replace(".", "__"): f.read_bytes() for f in folder.iterdir()}
    hub_cache("somebody/tiny", **files)
    vectors = [
        called("embed_text", {"model": model, "drop": None}, ["a dog", "two cats"]).values
        for model in ("hf-hub:somebody/tiny", str(folder), f"local-dir:{folder}")
    ]
    assert vectors[0].equals(vectors[1])
    assert vectors[0].equals(vectors[2])


def test_a_checkpoint_for_a_known_architecture(tmp_path):
    file = tmp_path / "mine.safetensors"
    file.write_bytes(b"weights")
    found = clip_names.named(f"ViT-B-32/{file}")
    assert (found.name, found.checkpoint(), found.width) == ("ViT-B-32", file, 512)


def test_the_digest_changes_with_the_weights_and_with_nothing_else(tiny_clip, tmp_path):
    folder = tiny_clip(seed=1)
    first = clip_names.named(str(folder)).digest()
    (folder / "README.md").write_text("about it")
    assert clip_names.named(str(folder)).digest() == first
    (folder / "open_clip_model.safetensors").write_bytes((tiny_clip(2) / "open_clip_model.safetensors").read_bytes())
    assert clip_names.named(str(folder)).digest() != first


@pytest.mark.parametrize(
    ("model", "said", "hint"),
    [
        ("ViT-B-31/openai", "no model 'ViT-B-31'; did you mean", "name/pretrained"),
        ("ViT-B-32", "names no weights", "laion2b_s34b_b79k"),
        ("ViT-B-32/laion2b_s34b", "did you mean 'laion2b_s34b_b79k'", "weights of ViT-B-32"),
        ("ViT-M-16/laion2b", "has no weights", "ViT-M-16/PATH"),
        ("/no/such/folder", "no model at /no/such/folder", "open_clip_config.json"),
        ("./models/mine", "no model at models/mine", "open_clip_config.json"),
        ("", "no model ''", "name/pretrained"),
    ],
)
def test_a_name_that_is_none(model, said, hint):
    with pytest.raises(NotFoundError, match=said) as caught:
        function("embed_image").type({"model": model, "drop": None})
    assert caught.value.code == "E1120"
    assert hint in caught.value.hint


def test_weights_that_are_not_in_the_cache(hub_cache, lake):
    """One error when the column is refreshed, which names the way to get them."""
    hub_cache("somebody/other")
    lake.add_column("captions", "vector", "embed_text(text)")
    (stage,) = lake.refresh().stages
    assert (stage.mode, stage.code) == ("failed", "E1102")
    assert "laion/CLIP-ViT-B-32-laion2B-s34B-b79K" in stage.message
    assert "--allow-download" in stage.hint


@pytest.mark.parametrize("model", ["hf-hub:somebody/else", "ViT-B-32/openai"])
def test_a_query_without_weights(hub_cache, lake, model):
    hub_cache("somebody/other")
    with pytest.raises(NotFoundError) as caught:
        lake.sql(f"SELECT embed_text('a dog', '{model}')").to_arrow()
    assert "--allow-download" in caught.value.hint


def test_folders_that_are_damaged(tiny_clip, tmp_path):
    (tmp_path / "open_clip_config.json").write_text('{"model_cfg": {"embed_dim": 16}}')
    with pytest.raises(RequestError, match="describes no open_clip model") as caught:
        clip_names.named(str(tmp_path))
    assert caught.value.code == "E3520"
    good = (tiny_clip() / "open_clip_config.json").read_text()
    (tmp_path / "open_clip_config.json").write_text(good)
    with pytest.raises(NotFoundError, match="holds no weights"):
        clip_names.named(str(tmp_path)).checkpoint()
    for name in ("epoch_1.pt", "epoch_2.pt"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(RequestError, match=r"several weights: epoch_1\.pt, epoch_2\.pt") as caught:
        clip_names.named(str(tmp_path)).checkpoint()
    assert caught.value.code == "E3521"
    (tmp_path / "epoch_2.safetensors").write_bytes(b"")
    assert clip_names.named(str(tmp_path)).checkpoint().name == "epoch_2.safetensors"


@pytest.mark.parametrize("drop", [[16], [-1], [0.5], list(range(16)), [True], "0"])
def test_dimensions_that_are_none(tiny_clip, drop):
    with pytest.raises(RequestError, match="drop cannot be") as caught:
        function("embed_image").type({"model": str(tiny_clip()), "drop": drop})
    assert caught.value.code == "E3051"
    assert "0 to 15" in caught.value.hint
