"""Whether anything says who asks an object store: found out at once, before its clients try for half a minute."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping

HINT: Final = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; AWS_ENDPOINT_URL for a store that is not Amazon's; "
    "AWS_SKIP_SIGNATURE=true for public data"
)
_GIVEN: Final = ("access_key_id", "skip_signature")
_PLACES: Final = ("AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_EC2_METADATA_DISABLED", "HOME")
"""Where clients look, so that a change of one is seen."""


def check(uri: str, options: Mapping[str, str]) -> None:
    """Refuse to ask S3 as nobody.

    Args:
        uri: What is asked for; anything but ``s3://`` passes.
        options: Storage options, as Lance names them.

    Raises:
        StorageError: Neither they nor the environment, profiles, or the machine's role have credentials (``E6016``).
    """
    if not uri.startswith("s3://") or is_anonymous(options):
        return
    named = {name.lower().removeprefix("aws_") for name in options}
    if not named.isdisjoint(_GIVEN) or "AWS_ACCESS_KEY_ID" in os.environ:
        return
    if not _found(tuple(os.environ.get(name) for name in _PLACES)):
        raise StorageError(f"no credentials for {uri}", code="E6016", hint=HINT)


def is_anonymous(options: Mapping[str, str]) -> bool:
    """Tell whether requests are not signed, as public data allow.

    Example:
        >>> is_anonymous({"aws_skip_signature": "true"})
        True
    """
    given = {name.lower().removeprefix("aws_"): value for name, value in options.items()}
    said = given.get("skip_signature", os.environ.get("AWS_SKIP_SIGNATURE", ""))
    return said.lower() in {"1", "true", "yes", "on"}


def from_environment() -> dict[str, str]:
    """Return what the environment says now of who asks S3, as s3fs names it.

    fsspec keeps file systems by their options. Handed in, credentials that have changed since make another one.
    """
    names = {"key": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "token": "AWS_SESSION_TOKEN"}
    found = {mine: os.environ[name] for mine, name in names.items() if os.environ.get(name)}
    return found if "key" in found and "secret" in found else {}


def completed(uri: str, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return storage options as fsspec names them, for S3 with what the environment says where they name nobody."""
    found = dict(options or {})
    if uri.startswith("s3://") and is_anonymous({}):
        found.setdefault("anon", True)
    elif uri.startswith("s3://") and not found.keys() & {"key", "anon", "profile"}:
        found |= from_environment()
    return found


@cache
def _found(_places: tuple[str | None, ...]) -> bool:
    try:
        from botocore.session import get_session
    except ImportError:  # then only Lance asks, and says so itself
        return True
    try:
        return get_session().get_credentials() is not None
    except Exception:  # noqa: BLE001 - a profile that is not there, a broken file: the client has a better message
        return True
