"""The base tables: columns, Arrow types, keys and units.

Types visible to SQL are int32, int64, float32, float64, bool, string, timestamp, lists and structs of these; no
dictionary, unsigned, large or half types, which the Arrow road between Lance and DuckDB does not carry. Keys are never
NULL. Boxes are in pixels of the image as stored, origin top-left.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a base table.

    Args:
        name: SQL name.
        type: Arrow type; ``None`` for a Lance blob (bytes that reach functions, never a plain ``SELECT *``).
        doc: One line with the unit.
        coded: Few distinct values: stored with small integer codes beside the strings, so that grouping is fast.
        measures: Columns that it tells something of: where one of them changes, what it told before is no longer so.
    """

    name: str
    type: pa.DataType | None
    doc: str
    coded: bool = False
    measures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A base table: its key comes first and is int64."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    parent: str | None = None

    @property
    def key(self) -> str:
        """Return the name of the key column."""
        return self.columns[0].name

    @property
    def coded(self) -> tuple[str, ...]:
        """Return names of the columns with few distinct values."""
        return tuple(c.name for c in self.columns if c.coded)

    @property
    def blobs(self) -> tuple[str, ...]:
        """Return names of the columns that hold bytes."""
        return tuple(c.name for c in self.columns if c.type is None)

    @property
    def measures(self) -> dict[str, tuple[str, ...]]:
        """Return, by column that tells something of others, these others."""
        return {c.name: c.measures for c in self.columns if c.measures}

    def schema(self, *, blobs: bool = False) -> pa.Schema:
        """Return the Arrow schema as readers hand rows over; blobs as ``binary`` when asked for.

        Example:
            >>> IMAGES.schema().field("width").type
            DataType(int32)
        """
        fields = [pa.field(c.name, c.type or pa.binary()) for c in self.columns if blobs or c.type is not None]
        return pa.schema([fields[0].with_nullable(False), *fields[1:]])


IMAGES: Final = Table(
    "images",
    "one row an image",
    (
        Column("image_id", pa.int64(), "the source's integer id, or a 63-bit hash of `key`"),
        Column("key", pa.string(), "the source's own id, as text"),
        Column("split", pa.string(), "train2017, validation …", coded=True),
        Column("uri", pa.string(), "where the picture is: a path or URL"),
        Column("width", pa.int32(), "pixels"),
        Column("height", pa.int32(), "pixels"),
        Column("license", pa.string(), "licence as the source names it", coded=True),
        Column("nsfw", pa.string(), "the source's own safety label", coded=True),
        Column("source", pa.string(), "the source it was read from", coded=True),
        Column("sha256", pa.string(), "hex digest of the stored bytes"),
        Column("image", None, "the encoded picture (JPEG, PNG, WebP) when stored"),
    ),
)
CAPTIONS: Final = Table(
    "captions",
    "one row a caption; an image has none, one or several",
    (
        Column("caption_id", pa.int64(), "the source's integer id, or a 63-bit hash"),
        Column("image_id", pa.int64(), "the image it describes"),
        Column("text", pa.string(), "the caption, as it came"),
        Column("origin", pa.string(), "'human', 'alt_text', 'generated' or 'counterfactual'", coded=True),
        Column("similarity", pa.float32(), "image-text cosine as the source gives it", measures=("text",)),
    ),
    parent="images",
)
DETECTIONS: Final = Table(
    "detections",
    "one row a box",
    (
        Column("detection_id", pa.int64(), "the source's integer id, or a 63-bit hash"),
        Column("image_id", pa.int64(), "the image it lies in"),
        Column("category", pa.string(), "'person', 'bicycle' …", coded=True),
        Column("score", pa.float32(), "detector confidence in [0, 1]; NULL for a human's box", measures=("category",)),
        Column("x", pa.float32(), "left edge, pixels"),
        Column("y", pa.float32(), "top edge, pixels"),
        Column("width", pa.float32(), "pixels"),
        Column("height", pa.float32(), "pixels"),
        Column("area", pa.float32(), "square pixels of the mask, or of the box without one"),
        Column("is_crowd", pa.bool_(), "the box holds a crowd (COCO iscrowd)"),
        Column("mask", pa.string(), "COCO segmentation as JSON: polygons or RLE"),
        Column("keypoints", pa.list_(pa.float32()), "COCO keypoints: x, y, visibility, …"),
        Column("origin", pa.string(), "'human' or the detector's name", coded=True),
    ),
    parent="images",
)
LABELS: Final = Table(
    "labels",
    "one row a label that an annotator or a model gave to an image or a box",
    (
        Column("label_id", pa.int64(), "a 63-bit hash of target, attribute and annotator"),
        Column("image_id", pa.int64(), "the image"),
        Column(
            "detection_id",
            pa.int64(),
            "the box, or of an answer of attribute NAME:VIEW the edit; NULL for the whole image",
        ),
        Column("attribute", pa.string(), "what is labelled: 'scene', 'perceived_gender' …", coded=True),
        Column("value", pa.string(), "the label", coded=True),
        Column("score", pa.float32(), "probability or confidence, when there is one", measures=("value",)),
        Column("annotator", pa.string(), "who or which model said so", coded=True),
    ),
    parent="images",
)
BASE_TABLES: Final = {t.name: t for t in (IMAGES, CAPTIONS, DETECTIONS, LABELS)}
PICTURES: Final = frozenset(b for t in BASE_TABLES.values() for b in t.blobs)
"""Columns of pictures, NULL where the source was read without storing them."""

SENSITIVE_ATTRIBUTES: Final = frozenset(
    {
        "perceived_gender",
        "perceived_race",
        "perceived_ethnicity",
        "perceived_race_ethnicity",
        "perceived_age",
        "gender",
        "sex",
        "race",
        "ethnicity",
        "race_ethnicity",
        "skin_tone",
        "skin_color",
        "predicted_gender",
        "predicted_race",
        "religion",
        "disability",
        "sexual_orientation",
    }
)
"""Attributes of ``labels`` that are kept apart and read only in a session opened with a purpose."""
PERCEIVED: Final = "perceived_"
"""So is every attribute whose name begins like this."""


_GAPS: Final = re.compile(r"[\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TRAIT: Final = (
    "gender|sex|male|female|man|men|woman|women|boys?|girls?|lady|ladies|gentleman|race|ethnicity|ethnic|nationality|"
    "age|young|elderly|senior_citizen|asian|caucasian|african_american|hispanic|latin[oa]|"
    "skin|skin_?tone|skin_?color|skin_?type|fitzpatrick|religion|disability|sexual_orientation"
)
_OF_PEOPLE: Final = re.compile(
    r"((pred|predicted|predominant|dominant|apparent|estimated|annotated|true|gt|is|a|face|fairface|person|pale|dark|light|monk)_)*"
    rf"({_TRAIT})(_({_TRAIT}|label|group|class|category|bin|name|pred|prediction|presentation|presenting|expression|identity|"
    r"at_birth|range|type|scale|person|people|perceived))*"
)
"""How data sets name columns of labels of people."""


def plain_name(name: str) -> str:
    """Return a name in one spelling: without case, width and invisible signs, and ``_`` for all that is no letter or digit.

    Example:
        >>> plain_name("Perceived\u00a0Gender"), plain_name("race/ethnicity "), plain_name("\uff47ender\u200b.")
        ('perceived_gender', 'race_ethnicity', 'gender')
    """
    text = unicodedata.normalize("NFKC", name).casefold()
    return _GAPS.sub("_", "".join(c for c in text if unicodedata.category(c) != "Cf")).strip("_")


def is_sensitive(name: str) -> bool:
    """Tell whether a name says that it holds perceived-demographic labels: one of the attributes, or ``perceived_…``.

    Example:
        >>> is_sensitive("Perceived_Gender"), is_sensitive("perceived mood"), is_sensitive("gender words")
        (True, True, False)
    """
    return any(n in SENSITIVE_ATTRIBUTES or n.startswith(PERCEIVED) for n in map(plain_name, _spelled(name)))


def is_of_people(attribute: str) -> bool:
    """Tell whether labels of an attribute are kept apart: what ``is_sensitive`` tells, and other names that data sets have for it.

    Example:
        >>> [is_of_people(a) for a in ("age", "pred_gender", "Woman", "GenderPresentation", "caption_gender", "scene")]
        [True, True, True, True, False, False]
        >>> is_of_people("gender:gensynth_set")  # answers about edits
        True
    """
    spelled = (s for name in _spelled(attribute) for s in (name, _HUMP.sub("_", name)))
    return is_sensitive(attribute) or any(_OF_PEOPLE.fullmatch(plain_name(name)) for name in spelled)


def _spelled(name: str) -> tuple[str, str]:
    """Return a name, and what stands before the colon in it: ``NAME:VIEW`` are answers about edits."""
    return name, name.partition(":")[0]


KEY_INDEX: Final = "key__"
"""Name of the index that an ingest keeps of a large table's keys."""
CODE_SUFFIX: Final = "__code"
"""Suffix of the hidden int16 column that stands beside a coded one."""
BLANK: Final = "\ue000removed "
"""What stands, with its number, in a dictionary of codes for a value that was removed: no row has it any more."""
ROW: Final = "_rowid"
"""Lance's own number of a row, by which its other columns are read later."""
ROW_VERSION: Final = "_row_last_updated_at_version"
"""Lance's own number of the table version that a row was last written with."""
STAMP_SUFFIX: Final = "__v"
"""Suffix of the hidden int64 column beside a generated one: the table version its value was published on."""
