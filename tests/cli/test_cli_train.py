"""``counterbalance train classifier``, end to end on a drawn data set."""

from __future__ import annotations

import json

import pytest

from counterbalance.__main__ import main

torch = pytest.importorskip("torch")
pytest.importorskip("open_clip")

FIRST = "(SELECT * FROM labels WHERE annotator = 'first' AND value <> 'unclear')"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A sample of 160 images with boxes and labels, and its pictures."""
    folder = tmp_path_factory.mktemp("drawn")
    lake = str(folder / "drawn.lake")
    assert main(["sample", str(folder / "files"), "--images", "160", "--progress", "never"]) == 0
    boxes = str(folder / "files" / "annotations" / "instances_sample.json")
    pictures = ["--images", str(folder / "files" / "images"), "--store-images", "--progress", "never"]
    assert main(["ingest", lake, boxes, "--format", "coco", *pictures]) == 0
    assert (
        main(["ingest", lake, str(folder / "files" / "labels.csv"), "--format", "labels", "--progress", "never"]) == 0
    )
    return lake


@pytest.fixture
def train(drawn, tiny_clip, tmp_path, capsys):
    def run(*words, labels=FIRST, attribute="perceived_race_ethnicity"):
        capsys.readouterr()
        folder = ["--output", str(tmp_path / "out"), "--model", str(tiny_clip()), "--progress", "never"]
        code = main(["train", "classifier", drawn, "--labels", labels, "--attribute", attribute, *folder, *words])
        return code, *capsys.readouterr()

    return run


def test_from_a_sample_to_labels(drawn, train, tmp_path, capsys):
    quick = ["--epochs", "2", "--device", "cpu", "--sensitive", "a test of training"]
    code, out, err = train(*quick)
    assert (code, err) == (0, "")
    assert "perceived_race_ethnicity (amber, teal, violet), epoch" in out
    assert "never who a person is" in out
    assert {f.name for f in (tmp_path / "out").iterdir()} == {"README.md", "config.json", "model.safetensors"}
    code, out, _ = train(*quick)
    assert code == 0
    assert "holds this classifier already" in out
    code, out, _ = train(*quick, "--json")
    told = json.loads(out)
    assert (told["trained"], told["attribute"], len(told["classes"])) == (False, "perceived_race_ethnicity", 3)
    sql = (
        "SELECT count(*) AS n FROM (SELECT label_person(crop(i.image, d.x, d.y, d.width, d.height), "
        f"'perceived_race_ethnicity', '{tmp_path / 'out'}').label AS label FROM detections AS d JOIN images AS i "
        "USING (image_id) WHERE d.category = 'person') WHERE label IN ('amber', 'teal', 'violet')"
    )
    assert main(["sql", drawn, sql, "--json", "--sensitive", "a test of labels"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["n"] > 150
    code, _, err = train(*quick, "--seed", "3")
    assert (code, "E3559" in err) == (1, True)


def test_without_a_purpose(train, tmp_path):
    code, _, err = train(labels="labels")
    assert code == 1
    assert "error[E1152]: labels has no labels of 'perceived_race_ethnicity'" in err
    assert "--sensitive" in err
    assert not (tmp_path / "out").exists()


def test_two_annotators(train):
    code, _, err = train("--sensitive", "a test of training", labels="labels")
    assert code == 1
    assert "more than one label" in err
    assert "consensus" in err


def test_usage(drawn, capsys):
    assert main(["train", "classifier", drawn, "--labels", "labels"]) == 2
    assert "--attribute" in capsys.readouterr().err
    assert main(["train"]) == 2
    assert main(["train", "--help"]) == 0
    assert "classifier" in capsys.readouterr().out
    assert main(["train", "classifier", "--help"]) == 0
    assert "perceived" in capsys.readouterr().out.lower()


def test_downloads_are_allowed_for_the_one_command(train, monkeypatch, tmp_path):
    import os

    from counterbalance.udfs.models import training

    seen = []

    def look(*_args, **_options):
        seen.append(os.environ.get("COUNTERBALANCE_ALLOW_DOWNLOAD"))
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", look)
    monkeypatch.delenv("COUNTERBALANCE_ALLOW_DOWNLOAD", raising=False)
    assert train("--allow-download")[0] == 130
    assert train()[0] == 130
    assert seen == ["1", None]
    assert "COUNTERBALANCE_ALLOW_DOWNLOAD" not in os.environ


def test_a_preset_is_passed_on_and_defaults_are_not(train, monkeypatch):
    from counterbalance.udfs.models import training

    seen = []

    def look(*_args, **options):
        seen.append({name: options[name] for name in ("preset", "epochs", "batch_size", "lr", "tower_lr")})
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", look)
    assert train("--preset", "paper_race_grid", "--batch-size", "8,16")[0] == 130
    assert seen == [{"preset": "paper_race_grid", "epochs": None, "batch_size": [8, 16], "lr": None, "tower_lr": None}]
    code, _, err = train("--preset", "paper")
    assert (code, "paper_gender_grid" in err) == (2, True)
