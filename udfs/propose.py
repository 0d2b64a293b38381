"""The action ``propose_attributes``: a language model proposes what attributes pictures may have, as a table in a file.

The file is a word list (``term``, ``class``, ``level``, votes), to be read, changed and kept like any other; beside it lies a
record (``….record.json``) of the model, the settings, every question and every reply. The key of an endpoint is in neither.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine import atomic_write
from counterbalance.engine.errors import RequestError, StorageError
from counterbalance.engine.executors.devices import available
from counterbalance.engine.progress import Progress
from counterbalance.udfs import proposals
from counterbalance.udfs.endpoint import Endpoint, plain
from counterbalance.udfs.proposing import Interview

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterbalance.engine.lake import Lake
    from counterbalance.udfs.proposing import Asked, Row

FORMAT: Final = 1
HEADER: Final = ("term", "class", "level", "votes", "class_votes")


@dataclass(frozen=True, slots=True)
class _Settings:
    """What decides a proposal."""

    caption: str
    model: str
    endpoint: str | None
    categories: int
    attributes: int
    generations: int
    temperature: float
    seed: int
    attempts: int

    def check(self) -> None:
        counts = ("categories", "attributes", "generations", "attempts")
        wrong = [name for name in counts if getattr(self, name) < 1]
        if not self.caption.strip():
            wrong.append("caption")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            wrong.append("temperature")
        if wrong:
            raise RequestError(
                f"{wrong[0]} of propose_attributes() cannot be {getattr(self, wrong[0])!r}",
                code="E3051",
                hint="a caption, counts from 1 up, a temperature from 0 up",
            )

    def fields(self) -> dict[str, Any]:
        return dict(zip(self.__dataclass_fields__, astuple(self), strict=True))


def propose_attributes(
    lake: Lake,
    *,
    caption: str,
    output: str,
    model: str | None = None,
    endpoint: str | None = None,
    categories: int = 10,
    attributes: int = 10,
    generations: int = 5,
    temperature: float = 0.1,
    seed: int = 0,
    attempts: int = 10,
    device: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> str:
    """Let a language model propose categories of attributes for the pictures of a dataset, and write them to a file.

    A file that is there is left as it is: one of the same settings, one that was changed by hand since, and one of a user's own.

    Args:
        lake: Not used; actions get it.
        caption: What all the pictures show, such as ``'a photo of a living room'``.
        output: The ``.csv`` file to write; a table of one's own may have another ending of word lists.
        model: With an endpoint, the model's name there; without, a folder or a repository of the hub with a causal language
            model that follows instructions.
        endpoint: Base address of an OpenAI-compatible endpoint, such as ``'http://localhost:8000/v1'``; asking it is the
            only use of the network. Its key comes from the environment variable ``COUNTERBALANCE_LLM_KEY``.
        categories: How many to take.
        attributes: How many of each to take.
        generations: How often every question is put; what most replies name is taken.
        temperature: Of the model's draws.
        seed: Of the draws.
        attempts: How often a question is put until the reply is JSON as asked for.
        device: Of a local model.
        progress: Called after every reply.

    Returns:
        A line that tells what was done.

    Raises:
        RequestError: A file that is there is no proposal (E3720) or has other settings (E3559), or settings make no sense
            (E3721, E3722, E3724).
        FunctionError: The endpoint fails (E8321, E8322, E8323), or the model gives no usable replies (E8320).
        StorageError: The file cannot be written (E6010).

    Source:
        Kabra et al., GELDA (2023); numbers as in its released code.
    """
    del lake
    target = Path(output).expanduser().absolute()
    address = None if endpoint is None else plain(endpoint)
    settings = _Settings(
        caption, model or "", address, categories, attributes, generations, float(temperature), seed, attempts
    )
    if target.exists():
        return _there(target, settings)
    settings.check()
    if not model or target.suffix.lower() != ".csv":
        raise RequestError(
            f"there is no table of attributes at {output}, and "
            + ("no model to propose one" if not model else "a proposal is written to a .csv file only"),
            code="E3724",
            hint="give a model (with an endpoint, its name there), or write the table: term, class, level",
        )
    rows, said = _asked(settings, endpoint, device, progress)
    _write(target, settings, rows, said)
    named = len({row.category for row in rows})
    return f"{target}: {len(rows)} attributes of {named} categories, from {len(said)} replies of {model}"


def _asked(
    settings: _Settings, endpoint: str | None, device: str, progress: Callable[[Progress], None] | None
) -> tuple[list[Row], list[dict[str, Any]]]:
    writer: Any = None
    if endpoint is not None:
        ask: Asked = Endpoint(endpoint, settings.model, settings.temperature).ask
    else:
        from counterbalance.udfs.models.writer import Writer

        writer = Writer(settings.model, available(device, wants=True)[0], settings.temperature)
        ask = writer.ask
    done = 0

    def told(question: str, seed: int) -> str:
        nonlocal done
        reply = ask(question, seed)
        done += 1
        if progress is not None:
            progress(Progress("propose_attributes", done, None, "rows", done))
        return reply

    interview = Interview(told, settings.caption, settings.generations, settings.attempts, settings.seed)
    try:
        return interview.proposal(settings.categories, settings.attributes), interview.said
    finally:
        if writer is not None:
            writer.close()


def _there(target: Path, settings: _Settings) -> str:
    """Describe a file that is there."""
    found = proposals.read(target)
    what = f"{target}: {sum(len(c.attributes) for c in found)} attributes of {len(found)} categories"
    record = _record(target)
    if record is None:
        return f"{what}, your own"
    if record.get("digest") != hashlib.sha256(target.read_bytes()).hexdigest():
        return f"{what}, changed since they were proposed"
    if settings.model and (record.get("settings"), record.get("format")) != (settings.fields(), FORMAT):
        raise RequestError(
            f"{target} holds a proposal with other settings",
            code="E3559",
            hint="name another file, or remove this one to have it proposed anew",
        )
    return f"{what}, proposed already"


def _record(target: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(_beside(target).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _beside(target: Path) -> Path:
    return target.with_suffix(".record.json")


def _write(target: Path, settings: _Settings, rows: Sequence[Row], said: Sequence[Mapping[str, Any]]) -> None:
    """Write the record first: a table is there only with what tells where it came from."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HEADER)
    table.writerows((row.term, row.category, row.level, row.votes, row.category_votes) for row in rows)
    data = text.getvalue().encode()
    record = {
        "format": FORMAT,
        "digest": hashlib.sha256(data).hexdigest(),
        "settings": settings.fields(),
        "replies": list(said),
    }
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.write(_beside(target), json.dumps(record, ensure_ascii=False, indent=1).encode())
        atomic_write.write(target, data)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}", code="E6010") from error
