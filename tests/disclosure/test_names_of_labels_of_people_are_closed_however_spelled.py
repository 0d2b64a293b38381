"""Labels of people are closed whatever blanks, signs, width or case their attribute is written with, and by other usual names."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.schema import SENSITIVE_ATTRIBUTES, is_of_people, is_sensitive

SPELLED = [
    "perceived\u00a0gender",
    "Perceived\u2003Race",
    "gender\u200b",
    "Gender.",
    "perceived.gender",
    "\uff47\uff45\uff4e\uff44\uff45\uff52",
    "race/ethnicity",
    " skin-tone ",
    "\u00adsex",
    "age",
    "Male",
    "pred_gender",
    "race_label",
    "Woman",
    "skintone",
    "boy",
    "GenderPresentation",
    "AgePresentation",
    "predominant_gender",
    "dominant_race",
    "face_gender",
    "fairface_age",
    "skin_type",
    "Monk skin tone",
    "fitzpatrick",
    "sex_at_birth",
    "nationality",
    "is_female",
    "Gender (perceived)",
    "Ethnic Group",
    "gender:female",
    "Female presenting",
    "Girls",
    "Senior citizen",
    "Asian people",
    "African American",
    "Pale_Skin",
    "Young",
]
OPEN = [
    "scene",
    "gendered words",
    "race car",
    "image",
    "passage",
    "male_voice_over",
    "stage",
    "boy band",
    "a car",
    "dark",
    "person",
    "light type",
    "old",
]


def test_they_are_closed(tmp_path, capsys):
    lake = cb.connect(tmp_path / "a.lake")
    rows = {"image_id": [1] * (len(SPELLED) + len(OPEN)), "attribute": SPELLED + OPEN}
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["1"]})})
    labels = pa.table({**rows, "value": ["x"] * len(rows["attribute"]), "annotator": ["a"] * len(rows["attribute"])})
    lake.ingest({"labels": labels.append_column("label_id", pa.array(range(len(labels))))})
    assert [a for (a,) in lake.sql("SELECT attribute FROM labels ORDER BY label_id").fetchall()] == OPEN


@pytest.mark.parametrize("name", SPELLED)
def test_a_dry_run_shows_none(tmp_path, capsys, name):
    cb.connect(tmp_path / "a.lake").ingest({"images": pa.table({"image_id": [1, 2], "key": ["a", "b"]})})
    (tmp_path / "l.csv").write_text(f'image_id,attribute,value\n1,"{name}",secret\n2,scene,sea\n', encoding="utf-8")
    assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path / "l.csv"), "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "sea" in out
    assert "secret" not in out + err


@given(
    st.sampled_from(sorted(SENSITIVE_ATTRIBUTES)),
    st.lists(st.sampled_from([" ", "\u00a0", "\u2009", "-", "_", ".", "/", "\u200b_", "\t"]), min_size=4, max_size=4),
    st.booleans(),
)
def test_any_gaps_and_case(name, gaps, upper):
    parts = name.split("_")
    written = "".join(p + g for p, g in zip(parts, gaps, strict=False)).rstrip("\t")
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in written)
    for spelling in (written, wide, unicodedata.normalize("NFD", written)):
        assert is_sensitive(spelling.upper() if upper else spelling)


def test_the_open_ones_are_open():
    assert not any(is_of_people(name) for name in OPEN)
