"""Questions to multimodal language models: ``ask`` with options to choose from, ``caption_person`` for a description.

What a model says of people are perceived labels: statistics about how groups are depicted, never claims about a person.

Source: L. Girrbach et al., Person-Centric Annotations of LAION-400M: Auditing Bias and Its Transfer to Models (2025), labels
by multimodal language models and person captions. Questions keep the form of the published code: options in random order
with a letter each, and the request for a letter.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import ImageError
from counterbalance.udfs import pictures
from counterbalance.udfs.endpoint import plain
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.chat import Chat, fingerprint
from counterbalance.udfs.models.remote import Remote
from counterbalance.udfs.models.replies import LETTERS, meant, question, shuffled
from counterbalance.udfs.models.running import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

ANSWER: Final = pa.struct([("answer", pa.string()), ("reply", pa.string()), ("shown", pa.list_(pa.string()))])
REPLY_TOKENS: Final = 16
CAPTION_TOKENS: Final = 256
DESCRIBE: Final = (
    "In this picture a red frame highlights one person. Describe only this person, in one paragraph: the surroundings, the "
    "person's looks, and what the person does. Give as many and as exact details as you can see. Use plain, scientific "
    "language, stay objective, and say nothing subjective and nothing of feelings."
)
"""What ``caption_person`` asks for; the meaning of the paper's prompt, in words of our own."""
_CUT: Final = 120
_AT_ONCE: Final = 64
"""Pictures that are asked about together, while the next ones are decoded."""
_IMAGE: Final = Parameter("image", pa.binary())
_MODEL: Final = Parameter("model", pa.string(), constant=True)
_SEED: Final = Parameter("seed", pa.int64(), default=0, constant=True)
_ENDPOINT: Final = Parameter("endpoint", pa.string(), default="", constant=True)


def made_by(model: str, endpoint: str = "", **_: Any) -> str:
    """Return the digest of a model's files, or what is known of one behind an endpoint: its address and its name there."""
    return f"{plain(endpoint)} {model}" if endpoint else fingerprint(model)


@udf(
    returns=ANSWER,
    parameters=[
        _IMAGE,
        Parameter("prompt", pa.string()),
        Parameter("options", pa.list_(pa.string())),
        _MODEL,
        _SEED,
        _ENDPOINT,
    ],
    version="1",
    batch_size=256,
    device="auto",
    memory="20GB",
    weights=made_by,
)
class ask:  # noqa: N801 - its name in SQL
    """Which of some options a multimodal language model chooses for a picture.

    The options get letters in an order that is drawn for each row from its content and the seed, against models' liking
    for certain letters; the row's place in a batch does not matter. Decoding is greedy. A reply that names no option, or
    several, is an error of its row that shows the reply.

    Labels of people from such answers are perceived: statistics about how groups are depicted, never claims about a
    person. Name the column ``perceived_…``, so that it is kept as sensitive.

    Args:
        model: A folder, or a repository of the hub such as ``'OpenGVLab/InternVL3-8B-hf'``,
            ``'microsoft/Phi-3.5-vision-instruct'``, ``'llava-hf/llava-v1.6-vicuna-7b-hf'`` or
            ``'Qwen/Qwen2.5-VL-7B-Instruct'``; its architecture must be one of transformers, or ``phi3_v``.
        seed: Decides the orders of options.
        endpoint: Base address of an OpenAI-compatible endpoint, such as vLLM's ``'http://localhost:8000/v1'``, where the model
            has that name; the pictures and questions are sent there, and no other network is used. Its key comes from the
            environment variable ``COUNTERBALANCE_LLM_KEY``. What is behind a name there may change, and is not noticed.

    Call with:
        image: Encoded pictures, binary; NULL gives NULL.
        prompt: The question of each row.
        options: 2 to 26 different, non-empty strings a row.

    Returns:
        struct<answer: string, reply: string, shown: list<string>>: the option that was chosen, the reply of the model, and
        the options in the order it saw them.

    Raises:
        NotFoundError: There are no weights of that name (E1102, E1103).
        RequestError: An extra is missing (E3501), there is no code for its architecture (E3540), the model does something
            else (E3541), or has no chat template (E3542); the address is none (E3721), or would have the key in the clear (E3722).
        FunctionError: The endpoint cannot be reached (E8321), or refuses all that is asked (E8322).

    Source:
        Girrbach et al. (2025), labels by several multimodal models; ``label_prompt`` and ``label_options`` give questions.

    Example:
        ``ask(image, 'Is it day or night?', ['day', 'night', 'unclear'], 'Qwen/Qwen2.5-VL-3B-Instruct').answer``
    """

    def __init__(self, model: str, seed: int, endpoint: str = "") -> None:
        self._name, self._seed, self._url = model, seed, endpoint
        self._asker: Asker | None = None

    def open(self, device: str) -> None:
        """Load the model."""
        self._asker = Asker(self._name, self._url, device, "ask", np.array, REPLY_TOKENS)

    def expect(self, image: pa.Array, prompt: pa.Array, options: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        del prompt, options
        assert self._asker is not None  # noqa: S101 - opened before it is called
        self._asker.expect(image)

    def __call__(self, image: pa.Array, prompt: pa.Array, options: pa.Array) -> Partial:
        """Return the answers of a batch."""
        shown: dict[int, list[str]] = {}
        errors: dict[int, str] = {}

        def asked(row: int) -> str | None:
            text, choices = prompt[row].as_py(), options[row].as_py()
            if text is None or choices is None:
                return None
            if fault := _fault(choices):
                errors[row] = fault
                return None
            content = hashlib.sha256(image[row].as_py()).hexdigest()
            shown[row] = shuffled(choices, self._seed, content, text, tuple(choices))
            return question(text, shown[row])

        assert self._asker is not None  # noqa: S101 - opened before it is called
        replies, unread = self._asker.replies(asked, image)
        answers: dict[int, dict[str, Any]] = {}
        for row, reply in replies.items():
            answer = meant(reply, shown[row])
            if answer is None:
                last = LETTERS[len(shown[row]) - 1]
                errors[row] = f"the reply names not one option of A to {last}: {cut(reply)!r}"
            else:
                answers[row] = {"answer": answer, "reply": reply, "shown": shown[row]}
        return rows_of(answers, errors | unread, len(image), ANSWER)

    def close(self) -> None:
        """Let the model go."""
        if self._asker is not None:
            self._asker.close()
        self._asker = None


@udf(
    returns=pa.string(),
    parameters=[
        _IMAGE,
        *(Parameter(name, pa.float64()) for name in ("x", "y", "width", "height")),
        _MODEL,
        Parameter("prompt", pa.string(), default=DESCRIBE, constant=True),
        _ENDPOINT,
    ],
    version="1",
    batch_size=256,
    device="auto",
    memory="20GB",
    weights=made_by,
)
class caption_person:  # noqa: N801 - its name in SQL
    """A description of one person in a picture by a multimodal language model; a red frame shows it whom.

    Decoding is greedy, at most 256 tokens; a reply that is longer is cut there, as in the paper. An empty one is an error
    of its row. Descriptions are what a model says of a picture, with its own biases, and no facts about a person.

    Args:
        model: As for ``ask``.
        endpoint: As for ``ask``.
        prompt: What is asked for, instead of the default. The paper's is that of preset ``paper`` of the recipes
            ``laion400m`` and ``judge_captions``.

    Call with:
        image: Encoded pictures, binary; NULL gives NULL.
        x: Left edge of the person's box in pixels of the picture as stored; NULL in any edge gives NULL, and a box
            outside of the picture is an error of its row.
        y: Top edge.
        width: Pixels.
        height: Pixels.

    Returns:
        A string a row.

    Raises:
        NotFoundError: As ``ask``.
        RequestError: As ``ask``.

    Source:
        Girrbach et al. (2025), person captions: InternVL3-8B, the box drawn in red onto the picture.

    Example:
        ``caption_person(image, x, y, width, height, 'OpenGVLab/InternVL3-8B-hf')``
    """

    def __init__(self, model: str, prompt: str, endpoint: str = "") -> None:
        self._name, self._prompt, self._url = model, prompt, endpoint
        self._asker: Asker | None = None

    def open(self, device: str) -> None:
        """Load the model."""
        self._asker = Asker(self._name, self._url, device, "caption_person", framed, CAPTION_TOKENS)

    def expect(self, image: pa.Array, x: pa.Array, y: pa.Array, width: pa.Array, height: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        assert self._asker is not None  # noqa: S101 - opened before it is called
        self._asker.expect(image, x, y, width, height)

    def __call__(self, image: pa.Array, x: pa.Array, y: pa.Array, width: pa.Array, height: pa.Array) -> Partial:
        """Return the descriptions of a batch."""
        assert self._asker is not None  # noqa: S101 - opened before it is called
        replies, errors = self._asker.replies(lambda _: self._prompt, image, x, y, width, height)
        errors |= {row: "the model said nothing" for row, reply in replies.items() if not reply}
        return rows_of({row: reply for row, reply in replies.items() if reply}, errors, len(image), pa.string())

    def close(self) -> None:
        """Let the model go."""
        if self._asker is not None:
            self._asker.close()
        self._asker = None


def framed(picture: Image, x: float, y: float, width: float, height: float) -> NDArray[np.uint8]:
    """Return pixels with a red frame around a box.

    Raises:
        ImageError: The box is not in the picture.
    """
    try:
        return np.array(pictures.framed(picture, x, y, width, height))
    except ValueError as error:
        raise ImageError(str(error)) from error


class Asker:
    """A model, and pictures that are decoded while it speaks.

    Args:
        name: Of the model.
        url: Of the endpoint where it is; or nothing, and it is loaded.
        device: Where it runs.
        role: The function that asks.
        prepare: Pixels of a decoded picture and what else there is of its row.
        tokens: Most new tokens of a reply.
    """

    def __init__(
        self, name: str, url: str, device: str, role: str, prepare: Callable[..., NDArray[np.uint8]], tokens: int
    ) -> None:
        self._chat: Chat | Remote = Remote(name, url) if url else Chat(name, device, role)
        self._tokens = tokens
        self._ahead = Ahead(prepare, device, stack=False)

    def expect(self, image: pa.Array, *others: pa.Array) -> None:
        """Return pictures that ``replies`` will be given the time after next."""
        self._ahead.expect(image, _AT_ONCE, *others)

    def replies(
        self, prompt: Callable[[int], str | None], image: pa.Array, *others: pa.Array
    ) -> tuple[dict[int, str], dict[int, str]]:
        """Return replies by row number, and the reason by row number of pictures that cannot be shown.

        Args:
            prompt: That of a row; ``None`` where nothing is asked.
            image: Encoded pictures; NULL in them or in the others gives no reply.
            others: What ``prepare`` takes beside the picture.
        """
        from PIL import Image as PillowImage

        found: dict[int, str] = {}
        errors: dict[int, str] = {}
        for rows, arrays, unread in self._ahead.batches(image, _AT_ONCE, *others):
            errors |= unread
            shown = dict(zip(rows, arrays, strict=True))
            asked = {row: text for row in rows if (text := prompt(row)) is not None}
            texts = self._chat.replies(
                [PillowImage.fromarray(shown[row]) for row in asked], [*asked.values()], self._tokens
            )
            for row, said in zip(asked, texts, strict=True):
                if isinstance(said, str):
                    found[row] = said
                else:
                    errors[row] = str(said)
        return found, errors

    def close(self) -> None:
        """Let the model and the processes go."""
        self._ahead.close()
        self._chat.close()


def _fault(options: Sequence[str | None]) -> str | None:
    """Return why these cannot be asked for."""
    texts = [(option or "").strip() for option in options]
    if not 2 <= len(texts) <= len(LETTERS):
        return f"{len(texts)} options; from 2 to {len(LETTERS)} can be asked for"
    if "" in texts:
        return "an option is empty"
    twice = sorted({text for text in texts if texts.count(text) > 1})
    return f"the option {twice[0]!r} is there twice" if twice else None


def cut(reply: str) -> str:
    """Return the beginning of a reply, as an error shows it."""
    return reply if len(reply) <= _CUT else reply[:_CUT] + "…"
