"""Let the second of two pictures take attention from the first while both are made (Prompt-to-Prompt)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.udfs.models.alignment import aligned
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from counterbalance.udfs.models.diffusion_model import Job

LAYERS: Final = {"cross": "attn2", "self": "attn1"}
"""Name of a layer of each kind in diffusers' UNet."""


@contextlib.contextmanager
def shared(pipeline: Any, jobs: Sequence[Job], kind: str) -> Iterator[None]:
    """Let the second of each pair of pictures keep the attention of the first.

    Only the second pictures, and only in the first steps, are computed otherwise than the pipeline does: the first of a pair,
    and both at a share of 0, are those of the pipeline alone, bit by bit. Which are the first steps is as in the code of each
    kind: ``int(share * (steps + 1))`` in Prompt-to-Prompt (cross), and in InstructPix2Pix (self) every step i, from 0, of
    i / (steps - 1) < share.

    Args:
        pipeline: Of diffusers.
        jobs: Pairs, in the order of the pipeline's prompts.
        kind: ``"cross"`` or ``"self"``.
    """
    plain = pipeline.unet.attn_processors
    state = _State(pipeline, jobs, kind)
    if kind == "cross":
        state.align([aligned(job.prompts[0], job.prompts[1], pipeline.tokenizer) for job in jobs])
    edit = _cross if kind == "cross" else _self
    pipeline.unet.set_attn_processor(
        {n: _Processor(p, state, edit) if LAYERS[kind] in n else p for n, p in plain.items()}
    )
    hook = pipeline.unet.register_forward_pre_hook(state.advance)
    try:
        yield
    finally:
        hook.remove()
        pipeline.unet.set_attn_processor(plain)


class _State:
    """Which pairs share attention at the step that runs."""

    def __init__(self, pipeline: Any, jobs: Sequence[Job], kind: str) -> None:
        self.pairs = len(jobs)
        self._kind = kind
        self._scheduler = pipeline.scheduler
        self._device = pipeline.unet.device
        self._shares = np.array([job.share for job in jobs])
        self._step = -1
        self.active: NDArray[np.int64] = np.zeros(0, np.int64)

    def align(self, alignments: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> None:
        """Take the alignments of the pairs."""
        torch: Any = need("torch", "models")
        self.matrices, self.kept = (
            torch.from_numpy(np.stack(parts)).to(self._device) for parts in zip(*alignments, strict=True)
        )

    def advance(self, *_: Any) -> None:
        """Count one more call of the network."""
        self._step += 1
        steps = len(self._scheduler.timesteps)
        until = self._shares * max(steps - 1, 1) if self._kind == "self" else np.floor(self._shares * (steps + 1))
        self.active = np.flatnonzero(self._step < until)

    def places(self, rows: int) -> Iterator[tuple[Any, Any]]:
        """Yield first and second pictures of the active pairs in a batch: without the prompts, where it has that half, and with."""
        torch: Any = need("torch", "models")
        active = torch.from_numpy(self.active).to(self._device)
        for start in range(0, rows, 2 * self.pairs):
            first = start + 2 * active
            yield first, first + 1


class _Processor:
    """Attention as ever, then the active second pictures again, with the attention of the first."""

    def __init__(self, plain: Any, state: _State, edit: Any) -> None:
        self._plain, self._state, self._edit = plain, state, edit

    def __call__(
        self, attn: Any, hidden_states: Any, encoder_hidden_states: Any = None, *others: Any, **more: Any
    ) -> Any:
        """Attend as the processors of diffusers do."""
        result = self._plain(attn, hidden_states, encoder_hidden_states, *others, **more)
        if len(self._state.active):
            self._edit(attn, hidden_states, encoder_hidden_states, self._state, result)
        return result


def _cross(attn: Any, hidden: Any, context: Any, state: _State, result: Any) -> None:
    """Return the maps of the first prompt's words on the second prompt's values; what is made without prompt is left alone."""
    torch: Any = need("torch", "models")
    *_, (first, second) = state.places(len(hidden))
    matrices, kept = (
        m[first // 2 % state.pairs].repeat_interleave(attn.heads, 0) for m in (state.matrices, state.kept)
    )
    source, own = (_maps(attn, hidden[rows], context[rows]) for rows in (first, second))
    kept = kept[:, None]
    maps = kept * torch.bmm(source, matrices.to(source.dtype)) + (1 - kept) * own
    values = attn.head_to_batch_dim(attn.to_v(context[second]))
    _put(attn, attn.batch_to_head_dim(torch.bmm(maps.to(values.dtype), values)), result, second)


def _maps(attn: Any, hidden: Any, context: Any) -> Any:
    query, key = attn.head_to_batch_dim(attn.to_q(hidden)), attn.head_to_batch_dim(attn.to_k(context))
    return attn.get_attention_scores(query, key)


def _self(attn: Any, hidden: Any, context: Any, state: _State, result: Any) -> None:
    """Return the maps of the first picture's places on the second picture's values, with and without prompt."""
    del context
    torch: Any = need("torch", "models")
    for first, second in state.places(len(hidden)):
        query, key, value = (
            project(hidden[rows]).unflatten(-1, (attn.heads, -1)).transpose(1, 2)
            for project, rows in ((attn.to_q, first), (attn.to_k, first), (attn.to_v, second))
        )
        found = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        _put(attn, found.transpose(1, 2).flatten(2), result, second)


def _put(attn: Any, found: Any, result: Any, rows: Any) -> None:
    result[rows] = attn.to_out[0](found).to(result.dtype)
