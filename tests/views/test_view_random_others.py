"""random_others draws a pair of another image for each pair, every one as likely, by a seed."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from scipy import stats

IMAGE_OF = {number * 7 % 60: image for number, image in enumerate(i for i in range(20) for _ in range(1 + i % 5))}
SEEDS = 50


def drawn(session, image_of, seed):
    pairs = pa.table({"pair_id": [*image_of, None, 99], "image_id": [*image_of.values(), 1, None]})
    return session.sql("FROM random_others(p, seed := $seed) ORDER BY ALL", p=pairs, seed=seed).fetchall()


def test_every_pair_of_another_image_is_as_likely(session):
    assert len(IMAGE_OF) == 60
    met = Counter()
    for seed in range(SEEDS):
        rows = drawn(session, IMAGE_OF, seed)
        assert sorted(row[0] for row in rows) == sorted(IMAGE_OF)
        for pair, other, image in rows:
            assert image == IMAGE_OF[other] != IMAGE_OF[pair]
            met[pair, other] += 1
    others = {a: [b for b in IMAGE_OF if IMAGE_OF[b] != IMAGE_OF[a]] for a in IMAGE_OF}
    chi = sum((met[a, b] - SEEDS / len(found)) ** 2 * len(found) / SEEDS for a, found in others.items() for b in found)
    assert 0.001 < stats.chi2.sf(chi, sum(len(found) - 1 for found in others.values())) < 0.999
    assert drawn(session, IMAGE_OF, 3) == drawn(session, IMAGE_OF, 3) != drawn(session, IMAGE_OF, 4)


def test_of_one_image_there_is_no_other(session):
    assert drawn(session, {1: 1, 2: 1}, 0) == []
