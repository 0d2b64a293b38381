"""Twelve files that would run something, or break what reads them: none runs, and each is refused with a code and its name."""

from __future__ import annotations

import io
import json
import os
import pickle  # noqa: TID251 - what an attacker writes
import zipfile

import pytest

from counterbalance.engine.errors import CounterbalanceError, RequestError
from counterbalance.udfs.models import weights
from counterbalance.udfs.models.clip_model import Clip

torch = pytest.importorskip("torch")
HOSTILE = (
    "pickle.bin", "pickle.pt", "pickle.pth", "pickle.ckpt", "pickle.pkl", "object.npy", "dump.joblib", "zipped.pt",
    "polyglot.pt", "header.safetensors", "truncated.safetensors", "digest.safetensors",
)  # fmt: skip


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def zipped(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", text)
        archive.writestr("archive/version", "3")
    return out.getvalue()


def write(folder, name, marker):
    """A hostile file; returns its path."""
    import joblib
    import numpy as np
    from safetensors.numpy import save

    trap = {"state_dict": Trap(marker)}
    plain, path = pickle.dumps(trap, protocol=2), folder / name
    tensors = save({"a": np.zeros(1000, np.float32)})
    if name == "object.npy":
        np.save(path, np.array([trap], dtype=object), allow_pickle=True)
    elif name == "dump.joblib":
        joblib.dump(trap, path)
    elif name == "digest.safetensors":  # a file of the hub's cache that was changed
        blob = folder / "blobs" / ("c" * 64)
        blob.parent.mkdir(parents=True)
        blob.write_bytes(tensors)
        path.symlink_to(blob)
    else:
        whole = {
            "zipped.pt": zipped(plain),
            "polyglot.pt": plain + zipped(pickle.dumps({}, protocol=2)),
            "header.safetensors": (101 << 20).to_bytes(8, "little") + b'{"a":' + b" " * (101 << 20) + b"1}",
            "truncated.safetensors": tensors[:60],
        }
        path.write_bytes(whole.get(name, plain))
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_before_a_library_sees_it(name, tmp_path, record_property):
    record_property("files", 1)
    path = write(tmp_path, name, tmp_path / "ran")
    with pytest.raises(RequestError) as caught:
        weights.checked(path)
    assert caught.value.code == "E3545"
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert not (tmp_path / "ran").exists()


def clip(path, tiny_clip):
    pytest.importorskip("open_clip")
    folder = tiny_clip()
    (folder / "open_clip_model.safetensors").unlink()
    name = "open_clip_model.safetensors" if path.suffix == ".safetensors" else path.name
    (folder / name).symlink_to(path.resolve() if path.is_symlink() else path)
    Clip(str(folder), "cpu")


def detector(path, tiny_clip):
    pytest.importorskip("yaml")
    from counterbalance.udfs.models import yolo_files

    path.with_suffix(".yaml").write_text("nc: 1\n")
    yolo_files.read(path)


def transformer(path, tiny_clip):
    pytest.importorskip("transformers")
    from counterbalance.udfs.models.transformer import load

    folder = path.parent / "folder"
    folder.mkdir()
    name = "model.safetensors" if path.suffix == ".safetensors" else "pytorch_model.bin"
    (folder / name).symlink_to(path)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertForMaskedLM"]}))
    load(folder, "MASKED_LM", "cpu")


def index(path, tiny_clip):
    """As before, the file being named by an index of weights."""
    pytest.importorskip("transformers")
    from counterbalance.udfs.models.transformer import load

    ending = "safetensors" if path.suffix == ".safetensors" else "bin"
    name = "model.safetensors.index.json" if ending == "safetensors" else "pytorch_model.bin.index.json"
    (path.parent / name).write_text(json.dumps({"weight_map": {"a": path.name}}))
    (path.parent / "config.json").write_text(json.dumps({"model_type": "bert"}))
    load(path.parent, "MASKED_LM", "cpu")


@pytest.mark.parametrize("loader", [clip, detector, transformer, index])
@pytest.mark.parametrize("name", [n for n in HOSTILE if n not in {"digest.safetensors", "header.safetensors"}])
def test_no_model_runs_it(name, loader, tmp_path, tiny_clip):
    path = write(tmp_path, name, tmp_path / "ran")
    with pytest.raises(CounterbalanceError) as caught:
        loader(path, tiny_clip)
    assert caught.value.code in {
        "E3545",
        "E8112",
        "E1121",
    }  # E1121: a folder with nothing of that ending holds no weights
    assert caught.value.hint
    assert not (tmp_path / "ran").exists()


def test_the_traps_are_live(tmp_path):
    """What the tests above write does run where somebody unpickles it."""
    path = write(tmp_path, "pickle.bin", tmp_path / "ran")
    pickle.loads(path.read_bytes())
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("ending", ["bin", "pt", "pth", "ckpt"])
def test_plain_tensors_that_torch_saved_are_taken(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    state = {"a": torch.zeros(3), "b": torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)), "epoch": 1}
    torch.save({"state_dict": state, "shape": torch.Size([1]), "names": ["a"]}, path)
    assert weights.checked(path) == path


def test_missing_tensors_are_told_with_their_names(tmp_path):
    transformers = pytest.importorskip("transformers")
    from safetensors.torch import load_file, save_file

    from counterbalance.udfs.models.transformer import load

    config = transformers.BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path)
    load(tmp_path, "MASKED_LM", "cpu")
    file = tmp_path / "model.safetensors"
    held = load_file(file)
    held.pop("bert.encoder.layer.0.output.dense.weight")
    save_file(held, file, {"format": "pt"})
    with pytest.raises(RequestError, match=r"layer\.0\.output\.dense\.weight") as caught:
        load(tmp_path, "MASKED_LM", "cpu")
    assert caught.value.code == "E3546"
    assert str(tmp_path) in caught.value.message
    assert caught.value.hint
