"""A classifier is trained from labels of a lake: it learns, the same every time, and its folder appears whole or not at all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import BusyError, FunctionError, NotFoundError, RequestError
from counterbalance.engine.store.location import Location
from counterbalance.engine.store.lock import writer_lock

torch = pytest.importorskip("torch")
open_clip = pytest.importorskip("open_clip")

from counterbalance.udfs.models import fitting, labelled, training  # noqa: E402
from counterbalance.udfs.models.clip_pictures import Preparation  # noqa: E402
from counterbalance.udfs.models.settings import Settings  # noqa: E402
from counterbalance.udfs.models.training import split  # noqa: E402

COLOURS = {"blue": (30, 40, 220), "green": (30, 200, 60), "red": (220, 40, 30)}
NAMES = sorted(COLOURS)
QUICK = {"epochs": 6, "lr": 0.02, "tower_lr": 2e-3, "batch_size": 16, "device": "cpu"}


def drawn(number, colours):
    """Grey noise with a box of each colour, 20 x 24 pixels, side by side."""
    rng = np.random.default_rng(number)
    pixels = rng.integers(90, 160, (30, 24 * len(colours), 3))
    for i, name in enumerate(colours):
        pixels[3:27, 24 * i + 2 : 24 * i + 22] = np.array(COLOURS[name]) + rng.integers(-25, 25, (24, 20, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def coloured(build, pictures=48):
    """Base tables: every third picture shows two persons; what each wears is its label."""
    shown = {i: [NAMES[i % 3]] + ([NAMES[(i // 3) % 3]] if i % 3 == 0 else []) for i in range(pictures)}
    boxes = [(100 * i + j, i, j, name) for i, names in shown.items() for j, name in enumerate(names)]
    ids = [b[0] for b in boxes]
    return {
        "images": build.images(
            image_id=list(shown),
            key=[str(i) for i in shown],
            image=[image_bytes(drawn(i, n)) for i, n in shown.items()],
        ),
        "detections": build.detections(
            detection_id=ids,
            image_id=[b[1] for b in boxes],
            category=["person"] * len(ids),
            x=[24.0 * b[2] + 2 for b in boxes],
            y=[3.0] * len(ids),
            width=[20.0] * len(ids),
            height=[24.0] * len(ids),
        ),
        "labels": build.labels(
            label_id=ids,
            image_id=[b[1] for b in boxes],
            detection_id=ids,
            attribute=["colour"] * len(ids),
            value=[b[3] for b in boxes],
        ),
    }


@pytest.fixture(scope="module")
def small(build, tmp_path_factory):
    made = cb.connect(tmp_path_factory.mktemp("lakes") / "small.lake")
    made.ingest(coloured(build))
    return made


@pytest.fixture(scope="module")
def lake(build, tmp_path_factory):
    made = cb.connect(tmp_path_factory.mktemp("lakes") / "coloured.lake")
    made.ingest(coloured(build, 150))
    return made


@pytest.fixture(scope="module")
def tiny(tiny_clip):
    return str(
        tiny_clip(
            preprocess={"mean": [0.5] * 3, "std": [0.25] * 3, "interpolation": "bilinear", "resize_mode": "squash"}
        )
    )


@pytest.fixture
def train(small, tiny, tmp_path):
    def run(where="out", **options):
        asked = {"labels": "labels", "attribute": "colour", "model": tiny, **QUICK, **options}
        return training.train(asked.pop("lake", small), output=tmp_path / where, **asked)

    return run


@pytest.fixture(scope="module")
def once(lake, tiny, tmp_path_factory):
    """One training that several tests look at."""
    folder = tmp_path_factory.mktemp("once") / "colours"
    seen = []
    done = training.train(
        lake, labels="labels", attribute="colour", output=folder, model=tiny, progress=seen.append, **QUICK
    )
    return folder, done, seen


def config_of(folder):
    return json.loads((Path(folder) / "config.json").read_text())


def test_it_learns_the_colours(once):
    folder, done, _ = once
    assert sorted(f.name for f in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    assert [p.name for p in folder.parent.iterdir()] == ["colours"]
    assert (done.trained, done.classes, done.without_picture) == (True, ("blue", "green", "red"), 0)
    assert done.test["accuracy"] > 0.9
    epochs = config_of(folder)["training"]["epochs"]
    best = max(epochs, key=lambda e: (e["validation_accuracy"], -e["validation_loss"]))
    assert [e["number"] for e in epochs] == [1, 2, 3, 4, 5, 6]
    assert done.best_epoch == best["number"]
    assert epochs[-1]["train_loss"] < epochs[0]["train_loss"]


def test_the_stored_weights_have_the_scores_that_are_told(once, lake, tiny):
    """Judged again with open_clip and torch alone, from the pictures as they were drawn."""
    folder, done, _ = once
    from safetensors.torch import load_file

    described = json.loads((Path(tiny) / "open_clip_config.json").read_text())["model_cfg"]
    tower = open_clip.CLIP(**described).visual
    state = load_file(folder / "model.safetensors")
    tower.load_state_dict({k.removeprefix("tower."): v for k, v in state.items() if k.startswith("tower.")})
    tower.eval()
    transform = open_clip.image_transform(
        32, False, (0.5,) * 3, (0.25,) * 3, resize_mode="squash", interpolation="bilinear"
    )
    rows = lake.sql("SELECT detection_id, image_id, value FROM labels ORDER BY detection_id").fetchall()
    sides = split([NAMES.index(v) for _, _, v in rows], [i for _, i, _ in rows], 0)
    confusion = np.zeros((3, 3), int)
    for side, (detection, image, value) in zip(sides, rows, strict=True):
        if side == 2:
            names = [v for _, i, v in rows if i == image]
            left = 24 * (detection % 100) + 2
            crop = drawn(image, names).crop((left, 3, left + 20, 27))
            with torch.inference_mode():
                logits = tower(transform(crop)[None]) @ state["head.weight"].T + state["head.bias"]
            confusion[NAMES.index(value), int(logits.argmax())] += 1
    assert done.test["accuracy"] == pytest.approx(np.trace(confusion) / confusion.sum())
    for told, true in zip(done.test["classes"], confusion, strict=True):
        assert told["n"] is None if true.sum() < 10 else told["n"] == true.sum()


def test_progress_tells_of_pictures_and_epochs(once):
    _, _, seen = once
    stages = list(dict.fromkeys(p.stage for p in seen))
    assert stages == ["reading pictures", *(f"epoch {n} of 6" for n in range(1, 7))]
    assert all(0 < p.done <= p.total for p in seen)
    assert {p.stage for p in seen if p.done == p.total} == set(stages)


def test_the_card_says_what_it_must(once, lake):
    folder, _, _ = once
    card = (folder / "README.md").read_text()
    for part in ("perceived", "Do not use", "80/10/10", "seed 0", "6 epochs", "Calibration", "Confusion", "digest"):
        assert part in card
    for name in ("images", "detections", "labels"):
        assert re.search(rf"{name} \d+", card)
    cells = [cell.strip() for line in card.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert not [c for c in cells[cells.index("measure") :] if re.fullmatch(r"[1-9]", c)]


def test_the_same_again_is_not_trained_again(once, lake, tiny):
    folder, done, _ = once
    before = {f.name: f.stat().st_mtime_ns for f in folder.iterdir()}
    again = training.train(lake, labels="labels", attribute="colour", output=folder, model=tiny, **QUICK)
    assert not again.trained
    assert (again.classes, again.best_epoch, again.test) == (done.classes, done.best_epoch, done.test)
    assert {f.name: f.stat().st_mtime_ns for f in folder.iterdir()} == before
    subset = "(SELECT detection_id, value FROM labels WHERE detection_id <> 0)"
    for other in ({"seed": 1}, {"labels": subset}, {"attribute": "hue", "labels": subset}, {"epochs": 7}):
        with pytest.raises(RequestError, match="something else") as caught:
            training.train(
                lake, output=folder, **{"labels": "labels", "attribute": "colour", "model": tiny, **QUICK, **other}
            )
        assert caught.value.code == "E3559"


def test_a_seed_gives_the_same_bits_and_leaves_torch_alone(train):
    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(7)
    one, two = train("one", epochs=2), train("two", epochs=2)
    assert torch.equal(torch.rand(3), wanted)
    three = train("three", epochs=2, seed=1)
    weights = [(Path(t.output) / "model.safetensors").read_bytes() for t in (one, two, three)]
    assert weights[0] == weights[1] != weights[2]
    fingerprints = [config_of(t.output)["fingerprint"] for t in (one, two, three)]
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]


def test_the_first_epoch_trains_the_head_alone(train, tiny):
    from safetensors.torch import load_file

    start = load_file(Path(tiny) / "open_clip_model.safetensors")
    state = load_file(Path(train(epochs=1).output) / "model.safetensors")
    tower = {k.removeprefix("tower."): v for k, v in state.items() if k.startswith("tower.")}
    assert tower
    assert all(torch.equal(v, start[f"visual.{k}"]) for k, v in tower.items())


def test_rates_rise_and_fall_as_one_cycle_does(monkeypatch):
    """Head at a constant rate, then all weights from 1e-6 up to the highest rate at 30 % of the steps, and down again."""
    rates = []
    real = torch.optim.AdamW.step

    def step(self, *args, **kwargs):
        rates.append((self.param_groups[0]["lr"], sum(len(g["params"]) for g in self.param_groups)))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    model = torch.nn.Sequential()
    model.add_module("tower", torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 4)))
    model.add_module("head", torch.nn.Linear(4, 2))
    pixels = np.random.default_rng(0).integers(0, 255, (40, 2, 2, 3)).astype(np.uint8)
    examples = fitting.Examples(pixels, np.arange(40), np.arange(40) % 2, Preparation(2, 2))
    settings = Settings(epochs=3, batch_size=4, lr=0.5, tower_lr=1e-3)
    kept = []
    fitting.fit(
        model, examples, np.arange(20), np.arange(20, 40), settings, "cpu", keep=lambda model, _: kept.append(model)
    )
    assert rates[:5] == [(0.5, 2)] * 5
    assert [count for _, count in rates[5:]] == [4] * 10
    rest = [rate for rate, _ in rates[5:]]
    assert rest[0] == pytest.approx(1e-6)
    assert rest.index(max(rest)) == 2
    assert max(rest) == pytest.approx(1e-3)
    assert rest[2:] == sorted(rest[2:], reverse=True)
    assert kept


def test_of_several_settings_the_best_on_the_validation_split_is_kept(train, tmp_path):
    many = train("many", epochs=[1, 3], tower_lr=[1e-9, 2e-3])
    training = config_of(tmp_path / "many")["training"]
    tried = training["tried"]
    assert [(t["epochs"], t["tower_lr"]) for t in tried] == [(1, 1e-9), (1, 2e-3), (3, 1e-9), (3, 2e-3)]
    best = max(tried, key=lambda t: (t["validation_accuracy"], -t["validation_loss"]))
    assert training["settings"] == {k: best[k] for k in ("epochs", "seed", "batch_size", "lr", "tower_lr")}
    alone = train("alone", epochs=best["epochs"], tower_lr=best["tower_lr"])
    assert config_of(tmp_path / "alone")["weights"] == config_of(tmp_path / "many")["weights"]
    assert alone.test == many.test
    assert "These settings were tried" in (tmp_path / "many" / "README.md").read_text()
    assert "were tried" not in (tmp_path / "alone" / "README.md").read_text()
    assert not train("many", epochs=[1, 3], tower_lr=[1e-9, 2e-3]).trained


def test_what_is_given_beside_a_preset_wins(train, tmp_path):
    train("preset", preset="paper_gender", epochs=None, batch_size=8)
    told = config_of(tmp_path / "preset")["training"]["settings"]
    assert (told["epochs"], told["batch_size"]) == (2, 8)
    with pytest.raises(RequestError, match="no preset 'paper_age'"):
        train("other", preset="paper_age")


def test_pictures_of_a_relation(train):
    given = "(SELECT d.detection_id, crop(i.image, d.x, d.y, d.width, d.height) AS look FROM detections AS d JOIN images AS i USING (image_id))"
    one, two = train("one", epochs=1), train("two", epochs=1, images=given)
    weights = [(Path(t.output) / "model.safetensors").read_bytes() for t in (one, two)]
    assert weights[0] == weights[1]


def test_pictures_that_are_stored_in_a_view(build, train, tmp_path):
    lake = cb.connect(tmp_path / "own.lake")
    lake.ingest(coloured(build))
    cut = "crop(i.image, d.x, d.y, d.width, d.height)"
    select = "FROM detections AS d JOIN images AS i USING (image_id)"
    lake.create_materialized_view("looks", f"SELECT d.detection_id, {cut} AS look {select}", key="detection_id")
    lake.create_materialized_view("sizes", f"SELECT d.detection_id, d.width {select}", key="detection_id")
    lake.refresh(executor="inline")
    one, two = train("one", lake=lake, epochs=1), train("two", lake=lake, epochs=1, images="looks")
    weights = [(Path(t.output) / "model.safetensors").read_bytes() for t in (one, two)]
    assert weights[0] == weights[1]
    with pytest.raises(RequestError, match="no column of pictures"):
        train(lake=lake, images="sizes")
    with pytest.raises(RequestError, match="no column 'detection_id'"):
        train(lake=lake, images="images")


def test_pictures_that_cannot_be_read_are_left_out(build, train, tmp_path):
    rows = coloured(build)
    bytes_ = rows["images"]["image"].to_pylist()
    bytes_[3:5] = [None, b"no picture"]
    rows["images"] = rows["images"].set_column(
        rows["images"].column_names.index("image"), "image", pa.array(bytes_, pa.binary())
    )
    outside = rows["detections"]["x"].to_pylist()
    outside[rows["detections"]["detection_id"].to_pylist().index(4700)] = 500.0
    x = rows["detections"].column_names.index("x")
    rows["detections"] = rows["detections"].set_column(x, "x", pa.array(outside, pa.float32()))
    lake = cb.connect(tmp_path / "own.lake")
    lake.ingest(rows)
    done = train(lake=lake, epochs=1)
    assert done.trained
    assert done.without_picture is None  # four: too few to be told
    assert "| labels without a picture | not shown |" in (Path(done.output) / "README.md").read_text()


def test_no_pictures(build, train, tmp_path):
    rows = coloured(build)
    rows["images"] = rows["images"].drop_columns(["image"])
    lake = cb.connect(tmp_path / "own.lake")
    lake.ingest(rows)
    with pytest.raises(RequestError, match="no pictures to learn from") as caught:
        train(lake=lake)
    assert caught.value.code == "E3554"
    assert "--store-images" in caught.value.hint
    assert not (tmp_path / "out").exists()


def test_labels_that_do_not_fit(train, tmp_path):
    with pytest.raises(NotFoundError, match="no labels of 'color' for boxes; did you mean 'colour'") as caught:
        train(attribute="color")
    assert caught.value.hint == "its attributes are colour"
    with pytest.raises(RequestError, match="no column 'value'"):
        train(labels="detections")
    twice = "(SELECT detection_id, value FROM labels UNION ALL SELECT 100, 'blue' UNION ALL SELECT 100, 'red')"
    with pytest.raises(RequestError, match="more than one label") as caught:
        train(labels=twice)
    assert caught.value.code == "E3551"
    with pytest.raises(RequestError, match="too few labels to learn 'red'") as caught:
        train(labels="(SELECT detection_id, value FROM labels WHERE value <> 'red' OR detection_id < 500)")
    assert caught.value.code == "E3553"
    with pytest.raises(RequestError, match="all labels are 'red'"):
        train(labels="(SELECT detection_id, value FROM labels WHERE value = 'red')")
    with pytest.raises(NotFoundError, match="open_clip has no model 'ViT-Z-99'"):
        train(model="ViT-Z-99/none")
    assert list(tmp_path.iterdir()) == []


def test_sensitive_labels_want_a_purpose(build, train, tmp_path):
    rows = coloured(build)
    at = rows["labels"].column_names.index("attribute")
    names = pa.array(["perceived_gender"] * len(rows["labels"]))
    rows["labels"] = rows["labels"].set_column(at, "attribute", names)
    lake = cb.connect(tmp_path / "own.lake")
    lake.ingest(rows)
    with pytest.raises(NotFoundError) as caught:
        train(lake=lake, attribute="perceived_gender")
    assert "--sensitive" in caught.value.hint
    done = train(lake=lake, attribute="perceived_gender", sensitive="test of training", epochs=1)
    assert done.trained
    from counterbalance.engine.catalog import access

    assert {e["purpose"] for e in access.read(lake.location).to_pylist()} == {"test of training"}


def test_what_a_killed_training_left_is_removed(train, tmp_path):
    left = tmp_path / ".out.training"
    (left / "done").mkdir(parents=True)
    (left / "pixels").write_bytes(b"old")
    (tmp_path / "out").mkdir()  # an empty folder is as good as none
    assert train(epochs=1).trained
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_one_training_a_folder_at_a_time(train, tmp_path):
    with writer_lock(Location(str(tmp_path / ".out.training")), "another"), pytest.raises(BusyError):
        train()
    assert not (tmp_path / "out").exists()


def test_an_interrupted_training_leaves_nothing(train, tmp_path):
    def stop(event):
        if event.stage == "epoch 2 of 6":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_settings_that_make_no_sense(train, tmp_path):
    for wrong in ({"epochs": 0}, {"batch_size": -1}, {"lr": 0.0}, {"tower_lr": float("nan")}):
        with pytest.raises(RequestError, match="must be above zero"):
            train(**wrong)
    with pytest.raises(FunctionError, match="diverged") as caught:
        train(lr=1e30, epochs=2)
    assert caught.value.code == "E8310"
    assert list(tmp_path.iterdir()) == []


def test_too_many_pictures_at_once(train, monkeypatch):
    def full(*_arguments):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(fitting, "_train", full)
    with pytest.raises(FunctionError, match="too many for the memory of cpu") as caught:
        train()
    assert caught.value.code == "E8150"


def test_rows_of_labels_become_numbers(lake):
    with lake.session() as session:
        rows = labelled.read(session, "labels", "colour")
    assert (rows.classes, len(rows)) == (("blue", "green", "red"), 200)
    assert rows.ids[:3].tolist() == [0, 1, 100]
    assert rows.boxes[1].tolist() == [26.0, 3.0, 20.0, 24.0]
    assert rows.images[:3].tolist() == [0, 0, 1]
    assert [rows.classes[i] for i in rows.labels[:3]] == ["blue", "blue", "green"]
    only = rows.only(rows.labels != 1)
    assert only.classes == ("blue", "red")
    assert set(only.labels.tolist()) == {0, 1}
    assert only.digest() != rows.digest()


def test_towers_of_timm(train, tiny_clip):
    """As SigLIP's is one; the checkpoint is read back without open_clip's list of models."""
    from counterbalance.udfs.models import classifier

    vision = {"image_size": 160, "timm_model_name": "test_vit", "timm_pool": "token", "timm_proj": "linear"}
    done = train(epochs=2, model=str(tiny_clip(**vision)))
    model = classifier.checkpoint(done.output).load("cpu")
    assert type(model.tower).__name__ == "TimmModel"
    with torch.inference_mode():
        assert model(torch.zeros(2, 3, 160, 160)).shape == (2, 3)


def test_a_recipe_calls_it(small, tiny, tmp_path):
    from counterbalance.engine.recipes import actions

    call = actions.read(
        f"CALL train_classifier(labels := labels, attribute := 'colour', output := '{tmp_path / 'out'}', model := '{tiny}', epochs := 1)"
    )
    told = actions.run(small, call, sensitive=None, device="cpu", progress=None)
    assert told == f"colour (blue, green, red) trained: {tmp_path / 'out'}"
    assert "was there already" in actions.run(small, call, sensitive=None, device="cpu", progress=None)
