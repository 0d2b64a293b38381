"""Multimodal language models: a picture and a prompt in, a reply out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.models import transformer
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import by_budget, inference
from counterbalance.udfs.models.weights import digest, folder, need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

_BUDGET: Final = {"cpu": 1 << 12, "cuda": 1 << 15}
_ROWS: Final = 64
_PIXELS_A_TOKEN: Final = 28 * 28


def fingerprint(model: str, **_: Any) -> str:
    """Return the digest of a model's weights, vocabulary and chat template."""
    return digest(folder(model))


class Chat:
    """A multimodal language model with its processor. Close it in the end.

    Decoding is greedy, and nothing else of the checkpoint's generation settings is used than its stop tokens: the model's
    likeliest reply. Rows of like length share a batch, padded on the left; a reply depends on the others of a batch only by
    rounding.

    Args:
        name: A folder, or a repository of the hub.
        device: ``"cpu"``, ``"cuda:0"`` …
        role: The function that asks, for what it tells of its speed.

    Raises:
        NotFoundError: There are no such weights.
        RequestError: There is no code for its architecture (E3540), it does something else (E3541), or the checkpoint has
            no chat template (E3542).
    """

    def __init__(self, name: str, device: str, role: str) -> None:
        transformers: Any = need("transformers", "models")
        path = folder(name)
        self._device, self._budget = device, _BUDGET[device.partition(":")[0]]
        self._model = transformer.load(path, "IMAGE_TEXT_TO_TEXT", device)
        self._processor = transformers.AutoProcessor.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
        self._tokenizer = self._processor.tokenizer
        if not (self._processor.chat_template or self._tokenizer.chat_template):
            raise RequestError(
                f"{name} has no chat template", code="E3542", hint="take a model that was tuned to follow instructions"
            )
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model.generation_config = transformers.GenerationConfig(
            eos_token_id=sorted(self._stops()) or None, pad_token_id=self._tokenizer.pad_token_id
        )
        self._lengths: dict[tuple[int, int], int] = {}
        self._meter = Meter(role, device)

    def replies(self, pictures: Sequence[Image], prompts: Sequence[str], tokens: int) -> list[str]:
        """Return a reply to each picture with its prompt.

        Args:
            pictures: RGB.
            prompts: As many.
            tokens: Most new tokens of a reply; one that is longer is cut.

        Returns:
            Replies without white space at their ends.
        """
        pairs = list(zip(pictures, prompts, strict=True))
        sizes = [self._length(picture.size) + len(prompt.encode()) // 3 for picture, prompt in pairs]
        found = [""] * len(pairs)
        for rows in by_budget(sizes, self._budget, _ROWS):
            for row, reply in zip(rows, self._batch([pairs[row] for row in rows], tokens), strict=True):
                found[row] = reply
        return found

    def _batch(self, pairs: Sequence[tuple[Image, str]], tokens: int) -> list[str]:
        texts = [self._rendered(prompt) for _, prompt in pairs]
        start = self._tokenizer.bos_token
        inputs = self._processor(
            images=[[picture] for picture, _ in pairs],
            text=texts,
            padding=True,
            padding_side="left",
            return_tensors="pt",
            add_special_tokens=not (start and texts[0].startswith(start)),
        ).to(self._device, self._model.dtype)
        with self._meter.batch(len(pairs), inputs["input_ids"].numel()), inference(self._device):
            out = self._model.generate(**inputs, do_sample=False, num_beams=1, max_new_tokens=tokens)
        replies = self._tokenizer.batch_decode(out[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return [str(reply).strip() for reply in replies]

    def _rendered(self, prompt: str) -> str:
        content = [{"type": "image"}, {"type": "text", "text": prompt}]
        turns = [{"role": "user", "content": content}]
        return str(self._processor.apply_chat_template(turns, add_generation_prompt=True))

    def _length(self, size: tuple[int, int]) -> int:
        """Return about how many tokens a picture becomes; processors of transformers tell."""
        if size not in self._lengths:
            tell = getattr(self._processor, "_get_num_multimodal_tokens", None)
            width, height = size
            self._lengths[size] = (
                width * height // _PIXELS_A_TOKEN
                if tell is None
                else int(tell(image_sizes=[(height, width)])["num_image_tokens"][0])
            )
        return self._lengths[size]

    def _stops(self) -> set[int]:
        of_model = self._model.generation_config.eos_token_id
        ids = [*of_model] if isinstance(of_model, list) else [of_model]
        more = getattr(self._processor, "stops", [])
        return {int(i) for i in [*ids, self._tokenizer.eos_token_id, *more] if i is not None}

    def close(self) -> None:
        """Tell how fast it was."""
        self._meter.close()
