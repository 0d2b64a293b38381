"""``verify`` finds what a tag names and is gone, and tags that Lance, whose tags other tools spare, has not or has otherwise."""

from __future__ import annotations

import pytest
from repeats import again

from counterbalance.engine.catalog import meta, snapshot
from counterbalance.engine.catalog.verify import accept
from counterbalance.engine.errors import NotFoundError


def found(lake):
    return [(f.kind, f.table, f.file, f.problem) for f in lake.verify().findings]


def path_of(lake, table="captions"):
    return lake.location.table_path(table) / "_refs" / "tags" / "v1.json"


def test_a_tagged_version_though_it_is_the_oldest(copied):
    lake = copied()
    manifests = sorted((lake.location.path / "images.lance" / "_versions").glob("*.manifest"))
    (tag,) = meta.read(lake.location, "tags").to_pylist()
    named = next(v["version"] for v in tag["versions"] if v["table"] == "images")
    wanted = [m for m in manifests if (1 << 64) - 1 - int(m.stem) <= named]
    for path in wanted:
        path.unlink()
    assert ("lost", "images", f"_versions/{wanted[0].name}", "the version is lost") in found(lake)


@pytest.mark.parametrize("table", ["captions", "sensitive/labels", "per_image", *again("images")])
def test_a_lost_tag(table, copied):
    lake = copied()
    path_of(lake, table).unlink()
    told = "the tag is gone: other tools do not spare the version any more"
    assert found(lake) == [("lost", table, "_refs/tags/v1.json", told)]


@pytest.mark.parametrize("content", [b'{"branch": nu', b"\xff", *again(b"")])
def test_a_damaged_tag(content, copied):
    lake = copied()
    path_of(lake).write_bytes(content)
    assert found(lake) == [("damaged", "captions", "_refs/tags/v1.json", "the tag cannot be read")]


def test_a_tag_of_another_version(copied):
    lake = copied()
    path = path_of(lake)
    version = int(path.read_text().split('"version": ')[1].split(",")[0])
    path.write_text(path.read_text().replace(f'"version": {version}', '"version": 1'))
    assert found(lake) == [("damaged", "captions", "_refs/tags/v1.json", "the tag names version 1")]


@pytest.mark.parametrize("content", [None, b"\xff", *again(b"")])
def test_what_is_accepted_is_tagged_again(content, copied):
    lake = copied()
    before = path_of(lake).read_text()
    path_of(lake).unlink()
    if content is not None:
        path_of(lake).write_bytes(content)
    accept(lake.location, lake.verify())
    assert found(lake) == []
    assert path_of(lake).read_text().split('"createdAt"')[0] == before.split('"createdAt"')[0]


def test_a_view_that_was_dropped_and_made_anew(copied):
    lake = copied()
    lake.drop_materialized_view("per_image")
    lake.create_materialized_view("per_image", "SELECT image_id FROM captions", "image_id")
    lake.refresh("per_image")
    for _ in range(4):
        lake.refresh("per_image", full=True)
    assert found(lake) == []


def test_a_tag_that_was_given_up(copied):
    lake = copied()
    snapshot.untag(lake.location, "v1")
    assert found(lake) == []
    with pytest.raises(NotFoundError):
        lake.session(at="v1")
