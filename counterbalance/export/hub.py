"""Send an export to the Hugging Face Hub, where that was asked for; nothing else of an export goes to the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError, first_line
from counterbalance.export.card import FILES
from counterbalance.export.folder import MANIFEST
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.export.shards import Form

_LOG_IN: Final = "log in with: hf auth login; or set HF_TOKEN"


def check(form: type[Form], repository: str) -> None:
    """Refuse what could not be pushed, before anything is written; the hub is not asked.

    Raises:
        RequestError: The form is another one, the repository has no such name, or nothing says who pushes (E3682); or
            ``huggingface_hub`` is not installed (E3501).
    """
    if not form.has_card:
        raise RequestError(
            f"an export to {form.name} cannot be pushed", code="E3682", hint="push a dataset that is written --to hf"
        )
    hub, utils = _part(""), _part(".utils")
    try:
        utils.validate_repo_id(repository)
    except ValueError as error:
        raise RequestError(
            f"{repository!r} is no name of a repository", code="E3682", hint="give it as OWNER/NAME"
        ) from error
    if hub.get_token() is None:
        raise RequestError(f"nothing says who pushes to {repository}", code="E3682", hint=_LOG_IN)


def push(folder: Path, repository: str, *, quiet: bool) -> str:
    """Upload an export that is whole, and return its address.

    Args:
        folder: The export.
        repository: Of datasets; a private one is made where there is none, and one that is there stays as open as it is.
        quiet: Whether the hub's own progress is left out.

    Raises:
        RequestError: The hub does not take it (E3683).
    """
    hub, bars = _part(""), _part(".utils")
    quiet = quiet and not bars.are_progress_bars_disabled()
    if quiet:
        bars.disable_progress_bars()
    try:
        interface = hub.HfApi(library_name="counterbalance")
        place = interface.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
        interface.upload_folder(
            repo_id=place.repo_id,
            repo_type="dataset",
            folder_path=folder,
            ignore_patterns=[MANIFEST],
            delete_patterns=[FILES],  # of an earlier export that had more of them
            commit_message="Export by counterbalance",
        )
    except Exception as error:  # of the hub, of its client, and of files: of no common kind
        raise RequestError(
            f"{folder} is written, and was not pushed to {repository}: {first_line(error)}",
            code="E3683",
            hint=f"{_LOG_IN}; then: hf upload {repository} {folder} --repo-type dataset --exclude {MANIFEST}",
        ) from error
    finally:
        if quiet:
            bars.enable_progress_bars()
    return str(place)


def _part(name: str) -> Any:
    return need(f"huggingface_hub{name}", "hf")
