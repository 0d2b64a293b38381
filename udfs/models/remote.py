"""Multimodal language models behind an OpenAI-compatible endpoint (vLLM, a vendor's): a picture and a prompt in, a reply out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import FunctionError
from counterbalance.engine.images import encode
from counterbalance.udfs.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

_AT_ONCE: Final = 16
"""Questions that wait for a reply; the server puts them into batches."""


class Remote:
    """A model behind an endpoint, asked as ``Chat`` is: the likeliest reply (temperature 0). Close it in the end.

    Pictures are sent as PNG, as they are shown to a model here. Nothing of the checkpoint is known but its name.

    Args:
        name: Of the model, there.
        url: Base of the endpoint, such as ``'http://localhost:8000/v1'``; the key comes from ``COUNTERBALANCE_LLM_KEY``.

    Raises:
        RequestError: The address is none (E3721), or the key would go over the network in the clear (E3722).
    """

    def __init__(self, name: str, url: str) -> None:
        self._endpoint = Endpoint(url, name, temperature=0.0)
        self._threads = ThreadPoolExecutor(_AT_ONCE, "ask")

    def replies(self, pictures: Sequence[Image], prompts: Sequence[str], tokens: int) -> list[str | FunctionError]:
        """Return a reply to each picture with its prompt, or why there is none to this one.

        Args:
            pictures: RGB.
            prompts: As many.
            tokens: Most new tokens of a reply; one that is longer is cut.

        Raises:
            FunctionError: The endpoint cannot be reached (E8321), or refuses whatever is asked (E8322: the key, the address).
        """

        def asked(picture: Image, prompt: str) -> str | FunctionError:
            try:
                return self._endpoint.ask_about(encode(picture), prompt, tokens).strip()
            except FunctionError as error:
                if error.code == "E8321" or (error.code == "E8322" and error.hint is not None):
                    raise
                return error

        return list(self._threads.map(asked, pictures, prompts))

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown()
