"""Whatever Lance, Arrow or DuckDB make of damaged files, what users get is an error of this package with a hint."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from repeats import again

from counterbalance.__main__ import main
from counterbalance.engine.errors import CounterbalanceError, StorageError
from counterbalance.engine.store import tables

QUERIES = (
    "SELECT sum(length(text)), max(shout) FROM captions",
    "SELECT count(category), sum(detection_id) FROM detections",
    "SELECT attribute, value, count(*) FROM labels GROUP BY ALL",
    "SELECT image_id FROM captions WHERE text = 'a woman rides horse 1'",
    "SELECT sum(n) FROM per_image",
    "SELECT * FROM images",
)


class PanicException(BaseException):
    """As pyo3's, which cannot be raised from here."""


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "flips"), [(6, 8), *again((6, 20), (5, 40))])
def test_flipped_bits(copied, files_of, seed, flips):
    rng, told = random.Random(seed), []
    for _ in range(flips):
        lake = copied()
        path = rng.choice([f for f in files_of(lake.location.path) if f.parent.name in {"data", "_versions"}])
        content = bytearray(path.read_bytes())
        bit = rng.randrange(8 * len(content))
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        try:
            for query in QUERIES:
                lake.sql(query, sensitive="a test").fetchall()
        except CounterbalanceError as error:
            told.append(error)
    assert len(told) > flips // 8
    assert {type(error) for error in told} == {StorageError}
    assert all("counterbalance verify" in error.hint for error in told)


@pytest.mark.parametrize("table", ["captions", "meta/runs", "meta/codes", "sensitive/labels"])
def test_emptied_data(table, copied):
    lake = copied()
    for path in (lake.location.path / f"{table}.lance" / "data").glob("*.lance"):
        path.write_bytes(b"")
    with pytest.raises(StorageError, match=table.removeprefix("sensitive/")) as caught:
        lake.sql("SELECT count(text), (SELECT count(value) FROM labels) FROM captions", sensitive="a test").fetchall()
    assert "counterbalance verify" in caught.value.hint


@pytest.mark.parametrize(
    "raised", [PanicException("range end"), pa.ArrowInvalid("Schema error"), OSError("LanceError(IO)")]
)
def test_panics_and_errors_while_reading(raised, copied):
    with (
        pytest.raises(StorageError, match="cannot read table 'captions'") as caught,
        tables.reading(copied().location, "captions"),
    ):
        raise raised
    assert caught.value.__cause__ is raised


def test_a_panic_in_a_call(copied, monkeypatch):
    lake = copied()
    place = f"{lake.location.root}/meta/errors.lance/data/1.lance"
    monkeypatch.setattr(
        "counterbalance.engine.refresh.status.status", lambda *_, **__: (_ for _ in ()).throw(PanicException(place))
    )
    with pytest.raises(StorageError, match="cannot read table 'meta/errors'"):
        lake.status()


def test_a_panic_on_the_command_line(copied, monkeypatch, capsys):
    monkeypatch.setattr(
        "counterbalance.engine.refresh.status.status", lambda *_, **__: (_ for _ in ()).throw(PanicException("x"))
    )
    assert main(["status", copied().uri]) == 1
    assert capsys.readouterr().err == (
        "error[E6001]: a table cannot be read: x\n"
        "hint: a file may be missing or damaged: counterbalance verify LAKE shows which\n"
    )


@pytest.mark.parametrize("raised", [PanicException("mine"), ValueError("mine"), KeyboardInterrupt()])
def test_what_is_no_damage_stays(raised, copied):
    wanted = StorageError if isinstance(raised, PanicException) else type(raised)
    with pytest.raises(wanted), tables.reading(copied().location):
        raise raised
