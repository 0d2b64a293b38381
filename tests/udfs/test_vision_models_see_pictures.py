"""embed_image with a vision model of transformers gives the class token that the library gives, of length 1."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("open_clip")

SIZE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
embed = function("embed_image")


def picture(width, height, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return image_bytes(Image.fromarray(pixels))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A ViT as DINO has it, whose pooler was never trained and is not there, and a DINOv2, with their processors."""
    found = {}
    with torch.random.fork_rng():
        torch.manual_seed(5)
        vit = transformers.ViTConfig(image_size=32, patch_size=8, initializer_range=0.3, **SIZE)
        dino = transformers.Dinov2Config(image_size=28, patch_size=14, initializer_range=0.3, **SIZE)
        models = {
            "vit": transformers.ViTModel(vit, add_pooling_layer=False).eval(),
            "dinov2": transformers.Dinov2Model(dino).eval(),
        }
    processors = {
        "vit": transformers.ViTImageProcessor(size={"height": 32, "width": 32}),
        "dinov2": transformers.BitImageProcessor(size={"shortest_edge": 36}, crop_size={"height": 28, "width": 28}),
    }
    for name, model in models.items():
        found[name] = tmp_path_factory.mktemp(name)
        model.save_pretrained(found[name])
        processors[name].save_pretrained(found[name])
    return found, models, processors


def embedded(folder, pictures, drop=None):
    return called("embed_image", {"model": str(folder), "drop": drop}, pictures)


def directly(model, processor, data):
    inputs = processor(images=Image.open(io.BytesIO(data)), return_tensors="pt")
    with torch.inference_mode():
        vector = model(**inputs).last_hidden_state[0, 0].double().numpy()
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("name", ["vit", "dinov2"])
def test_vectors_are_the_librarys(folders, name):
    where, models, processors = (part[name] for part in folders)
    pictures = [picture(w, h, i) for i, (w, h) in enumerate([(64, 48), (48, 64), (33, 90), (32, 32), (7, 5)] * 4)]
    pictures[3], pictures[7] = None, b"no picture"
    found = embedded(where, pictures)
    assert found.values.type == embed.type({"model": str(where), "drop": None}) == pa.list_(pa.float32(), 16)
    assert set(found.errors) == {7}
    for row, vector in enumerate(found.values.to_pylist()):
        if row in {3, 7}:
            assert vector is None
        else:
            assert vector == pytest.approx(directly(models, processors, pictures[row]), abs=2e-6), row
    assert embedded(where, pictures[:1]).values.to_pylist()[0] == pytest.approx(found.values.to_pylist()[0], abs=1e-6)


def test_dropped_dimensions(folders):
    where, models, processors = (part["vit"] for part in folders)
    kept = np.delete(directly(models, processors, picture(40, 30)), [0, 15])
    found = embedded(where, [picture(40, 30)], [0, 15]).values
    assert found.to_pylist()[0] == pytest.approx(kept / np.linalg.norm(kept), abs=2e-6)


def test_a_needle_of_a_picture_is_refused(folders):
    """40,000 x 1 pixels would be 1.4 million x 36 when the short side is 36."""
    found = embedded(folders[0]["dinov2"], [picture(40_000, 1), picture(30, 20)])
    assert "too long and thin" in found.errors[0]
    assert found.values.is_valid().to_pylist() == [False, True]


def test_a_column_knows_its_weights(folders, lake, build):
    lake.ingest({"images": build.images(image_id=[900], key=["900"], image=[picture(40, 30)])})
    lake.sql(f"ALTER TABLE images ADD COLUMN dino AS (embed_image(image, '{folders[0]['dinov2']}'))")
    lake.refresh("images.dino", executor="inline")
    length = "SELECT sum(x * x) FROM (SELECT unnest(dino) AS x FROM images WHERE image_id = 900)"
    assert lake.sql(length).fetchall()[0][0] == pytest.approx(1, abs=1e-6)
    digests = {embed.digest({"model": str(folder), "drop": None}) for folder in folders[0].values()}
    assert len(digests) == 2


def copied(folder, to, **changed):
    """A model's files, some of its configuration changed."""
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    config = json.loads((to / "config.json").read_text()) | changed
    (to / "config.json").write_text(json.dumps(config))
    return to


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model_type": "bert"}, "its model type is 'bert'"),
        ({"model_type": "mine", "auto_map": {"AutoModel": "mine.Mine"}}, "its model type is 'mine'"),
        ({"hidden_size": "wide"}, "hidden_size cannot be 'wide'"),
    ],
)
def test_models_of_other_kinds(folders, tmp_path, changed, said):
    model = str(copied(folders[0]["vit"], tmp_path, **changed))
    with pytest.raises(RequestError, match=said) as caught:
        embed.type({"model": model, "drop": None})
    assert caught.value.code == "E3526"
    assert "dinov2" in caught.value.hint


def test_weights_that_do_not_fit(folders, tmp_path):
    """Two layers are stored; the third would be random."""
    with pytest.raises(RequestError, match=r"weights are missing: .*layers?\.2") as caught:
        embedded(copied(folders[0]["vit"], tmp_path, num_hidden_layers=3), [picture(9, 9)])
    assert caught.value.code == "E3546"
    (tmp_path / "preprocessor_config.json").unlink()
    with pytest.raises(RequestError, match="cannot be loaded") as caught:
        embedded(tmp_path, [picture(9, 9)])
    assert caught.value.code == "E3546"


def test_a_pickle_is_not_run(folders, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    copied(folders[0]["vit"], tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save({"cls": Trap()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(RequestError, match="cannot be loaded"):
        embedded(tmp_path, [picture(9, 9)])
    assert not (tmp_path / "sprung").exists()


def test_a_repository_gives_what_its_folder_gives(folders, tmp_path, monkeypatch):
    """From the cache of Hugging Face alone; what is not there is told, with the way to get it."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("COUNTERBALANCE_ALLOW_DOWNLOAD", raising=False)
    with pytest.raises(NotFoundError, match="facebook/dino-vitb16") as caught:
        embed.type({"model": "facebook/dino-vitb16", "drop": None})
    assert (caught.value.code, "--allow-download" in caught.value.hint) == ("E1102", True)
    root = tmp_path / "models--facebook--dino-vitb16"
    (root / "snapshots" / "c0ffee").mkdir(parents=True)
    copied(folders[0]["vit"], root / "snapshots" / "c0ffee")
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("c0ffee")
    one, other = (embedded(name, [picture(40, 30)]).values for name in ("facebook/dino-vitb16", folders[0]["vit"]))
    assert one.equals(other)


def test_it_has_no_vectors_of_texts(folders):
    with pytest.raises(NotFoundError) as caught:
        function("embed_text").type({"model": str(folders[0]["vit"]), "drop": None})
    assert caught.value.code == "E1120"
    assert "embed_image takes vision models of transformers" in caught.value.hint
