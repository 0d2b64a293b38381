"""Functions of SQL give on Spark what they give on DuckDB, or are refused: none gives something else."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest
from spark_marks import ON_SPARK

import counterbalance as cb
from counterbalance.engine.errors import SqlError

pytestmark = ON_SPARK
SAME = """
i + 1
i - f
-i
i % 2
i // 2
-7 // i
-7 % i
i / 2
i * 1.5
d * 2
d / 3
d + 0.005
round(f)
ceil(d)
abs(f)
sqrt(abs(f))
ln(i)
log2(i)
log10(i)
exp(i)
pow(i, 2)
i ** 2
greatest(i, 2)
least(i, NULL, 2)
greatest(f, 0)
least(f, 0)
f > 1
f = f
f IS NULL
coalesce(i, 0)
nullif(i, 2)
ifnull(i, 9)
CASE WHEN b THEN 1 ELSE 0 END
CASE i WHEN 1 THEN 'x' END
if(b, 1, 2)
b AND i > 1
b OR NULL
NOT b
b IS NOT TRUE
i IN (1, NULL)
i NOT IN (1, 2)
i NOT IN (1, NULL)
i BETWEEN 2 AND 3
concat_ws('-', s, NULL, i)
lower(s)
length(s)
s < 'b'
s LIKE '_'
left(s, 1)
substr(s, 1, 1)
s || 'x'
s || NULL
replace(s, 'b', 'q')
trim(s)
ltrim(s)
strpos(s, 'b')
position('b' IN s)
instr(s, 'b')
contains(s, 'b')
starts_with(s, 'b')
ends_with(s, 'b')
split_part('a,b', ',', 2)
regexp_matches(s, '^b')
regexp_extract('abc12', '([a-z]+)(\\d+)', 2)
regexp_extract('abc', 'x')
regexp_extract_all('a1b2', '[a-z]')
md5(s)
CAST(i AS VARCHAR)
CAST(d AS VARCHAR)
CAST(b AS VARCHAR)
CAST(b AS INTEGER)
CAST(d AS INTEGER)
CAST(t AS VARCHAR)
CAST(dt AS VARCHAR)
CAST(' 7 ' AS INTEGER)
CAST('1e3' AS DOUBLE)
CAST('true' AS BOOLEAN)
CAST(i AS BOOLEAN)
CAST(1e0/3 AS FLOAT)
CAST(d AS DOUBLE)
array_length(l)
list_max(l)
list_sort(l)
list_transform(l, lambda x: x + 1)
list_filter(l, lambda x: x > 1)
[i, 2]
list_value(i, 3)
range(3)
range(1, 3)
st.x
st.y
struct_extract(st, 'y')
struct_pack(a := i, b := s)
{'a': i}
year(t)
month(dt)
day(dt)
dt + 1
"odd name" + 1
"Select"
di
u
u + 1
cbrt(i)
i::DOUBLE
isnan(f)
log(i)
list_contains(l, 2)
list_concat(l, [9])
regexp_replace('aaa', 'a', 'q', 'g')
""".strip().splitlines()
"""Of one row each."""
SUMS = """
count(i)
count(*)
sum(i)
avg(i)
min(s)
max(s)
stddev(i)
var_pop(i)
median(i)
bool_and(b)
bool_or(b)
sum(f)
max(f)
sum(d)
avg(d)
string_agg(s, '|' ORDER BY s)
list(s ORDER BY i DESC NULLS FIRST)
list(i ORDER BY s)
list(s ORDER BY s DESC)
list(DISTINCT b ORDER BY b)
list_sort(list(b))
list(i) FILTER (WHERE i > 9)
arg_max(s, i)
arg_min(s, f)
max_by(s, d)
quantile_cont(f, 0.5)
count(DISTINCT b)
sum(DISTINCT i)
count_if(b)
""".strip().splitlines()
"""Of all rows."""
REFUSED = """
hash(s)
regexp_replace(s, 'b', 'q')
dayofweek(dt)
isodow(dt)
epoch(t)
format('{}-{}', s, i)
printf('%d', i)
typeof(i)
list_distinct(l)
flatten([l, l])
kurtosis(i)
skewness(i)
isfinite(f)
gcd(i, 4)
to_base(i, 2)
""".strip().splitlines()
"""Spark has them, or something of that name, and gives something else."""
TABLE = pa.table(
    {
        "i": pa.array([1, 2, 3, None, 5], pa.int64()),
        "u": pa.array([1, 2, 2**63 + 5, None, 7], pa.uint64()),
        "f": [1.5, math.nan, math.inf, None, -2.5],
        "d": pa.array([Decimal("1.25"), Decimal("-7.75"), None, Decimal("2.5"), Decimal(0)], pa.decimal128(9, 2)),
        "s": pa.array(["b", "B", "a", None, "ä"], pa.large_string()),
        "b": [True, False, None, True, False],
        "l": pa.array([[1, 2, 3], [], None, [4], [None, 5]], pa.list_(pa.int64())),
        "st": pa.array([{"x": 1, "y": "q"}, None, {"x": 2, "y": None}, {"x": 3, "y": "r"}, {"x": 4, "y": "s"}]),
        "t": pa.array([1706745599005000, None, 1709164800000000, -43200000000, 946684800000000]).cast(
            pa.timestamp("us")
        ),
        "dt": pa.array([19753, None, 19782, -1, 10957], pa.int32()).cast(pa.date32()),
        "odd name": [1, 2, 3, 4, 5],
        "Select": [5, 4, 3, 2, 1],
        "di": pa.array(["p", "q", "p", None, "q"]).dictionary_encode(),
    }
)
ROWS = '(SELECT g.* FROM g JOIN images ON image_id = g."odd name") AS g'


@pytest.fixture(scope="module")
def both(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("spark") / "a.lake")
    ids = list(range(1, 6))
    lake.ingest({"images": build.images(image_id=ids, key=[f"k{i}" for i in ids], width=ids, height=ids)})
    with lake.session() as duckdb, lake.session(engine="spark") as spark:
        yield duckdb, spark


def close(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, float):
        return (math.isnan(ours) and math.isnan(theirs)) or theirs == pytest.approx(ours, rel=1e-12)
    return str(ours) == str(theirs)


def compare(both, expressions, *, in_order):
    columns = ", ".join(f"{one} AS c{n}" for n, one in enumerate(expressions))
    order = ' ORDER BY "odd name"' if in_order else ""
    ours, theirs = (session.sql(f"SELECT {columns} FROM {ROWS}{order}", g=TABLE).to_arrow() for session in both)
    assert theirs.schema == ours.schema
    different = [
        (one, ours.column(n).to_pylist(), theirs.column(n).to_pylist())
        for n, one in enumerate(expressions)
        if not all(map(close, ours.column(n).to_pylist(), theirs.column(n).to_pylist()))
    ]
    assert not different


@pytest.mark.parametrize("expressions", [SAME[at : at + 40] for at in range(0, len(SAME), 40)], ids=len)
def test_of_a_row(both, expressions):
    compare(both, expressions, in_order=True)


@pytest.mark.parametrize("are_distinct", [False, True])
def test_of_all_rows(both, are_distinct):
    compare(both, [one for one in SUMS if ("DISTINCT" in one) == are_distinct], in_order=False)


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_another_there_is_refused(both, expression):
    with pytest.raises(SqlError) as caught:
        both[1].sql(f"SELECT {expression} AS r FROM {ROWS}", g=TABLE).fetchall()
    assert caught.value.code == "E3479"
