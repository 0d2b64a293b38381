"""Functions of one query that use the same model share it; after the last one it is gone."""

from __future__ import annotations

import gc
import logging
import threading
import weakref

import pyarrow as pa
import pytest

from counterbalance.engine.functions import function

pytest.importorskip("open_clip")


def held(*folders):
    """Models of these folders that are loaded; lakes of other tests may hold their own."""
    from counterbalance.udfs.models.clip_model import MODELS

    return {key[0]: each.model for key, each in MODELS._held.items() if key[0] in map(str, folders)}


def test_one_model_for_all_who_use_it(tiny_clip):
    folder, other = str(tiny_clip()), str(tiny_clip(seed=1))
    opened = [
        function("embed_image").open({"model": folder, "drop": None}, "cpu"),
        function("clip_score").open({"model": folder}, "cpu"),
        function("classify_zero_shot").open({"labels": ["a", "b"], "model": folder}, "cpu"),
    ]
    stranger = function("embed_text").open({"model": other, "drop": None}, "cpu")
    models = [o._instance.loaded for o in opened]
    assert models[0] is models[1] is models[2] is not stranger._instance.loaded
    gone = weakref.ref(models.pop())
    del models
    for each in opened[:2]:
        each.close()
    assert gone() is not None
    opened[2].close()
    gc.collect()
    assert gone() is None
    stranger.close()
    assert held(folder, other) == {}


def test_a_session_that_is_dropped_lets_its_model_go(lake, tiny_clip):
    folder = tiny_clip()
    session = lake.session()
    session.sql(f"SELECT embed_text('a dog', model := '{folder}')").fetchall()
    assert len(held(folder)) == 1
    del session
    assert held(folder) == {}


def test_a_lake_keeps_the_models_of_its_last_query(lake, tiny_clip):
    folder, other = str(tiny_clip()), str(tiny_clip(seed=1))
    lake.sql(f"SELECT embed_text('a dog', model := '{folder}')").fetchall()
    first = held(folder)[folder]
    lake.sql("SELECT 1").fetchall()
    lake.sql(f"SELECT embed_text('a cat', model := '{folder}', drop := [1])").fetchall()
    assert held(folder) == {folder: first}
    lake.sql(f"SELECT embed_text('a dog', model := '{other}')").fetchall()
    assert held(folder, other).keys() == {other}
    lake.close()
    assert held(folder, other) == {}


def test_a_refresh_has_the_memory_of_models_that_queries_left(lake, tiny_clip):
    folder = tiny_clip()
    lake.sql(f"SELECT embed_text('a dog', model := '{folder}')").fetchall()
    assert len(held(folder)) == 1
    lake.refresh()
    assert held(folder) == {}


def test_a_class_that_cannot_open_holds_nothing(tiny_clip, monkeypatch):
    from counterbalance.udfs.models import clip_model

    folder = tiny_clip()
    monkeypatch.setitem(clip_model._TOKENS, "cpu", "no number")
    with pytest.raises(TypeError):
        function("classify_zero_shot").open({"labels": ["a"], "model": str(folder)}, "cpu")
    assert held(folder) == {}


def test_threads_get_what_one_thread_gets(tiny_clip):
    constants = {"model": str(tiny_clip()), "drop": None}
    texts = [pa.array([f"text {i} of {n}" for i in range(20)]) for n in range(4)]
    one = function("embed_text").open(constants, "cpu")
    expected = [one([t]).values for t in texts]
    found = [None] * 4

    def work(number):
        opened = function("embed_text").open(constants, "cpu")
        found[number] = opened([texts[number]]).values
        opened.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    one.close()
    assert all(a.equals(b) for a, b in zip(expected, found, strict=True))


def test_loading_says_nothing_and_leaves_no_trace(tiny_clip, capfd):
    """open_clip speaks through the root logger, which would set it up for the whole process."""
    constants = pytest.importorskip("huggingface_hub.constants")
    root = logging.getLogger()
    before = list(root.handlers), list(root.filters), constants.HF_HUB_OFFLINE
    function("embed_text").open({"model": str(tiny_clip()), "drop": None}, "cpu").close()
    assert (list(root.handlers), list(root.filters), constants.HF_HUB_OFFLINE) == before
    assert capfd.readouterr() == ("", "")


def test_no_library_may_connect_unless_it_was_allowed(monkeypatch):
    """Inside, Hugging Face's own client refuses before it opens a connection."""
    hub = pytest.importorskip("huggingface_hub")
    from counterbalance.udfs.models.shared import loading

    monkeypatch.delenv("COUNTERBALANCE_ALLOW_DOWNLOAD", raising=False)
    with loading(), pytest.raises(Exception, match="offline mode is enabled"):
        hub.HfApi(endpoint="http://127.0.0.1:9").model_info("somebody/something")
    monkeypatch.setenv("COUNTERBALANCE_ALLOW_DOWNLOAD", "1")
    with loading():
        assert hub.constants.HF_HUB_OFFLINE is False
