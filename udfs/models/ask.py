"""Questions to multimodal language models: ``ask`` with options to choose from, ``caption_person`` for a description.

What a model says of people are perceived labels: statistics about how groups are depicted, never claims about a person.

Source: L. Girrbach et al., Person-Centric Annotations of LAION-400M: Auditing Bias and Its Transfer to Models (2025), labels
by multimodal language models and person captions. Questions keep the form of the published code: options in random order
with a letter each, and the request for a letter.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models.chat import Chat, fingerprint
from counterbalance.udfs.models.replies import LETTERS, meant, question, shuffled
from counterbalance.udfs.models.running import pictures, rows_of
from counterbalance.udfs.pictures import highlight

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_IMAGE: Final = Parameter("image", pa.binary())
_MODEL: Final = Parameter("model", pa.string(), constant=True)
_SEED: Final = Parameter("seed", pa.int64(), default=0, constant=True)


@udf(
    returns=ANSWER,
    parameters=[
        _IMAGE,
        Parameter("prompt", pa.string()),
        Parameter("options", pa.list_(pa.string())),
        _MODEL,
        _SEED,
    ],
    version="1",
    batch_size=32,
    device="auto",
    memory="20GB",
    weights=fingerprint,
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
            ``'Qwen/Qwen2.5-VL-7B-Instruct'`` or ``'llava-hf/llava-v1.6-vicuna-7b-hf'``; its architecture must be one of
            transformers.
        seed: Decides the orders of options.

    Call with:
        image: Encoded pictures, binary; NULL gives NULL.
        prompt: The question of each row.
        options: 2 to 26 different, non-empty strings a row.

    Returns:
        struct<answer: string, reply: string, shown: list<string>>: the option that was chosen, what the model said, and
        the options in the order it saw them.

    Raises:
        NotFoundError: There are no weights of that name (E1102, E1103).
        RequestError: An extra is missing (E3501), transformers has no such architecture (E3540), the model does something
            else (E3541), or has no chat template (E3542).

    Source:
        Girrbach et al. (2025), labels by several multimodal models; ``label_prompt`` and ``label_options`` give questions.

    Example:
        ``ask(image, 'Is it day or night?', ['day', 'night', 'unclear'], 'Qwen/Qwen2.5-VL-3B-Instruct').answer``
    """

    def __init__(self, model: str, seed: int) -> None:
        self._name, self._seed = model, seed
        self._chat: Chat | None = None

    def open(self, device: str) -> None:
        """Load the model."""
        self._chat = Chat(self._name, device, "ask")

    def __call__(self, image: pa.Array, prompt: pa.Array, options: pa.Array) -> Partial:
        """Answers of a batch."""
        found, errors = pictures(image)
        shown: dict[int, list[str]] = {}
        questions: dict[int, str] = {}
        for row in list(found):
            text, choices = prompt[row].as_py(), options[row].as_py()
            if text is None or choices is None:
                continue
            if fault := _fault(choices):
                errors[row] = fault
                continue
            content = hashlib.sha256(image[row].as_py()).hexdigest()
            shown[row] = shuffled(choices, self._seed, content, text, tuple(choices))
            questions[row] = question(text, shown[row])
        answers: dict[int, dict[str, Any]] = {}
        for row, reply in _replies(self._chat, found, questions, REPLY_TOKENS).items():
            answer = meant(reply, shown[row])
            if answer is None:
                last = LETTERS[len(shown[row]) - 1]
                errors[row] = f"the reply names not one option of A to {last}: {_cut(reply)!r}"
            else:
                answers[row] = {"answer": answer, "reply": reply, "shown": shown[row]}
        return rows_of(answers, errors, len(image), ANSWER)

    def close(self) -> None:
        """Let the model go."""
        if self._chat is not None:
            self._chat.close()
        self._chat = None


@udf(
    returns=pa.string(),
    parameters=[
        _IMAGE,
        *(Parameter(name, pa.float64()) for name in ("x", "y", "width", "height")),
        _MODEL,
        Parameter("prompt", pa.string(), default=DESCRIBE, constant=True),
    ],
    version="1",
    batch_size=32,
    device="auto",
    memory="20GB",
    weights=fingerprint,
)
class caption_person:  # noqa: N801 - its name in SQL
    """A description of one person in a picture by a multimodal language model; a red frame shows it whom.

    Decoding is greedy, at most 256 tokens; a reply that is longer is cut there, as in the paper. An empty one is an error
    of its row. Descriptions are what a model says of a picture, with its own biases, and no facts about a person.

    Args:
        model: As for ``ask``.
        prompt: What is asked for, instead of the default. The paper's own words, which carry no licence and are not
            shipped, stand in ``person_captioning.py`` of its repository.

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

    def __init__(self, model: str, prompt: str) -> None:
        self._name, self._prompt = model, prompt
        self._chat: Chat | None = None

    def open(self, device: str) -> None:
        """Load the model."""
        self._chat = Chat(self._name, device, "caption_person")

    def __call__(self, image: pa.Array, x: pa.Array, y: pa.Array, width: pa.Array, height: pa.Array) -> Partial:
        """Descriptions of a batch."""
        framed = highlight(image, x, y, width, height)
        found, errors = pictures(framed.values)
        errors |= framed.errors
        replies = _replies(self._chat, found, dict.fromkeys(found, self._prompt), CAPTION_TOKENS)
        errors |= {row: "the model said nothing" for row, reply in replies.items() if not reply}
        return rows_of({row: reply for row, reply in replies.items() if reply}, errors, len(image), pa.string())

    def close(self) -> None:
        """Let the model go."""
        if self._chat is not None:
            self._chat.close()
        self._chat = None


def _replies(chat: Chat | None, found: dict[int, Image], prompts: dict[int, str], tokens: int) -> dict[int, str]:
    """Replies by row number to the rows that have a prompt."""
    if not prompts or chat is None:
        return {}
    replies = chat.replies([found[row] for row in prompts], list(prompts.values()), tokens)
    return dict(zip(prompts, replies, strict=True))


def _fault(options: Sequence[str | None]) -> str | None:
    """Why these cannot be asked for."""
    texts = [(option or "").strip() for option in options]
    if not 2 <= len(texts) <= len(LETTERS):
        return f"{len(texts)} options; from 2 to {len(LETTERS)} can be asked for"
    if "" in texts:
        return "an option is empty"
    twice = sorted({text for text in texts if texts.count(text) > 1})
    return f"the option {twice[0]!r} is there twice" if twice else None


def _cut(reply: str) -> str:
    return reply if len(reply) <= _CUT else reply[:_CUT] + "…"
