"""Causal language models that answer a question: transformers, a text in and a text out."""

from __future__ import annotations

from typing import Any, Final

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.models.language import Language
from counterbalance.udfs.models.running import inference
from counterbalance.udfs.models.weights import need

TOKENS: Final = 1024
"""Most tokens of a reply, as in the released code of GELDA."""
_BITS: Final = (1 << 64) - 1


class Writer:
    """A causal language model that was tuned to follow instructions. Close it in the end.

    Args:
        name: A folder, or a repository of the hub.
        device: ``"cpu"``, ``"cuda:0"`` …
        temperature: Of the draws; 0 takes the likeliest token each time.

    Raises:
        NotFoundError: There are no such weights (E1102, E1103).
        RequestError: It does something else (E3540, E3541), cannot be loaded (E3546), or has no chat template (E3723).
    """

    def __init__(self, name: str, device: str, temperature: float) -> None:
        self._language = Language(name, "CAUSAL_LM", device, "propose_attributes")
        self._temperature = temperature
        if not self._language.tokenizer.chat_template:
            raise RequestError(
                f"{name} has no chat template", code="E3542", hint="take a model that was tuned to follow instructions"
            )

    def ask(self, question: str, seed: int) -> str:
        """Return the reply to a question; the same question, seed and device give the same reply."""
        torch: Any = need("torch", "models")
        transformers: Any = need("transformers", "models")
        language = self._language
        tokenizer, stop = language.tokenizer, language.model.generation_config.eos_token_id
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
        )
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        room = language.longest - len(ids)
        if room < 1:
            raise RequestError(f"the question has {len(ids)} tokens, more than the model takes", code="E3723")
        stop = tokenizer.eos_token_id if stop is None else stop
        drawn: dict[str, Any] = {"do_sample": False}
        if self._temperature > 0:
            drawn = {"do_sample": True, "temperature": self._temperature, "top_k": 0, "top_p": 1.0}
        how = transformers.GenerationConfig(
            **drawn, max_new_tokens=min(TOKENS, room), eos_token_id=stop, pad_token_id=tokenizer.pad_token_id or 0
        )
        devices = [language.device] if language.device.startswith("cuda") else []
        with torch.random.fork_rng(devices), language.meter.batch(1), inference(language.device):
            torch.manual_seed(seed & _BITS)
            out = language.model.generate(**language.padded([ids]), generation_config=how)
        return str(tokenizer.decode(out[0, len(ids) :], skip_special_tokens=True)).strip()

    def close(self) -> None:
        """Tell how fast it was."""
        self._language.close()
