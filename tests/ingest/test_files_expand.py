"""What a user's SOURCE stands for: files, folders, globs, lists, braces."""

from __future__ import annotations

import fsspec
import pytest

from counterbalance.engine.errors import NotFoundError, SourceError, StorageError
from counterbalance.ingest.files import expand, source_of


@pytest.fixture
def folder(tmp_path):
    for name in ("a_00.json", "a_01.json", "b,c.json", "d{1,2}.json", "[x].json", "readme.txt", ".hidden.json"):
        (tmp_path / name).write_text(name)
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "in.JSON").write_text("{}")
    return tmp_path


def names(found):
    return [f.name for f in found]


def test_a_file_is_itself_with_its_size(folder):
    (file,) = expand(f"{folder}/a_00.json")
    assert (file.uri, file.size, file.stem) == (f"{folder}/a_00.json", 9, "a_00")
    with file.open() as opened:
        assert opened.read() == b"a_00.json"


def test_a_relative_path_becomes_absolute(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert expand("a_00.json")[0].uri == f"{folder}/a_00.json"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a_*.json", ["a_00.json", "a_01.json"]),
        ("a_{00..01}.json", ["a_00.json", "a_01.json"]),
        ("a_{01,00}.json", ["a_01.json", "a_00.json"]),
        ("a_{01..00}.json", ["a_01.json", "a_00.json"]),
        ("a_01.json, {D}/a_00.json", ["a_01.json", "a_00.json"]),
        ("a_00.json,{D}/a_0*.json", ["a_00.json", "a_01.json"]),
        ("b,c.json", ["b,c.json"]),
        ("d{1,2}.json", ["d{1,2}.json"]),
        ("[x].json", ["[x].json"]),
        ("readme.txt", ["readme.txt"]),
        ("{a_00,annotations/in}.{json,JSON}", None),
    ],
)
def test_patterns(folder, source, expected):
    source = f"{folder}/" + source.replace("{D}", str(folder))
    if expected is None:
        with pytest.raises(NotFoundError, match=r"a_00\.JSON"):
            expand(source)
    else:
        assert names(expand(source)) == expected


def test_a_folder_holds_what_has_the_suffix_and_is_not_hidden(folder):
    assert names(expand(str(folder), suffixes=(".json",))) == [
        "[x].json",
        "a_00.json",
        "a_01.json",
        "b,c.json",
        "d{1,2}.json",
    ]


def test_a_folder_inside_is_looked_into_first(folder):
    assert names(expand(str(folder), suffixes=(".json",), inside=("annotations",))) == ["in.JSON"]
    assert names(expand(str(folder), suffixes=(".txt",), inside=("annotations",))) == ["readme.txt"]


def test_sub_folders_count_when_asked_for(folder):
    assert "in.JSON" in names(expand(str(folder), recursive=True))


def test_links_are_followed(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "link").symlink_to(folder)
    (other / "one.json").symlink_to(folder / "a_00.json")
    assert names(expand(f"{other}/link", suffixes=(".json",), inside=("annotations",))) == ["in.JSON"]
    assert names(expand(str(other), suffixes=(".json",))) == ["one.json"]


def test_a_long_range_lists_its_folder_once(tmp_path):
    for i in range(40):
        (tmp_path / f"{i:05d}.tar").write_bytes(b"x" * i)
    found = expand(f"{tmp_path}/{{00000..00039}}.tar")
    assert [f.size for f in found] == list(range(40))
    assert source_of("", found, iter(()), []).total_bytes == sum(range(40))
    with pytest.raises(NotFoundError, match=r"00040\.tar"):
        expand(f"{tmp_path}/{{00000..00040}}.tar")


def test_a_long_list_is_no_file_name(tmp_path):
    paths = [tmp_path / f"{i:060d}.json" for i in range(90)]
    for path in paths:
        path.write_text("{}")
    assert len(expand(",".join(map(str, paths)))) == 90


def test_memory_uris_keep_their_protocol():
    fs = fsspec.filesystem("memory")
    fs.pipe({"/expand/x1.json": b"{}", "/expand/x2.json": b"{ }", "/expand/sub/x3.json": b""})
    assert [(f.uri, f.size) for f in expand("memory://expand/x*.json")] == [
        ("memory:///expand/x1.json", 2),
        ("memory:///expand/x2.json", 3),
    ]
    assert len(expand("memory://expand", suffixes=(".json",))) == 2
    assert len(expand("memory://expand", suffixes=(".json",), recursive=True)) == 3


@pytest.mark.parametrize(
    ("source", "error", "code", "text"),
    [
        ("", NotFoundError, "E1006", "name is empty"),
        ("nope.json", NotFoundError, "E1006", "no source at nope.json"),
        ("a_02.json", NotFoundError, "E1006", "did you mean 'a_0"),
        ("z*.json", NotFoundError, "E1006", r"z\*.json"),
        ("a_{00,07}.json", NotFoundError, "E1006", "a_07.json"),
        ("a_{0..9999999}.json", SourceError, "E4003", "10,000,000"),
        ("{0..999}{0..999}{0..999}", SourceError, "E4003", "1,000,000"),
        ("nosuch://bucket/x.json", StorageError, "E6020", "nosuch"),
        ("a\0b.json", SourceError, "E4001", "null"),
        ("a_00.json/x.json", NotFoundError, "E1006", "no source"),
    ],
)
def test_what_is_not_there_is_said(folder, monkeypatch, source, error, code, text):
    monkeypatch.chdir(folder)
    with pytest.raises(error, match=text) as caught:
        expand(source)
    assert caught.value.code == code


def test_an_empty_folder_says_what_it_holds(folder):
    with pytest.raises(NotFoundError, match=r"no \*\.tar in the folder .*; it holds .*a_00\.json"):
        expand(str(folder), suffixes=(".tar",))


def test_a_folder_of_folders_is_not_called_empty(folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    for name in ("val", "train"):
        (root / name).mkdir()
    with pytest.raises(NotFoundError, match=r"no \*\.tar in the folder .*; it holds train/, val/"):
        expand(str(root), suffixes=(".tar",))


def test_a_file_that_vanishes_or_grows_is_told(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b"12345")
    (file,) = expand(str(path))
    assert file.read(5) == b"12345"
    with pytest.raises(SourceError, match="larger than 4 bytes"):
        file.read(4)
    path.unlink()
    with pytest.raises(NotFoundError):
        file.open()


def test_every_opening_has_its_own_position():
    fsspec.filesystem("memory").pipe({"/twice/a.json": b"0123456789"})
    (file,) = expand("memory://twice/a.json")
    with file.open() as first, file.open() as second:
        assert (first.read(4), second.read(2), first.read(3), second.read()) == (b"0123", b"01", b"456", b"23456789")


def test_what_a_file_system_raises_becomes_a_source_error(monkeypatch):
    class ClientError(Exception):
        """As those of object stores: of no standard kind."""

    def refuse(*_, **__):
        raise ClientError("access denied")

    monkeypatch.setattr(fsspec.filesystem("memory"), "info", refuse)
    with pytest.raises(SourceError, match=r"cannot read memory://x\.json: access denied"):
        expand("memory://x.json")
