"""Types that are stored: those that every part carries between Lance, Arrow and DuckDB."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from counterbalance.engine.errors import SqlError

_HALF: Final = re.compile(r"float16(?=\s*\[\s*\d+\s*\]$)", re.IGNORECASE)


def in_full(type_: str) -> str:
    """Return a type of SQL with FLOAT16, which DuckDB has not and vectors are stored as, for the FLOAT that it is computed as.

    Example:
        >>> in_full("FLOAT16[512]"), in_full("DOUBLE"), in_full("FLOAT16[]")
        ('FLOAT[512]', 'DOUBLE', 'FLOAT16[]')
    """
    return _HALF.sub("FLOAT", type_.strip())


def halved(kind: pa.DataType) -> pa.DataType:
    """Return the type of vectors of half as many bytes."""
    return pa.list_(pa.float16(), kind.list_size)


def as_read(kind: pa.DataType) -> pa.DataType:
    """Return the type that stored values are read as: float16 as float32, what is coded as what it stands for.

    Example:
        >>> as_read(pa.list_(pa.float16(), 2)), as_read(pa.dictionary(pa.int32(), pa.string())), as_read(pa.int64())
        (FixedSizeListType(fixed_size_list<item: float>[2]), DataType(string), DataType(int64))
    """
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_fixed_size_list(kind) and pa.types.is_float16(kind.value_type):
        return pa.list_(pa.float32(), kind.list_size)
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind


def storable(kind: pa.DataType) -> pa.DataType:
    """Return the type a value is stored as: unsigned, large, view and dictionary types become plain ones, DECIMAL a double.

    Raises:
        SqlError: There is none for it.

    Example:
        >>> storable(pa.list_(pa.field("l", pa.large_string()))), storable(pa.decimal128(10, 2))
        (ListType(list<item: string>), DataType(double))
    """
    simple = _simple(kind)
    if simple is not None:
        return simple
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(storable(kind.value_type), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_list_view(kind):
        return pa.list_(storable(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, storable(f.type)) for f in kind])
    if pa.types.is_dictionary(kind):
        return storable(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return storable(kind.storage_type)
    raise SqlError(
        f"values of type {kind} cannot be stored",
        code="E3145",
        hint="cast it: numbers, VARCHAR, BOOLEAN, dates, lists, structs",
    )


def refuse_wide(kind: pa.DataType, what: str, *, sums: bool = False) -> None:
    """Refuse integers that int64 may not hold.

    Args:
        kind: Type of the values.
        what: What they are, as it was written.
        sums: Let HUGEINT be: what ``sum`` of integers is, which seldom needs it.

    Raises:
        SqlError: They are UBIGINT, or HUGEINT.
    """
    if pa.types.is_uint64(kind) or (pa.types.is_decimal(kind) and not kind.scale and kind.precision > 18 and not sums):
        name = "UBIGINT" if pa.types.is_uint64(kind) else "HUGEINT"
        narrow = f"({what} >> 1)::BIGINT or ({what})::VARCHAR" if name == "UBIGINT" else f"({what})::BIGINT"
        raise SqlError(
            f"{what} is {name}, and not all such numbers fit into the BIGINT that is stored",
            code="E3146",
            hint=f"cast it: {narrow}",
        )
    for inner in (kind.field(number).type for number in range(kind.num_fields)):
        refuse_wide(inner, what, sums=sums)


def _simple(kind: pa.DataType) -> pa.DataType | None:
    types = pa.types
    if kind in {pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.float16(), pa.bool_(), pa.string(), pa.binary()}:
        return kind
    if kind in {pa.int8(), pa.int16(), pa.uint8(), pa.uint16(), pa.null()}:
        return pa.int32()
    if kind in {pa.uint32(), pa.uint64()}:
        return pa.int64()
    if types.is_decimal(kind):
        return pa.float64() if kind.scale else pa.int64()
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if types.is_date(kind):
        return pa.date32()
    return None
