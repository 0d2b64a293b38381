"""The walk through an archive sees what tarfile sees, and what tarfile passes over in silence."""

from __future__ import annotations

import io
import tarfile

import pytest
from archives import tar_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterbalance.ingest.tarstream import Damage, Member, is_header, walk

NAME = st.text(st.sampled_from("abé./ "), min_size=1, max_size=150).map(lambda s: "x" + s.rstrip("/ ") + "y")
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


def walked(data, wanted=lambda _name, _size: True):
    return list(walk(io.BytesIO(data), wanted))


@pytest.mark.parametrize("kind", FORMATS)
@given(members=st.lists(st.tuples(NAME, st.binary(max_size=1200)), max_size=6))
def test_equals_tarfile(kind, members):
    try:
        data = tar_bytes(members, kind)
    except ValueError:  # ustar has no room for the name
        return
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        wanted = [(m.name, m.size, tar.extractfile(m).read()) for m in tar]
    assert [(m.name, m.size, m.data) for m in walked(data)] == wanted
    assert is_header(data[:512])


def test_what_is_not_wanted_is_passed_over():
    data = tar_bytes([("a.bin", b"x" * 3_000_000), ("b.txt", b"y")])
    found = walked(data, lambda name, size: size < 10)
    assert [(m.name, m.size, m.data) for m in found] == [("a.bin", 3_000_000, None), ("b.txt", 1, b"y")]


def test_kinds_of_members():
    kinds = {tarfile.SYMTYPE: "symbolic link", tarfile.LNKTYPE: "hard link", tarfile.CHRTYPE: "character device"}
    kinds |= {tarfile.BLKTYPE: "block device", tarfile.FIFOTYPE: "fifo", tarfile.DIRTYPE: "folder"}
    data = tar_bytes([(f"m{i}", b"", {"type": t, "linkname": "/etc/passwd"}) for i, t in enumerate(kinds)])
    assert [m.kind for m in walked(data)] == list(kinds.values())


def test_a_long_pax_size_and_a_size_in_base_256():
    big = tarfile.TarInfo("big")
    big.size = 9 << 30
    for kind in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        head = big.tobuf(kind)
        (member,) = [m for m in walked(head + bytes(1024)) if isinstance(m, Damage)]
        assert member.code == "truncated_shard"
        assert member.name == "big"


@pytest.mark.parametrize("field", [b"\xff" * 12, b"99999999999\0", b"zz\0", b"\x80" + b"\xff" * 11])
def test_a_senseless_size_is_a_bad_header_or_a_cut(field):
    data = bytearray(tar_bytes([("a", b"xyz"), ("b", b"1")]))
    data[124:136] = field
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    found = walked(bytes(data))
    assert isinstance(found[0], Damage)
    assert found[0].code in {"bad_header", "truncated_shard"}


def test_after_a_bad_header_the_walk_goes_on():
    data = bytearray(tar_bytes([("a", b"1"), ("b", b"2" * 700), ("c", b"3")]))
    data[1024] ^= 1
    found = walked(bytes(data))
    assert [f.name if isinstance(f, Member) else (f.code, f.offset) for f in found] == ["a", ("bad_header", 1024), "c"]


def test_joined_archives_are_read_to_the_end():
    data = tar_bytes([("a", b"1")]) + tar_bytes([("b", b"2")])
    assert [m.name for m in walked(data)] == ["a", "b"]


def test_garbage_behind_the_end_mark_is_told():
    found = walked(tar_bytes([("a", b"1")]) + b"garbage" * 100)
    assert [f.name if isinstance(f, Member) else f.code for f in found] == ["a", "bad_header", "truncated_shard"]


def test_an_extended_header_that_makes_no_sense_is_told():
    head = tarfile.TarInfo("p")
    head.type, head.size = tarfile.XHDTYPE, 10
    data = head.tobuf() + b"99 path=x\n".ljust(512, b"\0") + tar_bytes([("b", b"2")])
    found = walked(data)
    assert [f.name if isinstance(f, Member) else f.code for f in found] == ["bad_header", "b"]


def test_a_name_that_is_no_utf8_is_marked():
    data = tar_bytes([("a", b"1")])
    data = bytearray(data)
    data[0] = 0xFF
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    (member,) = walked(bytes(data))
    assert (member.name, member.sound, member.data) == ("\\xff", False, None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cut_keeps_what_is_whole_and_tells_the_rest(record_property, data):
    record_property("archives", 1)
    members = [
        (f"{i}.txt", bytes([i]) * n)
        for i, n in enumerate(data.draw(st.lists(st.integers(0, 1300), min_size=1, max_size=4)))
    ]
    whole = tar_bytes(members, tarfile.USTAR_FORMAT)
    end = sum(512 + -(-len(d) // 512) * 512 for _, d in members)
    cut = data.draw(st.integers(1, end))
    found = walked(whole[:cut])
    kept = [(m.name, m.data) for m in found if isinstance(m, Member)]
    assert kept == members[: len(kept)]
    assert [d.code for d in found if isinstance(d, Damage)] == ["truncated_shard"]
    at, ends = 0, []
    for _, d in members:
        ends.append(at + 512 + len(d))
        at += 512 + -(-len(d) // 512) * 512
    assert len(kept) == sum(e <= cut for e in ends)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(0, 10_239), st.integers(1, 255)), max_size=8))
def test_damage_never_raises(record_property, flips):
    record_property("archives", 1)
    data = bytearray(tar_bytes([("a.jpg", b"1" * 600), ("a.txt", b"2"), ("b.jpg", b"3" * 1025)]))
    for at, bits in flips:
        data[at % len(data)] ^= bits
    for item in walked(bytes(data)):
        assert isinstance(item, (Member, Damage))


@pytest.mark.parametrize(
    "body", [b"13 size=-000\n", b"40 size=" + b"9" * 31 + b"\n", b"7 path\n", b"x path=y\n", b"5 a=b\n"]
)
def test_pax_records_that_make_no_sense_are_told(body):
    head = tarfile.TarInfo("p")
    head.type, head.size = tarfile.XHDTYPE, len(body)
    found = walked(head.tobuf() + body.ljust(512, b"\0") + tar_bytes([("b", b"2")]))
    assert [f.name if isinstance(f, Member) else f.code for f in found] == ["bad_header", "b"]


def test_a_long_name_that_is_cut_off_is_told():
    data = tar_bytes([("x" * 300, b"1")], tarfile.GNU_FORMAT)
    assert [f.code for f in walked(data[:700])] == ["truncated_shard"]


def test_a_long_name_of_megabytes_is_told():
    head = tarfile.TarInfo("p")
    head.type, head.size = tarfile.GNUTYPE_LONGNAME, 2 << 20
    found = walked(head.tobuf(tarfile.GNU_FORMAT) + bytes(2 << 20) + tar_bytes([("b", b"2")]))
    assert [f.name if isinstance(f, Member) else f.code for f in found] == ["bad_header", "b"]


@pytest.mark.parametrize("body", [b"12 path=abc\n", b"12 path=abc\n5 a=b\n"])
def test_a_name_goes_to_no_other_member_than_its_own(body):
    head = tarfile.TarInfo("p")
    head.type, head.size = tarfile.XHDTYPE, len(body)
    lost = b"" if b"=b" in body else b"x" * 512  # the header of the member that the name is of
    found = walked(head.tobuf() + body.ljust(512, b"\0") + lost + tar_bytes([("b", b"2")]))
    assert [f.name if isinstance(f, Member) else f.code for f in found] == ["bad_header", "b"]


@pytest.mark.parametrize("body", [b"1" * 300_000, b"12 path=abc\n" * 20_000])
def test_a_hostile_extended_header_costs_no_time(body):
    """The pattern that tarfile of Python 3.11.7 searches for takes minutes over the first (CVE-2024-6232)."""
    head = tarfile.TarInfo("p")
    head.type, head.size = tarfile.XHDTYPE, len(body)
    found = walked(head.tobuf() + body + bytes(-len(body) % 512) + tar_bytes([("b", b"2")]))
    assert len(found) in {1, 2}


def test_a_thousand_long_names_in_a_row_lose_nothing():
    head = tarfile.TarInfo("p")
    head.type, head.size = tarfile.GNUTYPE_LONGNAME, 200
    names = (head.tobuf(tarfile.GNU_FORMAT) + (b"x" * 200).ljust(512, b"\0")) * 1100
    found = walked(names + tar_bytes([("b", b"2"), ("c", b"3")]))
    assert [m.name for m in found] == ["x" * 200, "c"]
