"""Questions about perceived labels of people, ready for ``ask``: ``label_prompt``, ``label_options``.

They stand in ``lists.label_prompts`` and ``lists.label_options``; the latter also says which label an option stands for.
Perceived labels are statistics about how groups are depicted, never claims about a person.
"""

from __future__ import annotations

from typing import Final, TypeVar

import pyarrow as pa

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.functions import Parameter, udf
from counterbalance.udfs import wordlists

_T = TypeVar("_T")
_ATTRIBUTE: Final = Parameter("attribute", pa.string())


@udf(returns=pa.string(), parameters=[_ATTRIBUTE], version="1")
def label_prompt(attribute: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the question about an attribute of the person in a crop, for a multimodal language model.

    Args:
        attribute: ``'perceived_gender'`` or ``'perceived_race_ethnicity'``; NULL gives NULL.

    Returns:
        A string a row.

    Raises:
        RequestError: There is no question about it (E3051).

    Source:
        Girrbach et al. (2025), appendices D and E.

    Example:
        >>> label_prompt(pa.array(["perceived_gender"]))[0].as_py()[:46]
        'What is the gender of the person in the image?'
    """
    known = {row["class"]: row["term"] for row in wordlists.wordlist("label_prompts").to_pylist()}
    return pa.array([_of(known, value) for value in attribute.to_pylist()], pa.string())


@udf(returns=pa.list_(pa.string()), parameters=[_ATTRIBUTE], version="1")
def label_options(attribute: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the options of the question about an attribute, in order.

    Args:
        attribute: As for ``label_prompt``.

    Returns:
        A list of strings a row: 4 for gender, 8 for race or ethnicity; the last one is for what cannot be told.

    Raises:
        RequestError: There is no question about it (E3051).

    Example:
        >>> label_options(pa.array(["perceived_race_ethnicity"]))[0][5].as_py()
        'Indian, Pakistani, or Bangladeshi'
    """
    known: dict[str, list[str]] = {}
    for row in wordlists.wordlist("label_options").to_pylist():
        known.setdefault(row["class"], []).append(row["term"])
    return pa.array([_of(known, value) for value in attribute.to_pylist()], pa.list_(pa.string()))


def _of(known: dict[str, _T], attribute: str | None) -> _T | None:
    if attribute is not None and attribute not in known:
        raise RequestError(f"no question about {attribute!r}{did_you_mean(attribute, known)}", code="E3051")
    return None if attribute is None else known[attribute]
