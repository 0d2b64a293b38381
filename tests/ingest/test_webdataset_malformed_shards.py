"""Every way a shard can be wrong is a refusal with its place or one error; nothing is lost in silence."""

from __future__ import annotations

import contextlib
import gzip
import json
import tarfile

import pytest
from archives import tar_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from image_files import image_bytes
from PIL import Image
from reading import rejects_of
from repeats import again

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.webdataset import read


def picture(n=0):
    return image_bytes(Image.new("RGB", (40 + n, 30), (n, 1, 2)), "JPEG")


def good(keys):
    return [(f"{k}.{e}", d) for k in keys for e, d in (("jpg", picture()), ("txt", f"caption {k}".encode()))]


@pytest.fixture
def load(tmp_path):
    def loaded(data, name="s.tar"):
        (tmp_path / name).write_bytes(data if isinstance(data, bytes) else tar_bytes(data))
        chunks = list(read(str(tmp_path / name), ReadOptions()).chunks)
        keys = [k for c in chunks for k in c.tables["images"]["key"].to_pylist()]
        texts = [t for c in chunks if "captions" in c.tables for t in c.tables["captions"]["text"].to_pylist()]
        rejects = [(r.position.removeprefix(f"{name}:"), r.code) for c in chunks for r in c.rejects]
        assert sum(c.rows_read for c in chunks) == len(keys) + len(rejects)
        assert all(r.source.endswith(name) and r.message for c in chunks for r in c.rejects)
        return keys, texts, rejects

    return loaded


def test_cut_in_a_header(load):
    data = tar_bytes(good("abc"))
    at = data.index(b"b.txt")
    keys, texts, rejects = load(data[: at + 100])
    assert (keys, texts) == (["a"], ["caption a"])
    assert rejects == [("b", "truncated_shard")]


def test_cut_in_a_picture(load):
    data = tar_bytes(good("abc"))
    keys, _, rejects = load(data[: data.index(b"b.jpg") + 600])
    assert keys == ["a"]
    assert rejects == [("b.jpg", "truncated_shard")]


def test_cut_before_the_caption_of_the_last_sample(load):
    data = tar_bytes(good("abc"))
    keys, texts, rejects = load(data[: data.index(b"c.txt")])
    assert (keys, texts) == (["a", "b"], ["caption a", "caption b"])
    assert rejects == [("c", "truncated_shard")]


def test_only_the_end_mark_is_missing(load):
    data = tar_bytes(good("abc")).rstrip(b"\0")
    data += bytes(-len(data) % 512)
    keys, texts, rejects = load(data)
    assert (keys, len(texts)) == (["a", "b", "c"], 3)
    assert [c for _, c in rejects] == ["truncated_shard"]


@pytest.mark.parametrize("step", [389, *again(97)])
def test_every_cut_is_told(load, step):
    data = tar_bytes(good("abcd"), tarfile.USTAR_FORMAT)
    end = data.rindex(b"caption d") + 512
    for cut in range(1, end, step):
        if cut < 512:
            with pytest.raises(SourceError):
                load(data[:cut])
            continue
        keys, texts, rejects = load(data[:cut])
        assert keys == list("abcd")[: len(keys)]
        assert texts == [f"caption {k}" for k in keys]
        assert [c for _, c in rejects] == ["truncated_shard"]


def test_a_truncated_gzip_shard_keeps_what_came_before(load):
    noise = image_bytes(Image.effect_noise((300, 300), 90), "JPEG")
    members = [(f"{k}.{e}", d) for k in "abcdef" for e, d in (("jpg", noise + k.encode()), ("txt", b"c"))]
    packed = gzip.compress(tar_bytes(members))
    keys, _, rejects = load(packed[: len(packed) * 3 // 4], "s.tar.gz")
    assert keys == list("abcdef")[: len(keys)]
    assert [c for _, c in rejects] == ["truncated_shard"]


@pytest.mark.parametrize(
    ("member", "keys", "texts", "codes"),
    [
        ("b.jpg", "ac", ["caption a", "caption c"], ["bad_header", "missing_image"]),
        ("b.txt", "abc", ["caption a", "caption c"], ["bad_header"]),
        ("c.txt", "abc", ["caption a", "caption b"], ["bad_header"]),
    ],
)
def test_a_bad_checksum_costs_its_member(load, member, keys, texts, codes):
    data = bytearray(tar_bytes(good("abc")))
    data[data.index(member.encode()) + 110] ^= 1
    found = load(bytes(data))
    assert found[0] == list(keys)
    assert found[1] == texts
    assert [c for _, c in found[2]] == codes


def test_interleaved_keys(load):
    a, b = good("ab")[:2], good("ab")[2:]
    keys, texts, rejects = load([a[0], b[0], a[1], b[1]])
    assert (keys, texts) == (["a", "b"], [])
    assert rejects == [("a", "interleaved_key"), ("b", "interleaved_key")]


def test_a_key_that_comes_twice_in_a_row(load):
    keys, texts, rejects = load([*good("a"), ("a.jpg", picture(9)), ("a.txt", b"other"), *good("b")])
    assert (keys, texts) == (["a", "b"], ["caption a", "caption b"])
    assert rejects == [("a.jpg", "duplicate_member"), ("a.txt", "duplicate_member")]


def test_a_key_that_comes_again_later_or_in_another_shard(tmp_path):
    (tmp_path / "0.tar").write_bytes(tar_bytes(good("aba")))
    (tmp_path / "1.tar").write_bytes(tar_bytes(good("cb")))
    chunks = list(read(str(tmp_path), ReadOptions()).chunks)
    assert [k for c in chunks for k in c.tables["images"]["key"].to_pylist()] == ["a", "b", "c"]
    rejects = rejects_of(chunks)
    assert rejects == [("0.tar:a", "interleaved_key"), ("1.tar:b.jpg", "duplicate_key")]
    assert sum(c.rows_read for c in chunks) == 5


def test_dots_in_names_that_merge_two_pictures(load):
    members = [(f"img.v{i}.{e}", d) for i in (1, 2) for e, d in (("jpg", picture(i)), ("txt", b"c"))]
    keys, _, rejects = load(members + good("b"))
    assert keys == ["b"]
    assert rejects == [("img", "ambiguous_image")]


@pytest.mark.parametrize(
    "name", ["/etc/passwd.jpg", "../up.jpg", "a/../../b.jpg", "C:\\a.jpg", "x\x1b[31m.jpg", "~/a.jpg", "a//b.jpg"]
)
def test_names_that_lead_elsewhere(load, name):
    keys, _, rejects = load([(name, picture()), *good("b")])
    assert keys == ["b"]
    assert [c for _, c in rejects] == ["bad_name"]
    assert rejects[0][0].isprintable()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices(load, kind):
    link = ("a.jpg", b"", {"type": kind, "linkname": "/etc/passwd"})
    keys, _, rejects = load([link, ("a.txt", b"c"), *good("b")])
    assert keys == ["b"]
    assert rejects == [("a.jpg", "bad_member"), ("a", "missing_image")]


def test_members_without_a_key_and_folders(load):
    folder = ("sub/", b"", {"type": tarfile.DIRTYPE})
    keys, _, rejects = load([folder, ("README", b"x"), (".hidden", b"x"), ("._a.jpg", b"x"), *good("b")])
    assert keys == ["b"]
    assert [c for _, c in rejects] == ["bad_name"] * 3


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_image"),
        (b"<html>", "not_an_image"),
        (b"\xff\xd8\xff\xe0", "bad_image"),
        (b"II*\0 tiff", "not_an_image"),
        (None, "too_big"),
    ],
)
def test_a_picture_that_is_none(load, data, code, monkeypatch):
    from counterbalance.ingest import samples

    monkeypatch.setattr(samples, "MAX_BYTES", 100_000)
    keys, _, rejects = load([("a.jpg", bytes(200_000) if data is None else data), ("a.txt", b"c"), *good("b")])
    assert keys == ["b"]
    assert rejects == [("a.jpg", code)]


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([("a.txt", b"\xff\xfe")], "bad_utf8"),
        ([("a.txt", b" \n")], "missing_caption"),
        ([("a.txt", b"x" * 2_000_000)], "too_long"),
        ([("a.json", b"{nope")], "bad_json"),
        ([("a.json", b"[1]")], "bad_json"),
        ([("a.json", b'{"caption": nan}')], "bad_json"),
        ([("a.json", b"{" + b" " * 2_000_000 + b"}")], "too_long"),
        ([("a.json", b'{"caption": 7}')], "bad_caption"),
        ([("a.json", b'{"caption": [1, "x"]}')], "bad_caption"),
        ([("a.cls", b"\xff")], "bad_utf8"),
    ],
)
def test_a_bad_text_is_told_and_the_picture_is_kept(load, parts, code):
    keys, texts, rejects = load([("a.jpg", picture()), *parts, *good("b")])
    assert keys == ["a", "b"]
    assert texts[-1] == "caption b"
    assert [c for _, c in rejects] == [code]


def test_samples_without_a_picture(load):
    keys, texts, rejects = load([("a.txt", b"c"), ("b.npy", b"x"), *good("c")])
    assert (keys, texts) == (["c"], ["caption c"])
    assert rejects == [("a", "missing_image"), ("b", "missing_image")]


def test_an_empty_archive_is_no_error(load):
    assert load(tar_bytes([])) == ([], [], [])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"<html>" + b" " * 600,
        b"x" * 100,
        json.dumps({}).encode(),
        gzip.compress(b"no tar" * 200, mtime=0),
    ],
)
def test_what_is_no_tar_is_one_error_before_the_first_row(tmp_path, data):
    (tmp_path / "0.tar").write_bytes(tar_bytes(good("a")))
    (tmp_path / "1.tar").write_bytes(data)
    with pytest.raises(SourceError, match=r"1\.tar (is not a tar file|is damaged)"):
        read(str(tmp_path), ReadOptions())


def test_nothing_is_written_and_nothing_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil = b"cos\nsystem\n(S'touch pwned'\ntR."
    members = [(f"a.{e}", evil) for e in ("pyd", "pickle", "pkl", "pth", "npy")]
    (tmp_path / "0.tar").write_bytes(tar_bytes([*good("a"), *members, ("pipe:touch pwned.jpg", picture())]))
    before = sorted(p.name for p in tmp_path.iterdir())
    list(read(str(tmp_path / "0.tar"), ReadOptions()).chunks)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), max_size=10),
    cut=st.integers(512, 1 << 20),
)
def test_any_damage_is_taken_told_or_one_error(load, flips, cut):
    data = bytearray(tar_bytes(good("abcd"), tarfile.USTAR_FORMAT)[:6000])
    for at, bits in flips:
        data[at % len(data)] ^= bits
    with contextlib.suppress(SourceError):  # the first header may be hit
        keys, texts, _ = load(bytes(data[:cut]))
        assert len(texts) <= len(keys) == len(set(keys))


def test_a_key_that_is_too_long(load):
    keys, _, rejects = load([("k" * 20_000 + ".jpg", picture()), *good("b")])
    assert keys == ["b"]
    assert [c for _, c in rejects] == ["too_long"]
    assert len(rejects[0][0]) <= 500


@pytest.mark.parametrize("cut", [100, 2_000_000])
def test_a_cut_inside_a_member_that_is_not_read(load, cut):
    data = tar_bytes([*good("a"), ("b.npy", bytes(3_000_000))])
    keys, _, rejects = load(data[: data.index(b"b.npy") + 512 + cut])
    assert keys == ["a"]
    assert rejects == [("b.npy", "truncated_shard")]
