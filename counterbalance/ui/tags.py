"""Tag the images of a selection: a label each, of attribute ``tag/NAME``, that says who gave it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from starlette.routing import Route

from counterbalance.engine.errors import RefusedError, RequestError
from counterbalance.engine.schema import is_of_people, plain_name
from counterbalance.ui import verdicts
from counterbalance.ui.answers import as_json, body_of
from counterbalance.ui.selection import Filters

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.ui.workplace import Workplace

MOST: Final = 100_000
"""Images that are tagged at once."""
_LENGTH: Final = 60
_GROUPS: Final = re.compile(
    r"\b(wo)?m[ae]n\b|\b(fe)?males?\b|\b(boy|girl)s?\b|\blad(y|ies)\b|\b(muslim|jew|gay|lesbian|latin[oa]|hispanic)s?\b"
    r"|\b(christians|hindus|sikhs|buddhists|asians|africans|bisexual|transgender|homosexual|queer)\b"
)
_PERSONS: Final = re.compile(r"\b(people|persons?|folks?|kids?|child(ren)?|guys?|couple|family)\b")
_TRAITS: Final = re.compile(
    r"\b(black|white|brown|asian|african|arab|indian|chinese|jewish|christian|catholic|hindu|buddhist|sikh|old|young|elderly"
    r"|disabled|autistic|deaf|blind|fat|poor|homeless|foreign|immigrant|refugee)\b"
)
"""Words that are said of persons: with one for a person, a tag says what people are."""


async def tag(request: Request) -> Response:
    """Tag the images that the address selects with ``{"tag": "blurry"}``; ``{"tag": …, "value": "no"}`` takes it back."""
    place: Workplace = request.app.state.place
    filters = Filters.read(request.query_params.multi_items())
    annotator = verdicts.annotator_of(place.annotator)
    name, value = _asked(await body_of(request))
    if place.purpose(request) is not None:
        raise RefusedError(
            "tags are open to all, and what is selected for a purpose may not be",
            code="E3226",
            hint="close perceived labels, and select again",
        )

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        ids = request.app.state.selections.get(lake, session, filters).ids
        if len(ids) > MOST:
            raise RequestError(
                f"{len(ids):,} images are too many to tag at once", code="E3777", hint=f"narrow them to {MOST:,}"
            )
        verdicts.keep(lake, pa.array(ids, pa.int64()), f"tag/{name}", value, annotator)
        return {"tag": name, "value": value, "annotator": annotator, "images": len(ids)}

    return as_json(await place.ask(request, work, **filters.session, watched=False))


def _asked(body: Any) -> tuple[str, str]:
    """Return name and value of a tag.

    Raises:
        RequestError: It is none, or says what people are.
    """
    name, value = (body.get("tag"), body.get("value", "yes")) if isinstance(body, dict) else (None, None)
    if not isinstance(name, str) or not 0 < len(name) <= _LENGTH or not name.isprintable() or name != name.strip():
        raise RequestError(f"a tag is one line of at most {_LENGTH} characters", code="E3776", hint='{"tag": "blurry"}')
    if ":" in name or value not in ("yes", "no"):  # a tuple: value may be a list
        raise RequestError(
            "a tag has no colon, and is yes or no", code="E3776", hint='{"tag": "blurry", "value": "no"}'
        )
    if _says_of_people(name):
        raise RequestError(
            f"{name!r} says what people are, and tags are open to all",
            code="E3776",
            hint="`counterbalance validate` makes sheets for labels of people, which are kept closed",
        )
    return name, value


def _says_of_people(name: str) -> bool:
    """Tell whether a tag says of people what perceived labels do.

    Example:
        >>> [_says_of_people(n) for n in ("black woman", "old people", "muslim", "black dog", "no people", "blurry")]
        [True, True, True, False, False, False]
    """
    words = plain_name(name).replace("_", " ")
    is_told = _PERSONS.search(words) and _TRAITS.search(words)
    return bool(is_of_people(name) or _GROUPS.search(words) or is_told)


ROUTES: Final = (Route("/api/lakes/{lake}/tags", tag, methods=["POST"]),)
