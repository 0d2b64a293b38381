"""``judge``: tell which of two captions of a picture a multimodal language model finds better.

Source: L. Girrbach et al., Person-Centric Annotations of LAION-400M: Auditing Bias and Its Transfer to Models (2025),
appendix F: a prompt with two captions, answered with 'Model A', 'Model B' or 'TIE'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models.ask import REPLY_TOKENS, Asker, cut, made_by
from counterbalance.udfs.models.replies import verdict
from counterbalance.udfs.models.running import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

VERDICT: Final = pa.struct([("winner", pa.string()), ("reply", pa.string())])
PROMPT: Final = """\
In this picture a red frame highlights one person. Below are two captions of this person. Which one is better? Look at the \
person in the frame only, and judge in this order: first, whether what a caption says can be seen; then, whether it makes \
nothing up, such as names, jobs, feelings, ages, origins or moral judgements that nothing in the picture shows; then, how \
many exact details it gives; then, how well it reads. Say that it is a tie where both are as good, or as wrong.

Model A: {caption.a}

Model B: {caption.b}

Reply with one of these and nothing else: Model A, Model B, TIE."""
"""Question that a judge is asked: the meaning of the paper's, in words of our own."""
_PLACE: Final = re.compile(r"\{caption\.([ab])\}")


def _digest(model: str, prompt: str, endpoint: str = "") -> str:
    _checked(prompt)
    return made_by(model, endpoint)


def _checked(prompt: str) -> str:
    for place in ("{caption.a}", "{caption.b}"):
        if place not in prompt:
            raise RequestError(
                f"the prompt of judge() shows no {place}",
                code="E3051",
                hint="it names both captions, {caption.a} and {caption.b}, and asks for Model A, Model B or TIE",
            )
    return prompt


@udf(
    returns=VERDICT,
    parameters=[
        Parameter("image", pa.binary()),
        Parameter("first", pa.string()),
        Parameter("second", pa.string()),
        Parameter("model", pa.string(), constant=True),
        Parameter("prompt", pa.string(), default=PROMPT, constant=True),
        Parameter("endpoint", pa.string(), default="", constant=True),
    ],
    version="1",
    batch_size=256,
    device="auto",
    memory="20GB",
    weights=_digest,
)
class judge:  # noqa: N801 - its name in SQL
    """Tell which of two captions of a picture a multimodal language model finds better, or that it is a tie.

    Decoding is greedy, at most 16 tokens. A reply names Model A (the first caption), Model B (the second one) or a tie,
    in any case and with words around it; one that names none of them, or several, is an error of its row that shows it.
    Judges may like what is shown first: judge each pair in both orders, as the recipe ``judge_captions`` does.

    Args:
        model: As for ``ask``; best none whose captions are judged.
        prompt: What is asked, with the captions in the place of ``{caption.a}`` and ``{caption.b}``; it must ask for
            Model A, Model B or TIE. The paper's is that of preset ``paper`` of the recipe.
        endpoint: As for ``ask``.

    Call with:
        image: Encoded pictures, binary; NULL gives NULL, here and in the captions.
        first: What model A says.
        second: What model B says.

    Returns:
        struct<winner: string, reply: string>: ``'first'``, ``'second'`` or ``'tie'``, and the reply of the model.

    Raises:
        NotFoundError: As ``ask``.
        RequestError: As ``ask``; the prompt shows not both captions (E3051).
        FunctionError: As ``ask``.

    Source:
        Girrbach et al. (2025), appendix F, choice of the model that describes people.

    Example:
        ``judge(image, 'a man in red', 'a person', 'Qwen/Qwen2.5-VL-7B-Instruct').winner``
    """

    def __init__(self, model: str, prompt: str, endpoint: str = "") -> None:
        self._name, self._prompt, self._url = model, _checked(prompt), endpoint
        self._asker: Asker | None = None

    def open(self, device: str) -> None:
        """Load the model."""
        self._asker = Asker(self._name, self._url, device, "judge", np.array, REPLY_TOKENS)

    def expect(self, image: pa.Array, first: pa.Array, second: pa.Array) -> None:
        """Begin to decode the pictures of the batch behind the next."""
        del first, second
        assert self._asker is not None  # noqa: S101 - opened before it is called
        self._asker.expect(image)

    def __call__(self, image: pa.Array, first: pa.Array, second: pa.Array) -> Partial:
        """Return the verdicts of a batch."""

        def asked(row: int) -> str | None:
            captions = {"a": first[row].as_py(), "b": second[row].as_py()}
            return None if None in captions.values() else _filled(self._prompt, captions)

        assert self._asker is not None  # noqa: S101 - opened before it is called
        replies, errors = self._asker.replies(asked, image)
        verdicts: dict[int, dict[str, Any]] = {}
        for row, reply in replies.items():
            winner = verdict(reply)
            if winner is None:
                errors[row] = f"the reply names not one of Model A, Model B and TIE: {cut(reply)!r}"
            else:
                verdicts[row] = {"winner": winner, "reply": reply}
        return rows_of(verdicts, errors, len(image), VERDICT)

    def close(self) -> None:
        """Let the model go."""
        if self._asker is not None:
            self._asker.close()
        self._asker = None


def _filled(prompt: str, captions: Mapping[str, str]) -> str:
    """Return the prompt with the captions in it, whose own braces stay."""
    return _PLACE.sub(lambda place: captions[place[1]], prompt)
