"""Thumbnails are kept in files that others cannot read, are not made twice, go when there are too many, and with their image."""

from __future__ import annotations

import asyncio
import stat

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.ui import kept, thumbnails

WHERE = "/api/lakes/demo/images/{}/picture"


def files(lake):
    folder = kept.folder_of(lake.location.root)
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_files_are_closed_to_others(serve, pictured, picture):
    lake = pictured(picture())
    serve(lake).get(WHERE.format(1))
    (file,) = files(lake)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (file, file.parent, file.parent.parent)] == [0o600, 0o700, 0o700]


def test_another_server_finds_them(serve, pictured, picture, monkeypatch):
    lake = pictured(picture(), sha256=["0" * 64])
    first = serve(lake).get(WHERE.format(1)).content
    monkeypatch.setattr(thumbnails, "decode", None)
    assert serve(lake).get(WHERE.format(1)).content == first


def test_the_cache_is_bounded(pictured):
    held = kept.Kept("bounded", most_bytes=10_000)
    for number in range(20):
        held.write(number, "a.160", bytes(1000))
        held.read(0, "a.160")
    sizes = [f.stat().st_size for f in kept.folder_of("bounded").iterdir()]
    assert sum(sizes) <= 10_000
    assert held.read(0, "a.160")  # looked at all the time
    assert held.read(1, "a.160") is None
    assert held.read(19, "a.160")


def test_a_deleted_image_is_gone(serve, pictured, picture):
    lake = pictured(picture(1), picture(2))
    client = serve(lake)
    assert [client.get(WHERE.format(i)).status_code for i in (1, 2)] == [200, 200]
    lake.delete(ids=[1], apply=True)
    assert [client.get(WHERE.format(i)).status_code for i in (1, 2)] == [404, 200]
    assert {f.name.partition(".")[0] for f in files(lake)} == {"2"}


def test_two_lakes_of_one_name_do_not_share_them(tmp_path, monkeypatch, serve, build, picture):
    found = []
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        lake = cb.connect("same.lake")
        lake.ingest({"images": build.images(image_id=[1], sha256=["0" * 64], image=[picture(number)])})
        found.append(serve(lake).get(WHERE.format(1)).content)
    assert found[0] != found[1]


def test_a_command_that_deletes_images_removes_them(serve, pictured, picture, tmp_path, capsys):
    lake = pictured(picture(1), picture(2), folder=tmp_path / "a.lake")
    client = serve(lake)
    client.get(WHERE.format(1))
    assert main(["delete", str(tmp_path / "a.lake"), "--where", "image_id = 1"]) == 0
    assert files(lake)
    assert main(["delete", str(tmp_path / "a.lake"), "--where", "image_id = 1", "--apply"]) == 0
    assert files(lake) == []
    assert client.get(WHERE.format(1)).status_code == 404
    assert capsys.readouterr().err.count("error") == 0


def test_many_are_read_together(pictured, picture, request_of, monkeypatch):
    lake = pictured(*map(picture, range(5)))
    reads = []
    real = thumbnails.pictures.stored_bytes
    monkeypatch.setattr(thumbnails.pictures, "stored_bytes", lambda *a: reads.append(sorted(a[2])) or real(*a))

    request = request_of(lake)

    async def five():
        made = thumbnails.Thumbnails()
        return await asyncio.gather(*(made.get(request, i, 160) for i in range(1, 6)))

    assert all(asyncio.run(five()))
    assert reads == [[1, 2, 3, 4, 5]]


def test_what_cannot_be_written_is_shown_all_the_same(serve, pictured, picture, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert serve(pictured(picture())).get(WHERE.format(1)).status_code == 200


def test_names_of_lakes_lead_nowhere_else():
    assert kept.folder_of("../../x").parent == kept.folder_of(cb.__name__).parent
