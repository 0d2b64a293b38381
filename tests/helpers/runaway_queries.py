"""Queries that never end by themselves, a kind of work each."""

from __future__ import annotations

from typing import Final

ENDLESS: Final = {
    "cross join": "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3",
    "recursion": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "arithmetic": "SELECT sum(sin(range) * cos(range)) FROM range(20000000000)",
    "sort": "SELECT * FROM range(2000000000) ORDER BY hash(range) DESC LIMIT 5 OFFSET 1000000",
    "regular expression": "SELECT count(*) FROM range(3000000000) WHERE regexp_matches(range::VARCHAR, '(1+)+x')",
    "distinct": "SELECT count(DISTINCT hash(range)) FROM range(5000000000)",
    "self join": "SELECT count(*) FROM images a, images b, images c, images d, images e, range(100000000) r",
    "window": "SELECT max(s) FROM (SELECT sum(range) OVER (ORDER BY hash(range)) AS s FROM range(500000000))",
    "correlated": "SELECT sum((SELECT count(*) FROM range(100000) b WHERE b.range % 7 = a.range % 5)) FROM range(1000000) a",
    "sleep": "SELECT count(sleep_ms(5)) FROM range(100000)",
}
