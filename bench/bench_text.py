"""Text functions against plain per-row implementations, on real captions.

    python bench/bench_text.py [--repeat 5] [--rows 25000] [--batch 2048] [--cpu]

Each function runs over the captions in batches, on one core, beside an obvious implementation: ``re`` row by row, simplemma
token by token (it remembers lemmas itself), GenSynth's procedure literally. Both run in turn, five times; medians. Slow
peers see fewer rows. Times are warm; the first pass over each set of captions is shown for ``lemmas``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

import pyarrow as pa
import simplemma

from counterbalance.udfs import wordlists
from counterbalance.udfs.gender import gender_words, neutralize, swap_gender
from counterbalance.udfs.words import country_mentions, lemmas, match_terms, matches

STOP = set(wordlists.terms("stop_words"))
CRIME = wordlists.terms("crime_words")[:71]
LISTED = {r["term"]: r["class"] for r in wordlists.wordlist("gender_words").to_pylist()}
PUBLISHED = {r["term"]: r["neutral"] for r in wordlists.wordlist("gender_gensynth").to_pylist()}
PAIRS = wordlists.wordlist("gender_words").to_pylist()
COUNTRIES = [(r["country"], r["term"]) for r in wordlists.wordlist("countries").to_pylist() if not r["matching"]]


def row_gender_words(text):
    found = [LISTED.get(word) for word in re.findall(r"\w+", text.lower())]
    return found.count("male"), found.count("female")


def row_gensynth(text):
    words = text.lower().split()
    return sum(PUBLISHED.get(w) is not None for w in words)


def replacing(table):
    either = re.compile(rf"\b(?:{'|'.join(table)})\b", re.IGNORECASE)
    return lambda text: either.sub(lambda m: table[m[0].lower()], text)


def row_published(text, *, delete=False):
    text = text.lower()
    for word, neutral in PUBLISHED.items():
        text = re.sub(rf"\b{word}\b", "" if delete else neutral, text)
        text = re.sub(r"\s+", " ", text)
        text = re.sub(r'\s([?.!,"](?:\s|$))', r"\1", text).strip()
    return text


def row_lemmas(text):
    tokens = [t for t in re.findall(r"\w+", text.lower()) if t not in STOP]
    return [x for x in (simplemma.lemmatize(t, "en").lower() for t in tokens) if x not in STOP]


def row_matching(labelled):
    forms = [(label, set(row_lemmas(f))) for label, term in labelled for f in {term, term.replace("-", "")}]

    def one(text):
        have = set(row_lemmas(text))
        return list(dict.fromkeys(label for label, form in forms if form <= have))

    return one


NEUTRAL = {r["term"]: r["neutral"] for r in PAIRS}
TO_FEMALE = {r["term"]: r["counterpart"] for r in PAIRS if r["class"] == "male"}
CASES = [
    ("gender_words(text)", gender_words, row_gender_words, 1),
    ("gender_words(text, 'gensynth')", lambda t: gender_words(t, "gensynth"), row_gensynth, 1),
    ("neutralize(text)", neutralize, replacing(NEUTRAL), 1),
    ("neutralize(text, 'published')", lambda t: neutralize(t, "published"), row_published, 20),
    (
        "neutralize(text, 'published_delete')",
        lambda t: neutralize(t, "published_delete"),
        lambda t: row_published(t, delete=True),
        20,
    ),
    ("swap_gender(text, 'female')", lambda t: swap_gender(t, "female"), replacing(TO_FEMALE), 1),
    ("lemmas(text)", lemmas, row_lemmas, 2),
    ("matches(text, 71 terms)", lambda t: matches(t, CRIME), row_matching([(t, t) for t in CRIME]), 5),
    ("match_terms(text, 71 terms)", lambda t: match_terms(t, CRIME), row_matching([(t, t) for t in CRIME]), 5),
    ("country_mentions(text)", country_mentions, row_matching(COUNTRIES), 20),
    ("country_mentions(text, 'cased')", lambda t: country_mentions(t, "cased"), row_matching(COUNTRIES), 20),
]


def captions(folder):
    annotations = json.loads((folder / "coco" / "captions_val2017.json").read_text(encoding="utf-8"))["annotations"]
    lines = (folder / "gcc" / "validation-8000.tsv").read_text(encoding="utf-8").splitlines()
    return {"COCO": [a["caption"] for a in annotations], "GCC alt-text": [line.split("\t")[0] for line in lines]}


def seconds(call, clock):
    start = clock()
    call()
    return clock() - start


def compare(ours, peer, texts, options, share, clock):
    """Median captions a second of both, run in turn."""
    batches = [pa.array(texts[i : i + options.batch]) for i in range(0, len(texts), options.batch)]
    fewer = texts[::share]
    for row in fewer[:50]:
        peer(row)
    for part in batches:
        ours(part)
    own, other = [], []
    for _ in range(options.repeat):
        own.append(seconds(lambda: [ours(part) for part in batches], clock))
        other.append(seconds(lambda: [peer(row) for row in fewer], clock))
    return len(texts) / statistics.median(own), len(fewer) / statistics.median(other)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rows", type=int, default=25_000)
    parser.add_argument("--batch", type=int, default=2_048)
    parser.add_argument("--cpu", action="store_true", help="processor time instead of wall time: for a busy machine")
    options = parser.parse_args()
    clock = time.thread_time if options.cpu else time.perf_counter
    folder = Path(os.environ.get("COUNTERBALANCE_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        sys.exit(f"no captions at {folder}; set COUNTERBALANCE_DATA")
    pa.set_cpu_count(1)
    print("| captions | function | thousand captions/s | per row, thousand/s | ratio |")
    print("|---|---|--:|--:|--:|")
    for name, own in captions(folder).items():
        texts = (own * (options.rows // len(own) + 1))[: options.rows]
        first = seconds(lambda own=own: lemmas(pa.array(own)), clock)
        print(f"| {name} | lemmas(text), first pass | {len(own) / first / 1e3:,.0f} | | |")
        for title, ours, peer, share in CASES:
            fast, slow = compare(ours, peer, texts, options, share, clock)
            print(f"| {name} | {title} | {fast / 1e3:,.0f} | {slow / 1e3:,.1f} | {fast / slow:,.1f} |", flush=True)


if __name__ == "__main__":
    main()
