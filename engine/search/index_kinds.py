"""Kinds of indexes: what columns they take, what can be set, and what refresh does with new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from counterbalance.engine.errors import SqlError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

LANGUAGES: Final = (
    "Arabic", "Danish", "Dutch", "English", "Finnish", "French", "German", "Greek", "Hungarian", "Italian", "Norwegian",
    "Portuguese", "Romanian", "Russian", "Spanish", "Swedish", "Tamil", "Turkish",
)  # fmt: skip
_YES: Final = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Option:
    """Something that can be set for a kind.

    Args:
        name: As written in ``WITH (name = value)``.
        type: Of its value.
        default: What holds when it is left out; ``None`` means that it is chosen by the data.
        doc: One line.
        choices: The allowed texts or numbers, if they are few.
        stored: Lance's own name for it, where it differs.
    """

    name: str
    type: Literal["integer", "boolean", "text"]
    default: int | bool | str | None
    doc: str
    choices: tuple[int | str, ...] = ()
    stored: str = ""

    def typed(self, value: Any, where: str) -> int | bool | str:
        """Return the value as the option's type.

        Raises:
            SqlError: It is not of that type, or not allowed.

        Example:
            >>> Option("stem", "boolean", True, "").typed("no", "stem")
            False
        """
        result = self._converted(value)
        if result is None or (self.choices and result not in self.choices):
            allowed = ", ".join(map(str, self.choices)) or {"integer": "a number from 1"}.get(self.type, self.type)
            raise SqlError(f"{where} cannot be {value!r}", code="E3412", hint=f"allowed: {allowed}")
        return result

    def _converted(self, value: Any) -> int | bool | str | None:
        text = str(value).strip()
        if self.type == "integer":
            return int(text) if text.isdecimal() and int(text) >= 1 else None
        if self.type == "boolean":
            return _YES.get(text.lower())
        return next((c for c in self.choices if str(c).lower() == text.lower()), None)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of index.

    Args:
        name: As written in ``USING name``.
        stored: Lance's name.
        doc: One line.
        columns: What types it takes, in words.
        takes: Whether it takes a type.
        options: What can be set.
        grows: Whether new rows are added to it; otherwise it is made again, which is faster.
        is_vector: Whether it is searched by nearness.
    """

    name: str
    stored: str
    doc: str
    columns: str
    takes: Callable[[pa.DataType], bool]
    options: tuple[Option, ...] = ()
    grows: bool = True
    is_vector: bool = False


def _is_scalar(kind: pa.DataType) -> bool:
    t = pa.types
    checks = (t.is_integer, t.is_floating, t.is_boolean, t.is_string, t.is_date, t.is_timestamp, t.is_decimal)
    return any(check(kind) for check in checks)


def _is_few_valued(kind: pa.DataType) -> bool:
    t = pa.types
    return any(check(kind) for check in (t.is_integer, t.is_boolean, t.is_string, t.is_date))


def _is_label_list(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_list(kind) and (t.is_string(kind.value_type) or t.is_integer(kind.value_type)))


def is_vector(kind: pa.DataType) -> bool:
    """Tell whether it is a list of fixed length of float32 or float16.

    Example:
        >>> is_vector(pa.list_(pa.float32(), 8)), is_vector(pa.list_(pa.float32()))
        (True, False)
    """
    floats = (pa.float32(), pa.float16())
    return pa.types.is_fixed_size_list(kind) and kind.value_type in floats and kind.list_size > 0


def _is_vector_of_eights(kind: pa.DataType) -> bool:
    return is_vector(kind) and kind.list_size % 8 == 0


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


_IVF: Final = (
    Option("metric", "text", "cosine", "what nearness is", ("cosine", "l2", "dot")),
    Option("num_partitions", "integer", None, "clusters; the square root of the rows when left out"),
    Option("seed", "integer", 1, "of the sample and the first centroids"),
)
_VECTOR: Final = "a vector: a list of fixed length of float32 or float16"

KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("btree", "BTREE", "equality and ranges of many distinct values", "numbers, text, dates", _is_scalar),
        Kind("bitmap", "BITMAP", "equality of few distinct values", "integers, text, booleans, dates", _is_few_valued),
        Kind(
            "label_list",
            "LABEL_LIST",
            "which lists hold a label",
            "lists of text or integers",
            _is_label_list,
            grows=False,
        ),
        Kind(
            "fts",
            "INVERTED",
            "words of texts, ranked by BM25",
            "text",
            _is_text,
            (
                Option("stem", "boolean", True, "rides finds riding"),
                Option("language", "text", "English", "of stems and stop words", LANGUAGES),
                Option("remove_stop_words", "boolean", False, "leave out words such as 'the'"),
                Option("with_position", "boolean", False, "keep places of words, for phrases"),
                Option("lower_case", "boolean", True, "ignore case"),
                Option("ascii_folding", "boolean", True, "ignore accents"),
            ),
        ),
        Kind(
            "ivf_rq",
            "IVF_RQ",
            "vectors as bits (RaBitQ): small, quick to build and to search",
            _VECTOR + ", dimensions a multiple of 8",
            _is_vector_of_eights,
            (*_IVF, Option("nbits", "integer", 1, "bits a dimension", tuple(range(1, 10)), "num_bits")),
            is_vector=True,
        ),
        Kind("ivf_flat", "IVF_FLAT", "whole vectors in clusters", _VECTOR, is_vector, _IVF, is_vector=True),
        Kind("ivf_sq", "IVF_SQ", "vectors as bytes in clusters", _VECTOR, is_vector, _IVF, is_vector=True),
        Kind(
            "ivf_pq",
            "IVF_PQ",
            "vectors as codes of their parts: slow to build on a CPU, and rarely better than ivf_rq",
            _VECTOR,
            is_vector,
            (
                *_IVF,
                Option("num_sub_vectors", "integer", None, "parts; an eighth of the dimensions when left out"),
                Option("nbits", "integer", 8, "bits a part", (4, 8), "num_bits"),
            ),
            is_vector=True,
        ),
        Kind(
            "ivf_hnsw_sq",
            "IVF_HNSW_SQ",
            "vectors as bytes in graphs: slow to build, quick to search",
            _VECTOR,
            is_vector,
            (
                *_IVF,
                Option("m", "integer", 20, "edges a vector", stored="max_connections"),
                Option("ef_construction", "integer", 150, "candidates while building", stored="construction_ef"),
            ),
            is_vector=True,
        ),
    )
}
ALIASES: Final = {"inverted": "fts", "full_text": "fts"}
DEFAULT_VECTOR: Final = "ivf_rq"


def kind_named(name: str) -> Kind:
    """Return the kind of that name, or of that alias.

    Raises:
        SqlError: There is none.

    Example:
        >>> kind_named("INVERTED").name
        'fts'
    """
    lower = ALIASES.get(name.lower(), name.lower())
    if lower not in KINDS:
        raise SqlError(
            f"no kind of index {name!r}{did_you_mean(name, [*KINDS, *ALIASES])}",
            code="E3410",
            hint="kinds: " + ", ".join(KINDS) + "; full_text is another name of fts",
        )
    return KINDS[lower]


def kind_stored(stored: str) -> str:
    """Return our name of Lance's kind, however Lance writes it; its own in lower case where there is none.

    Example:
        >>> kind_stored("LabelList"), kind_stored("IVF_RQ"), kind_stored("Inverted")
        ('label_list', 'ivf_rq', 'fts')
    """
    plain = stored.lower().replace("_", "")
    return next((k.name for k in KINDS.values() if k.stored.lower().replace("_", "") == plain), stored.lower())
