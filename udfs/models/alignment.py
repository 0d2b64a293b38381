"""Align the tokens of two prompts, so that attention is carried over between two pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Alignment = tuple[NDArray[np.float32], NDArray[np.float32]]


def aligned(first: str, second: str, tokenizer: Any) -> Alignment:
    """Return how the attention to the tokens of one prompt becomes attention to those of another.

    Prompts of equally many words are replaced word by word; where a word has more or fewer tokens than the one it stands
    for, its attention is shared out evenly. Other prompts are aligned by their longest common subsequence of tokens, and
    new tokens keep the attention of their own.

    Args:
        first: The prompt whose attention is kept.
        second: The prompt that gets it.
        tokenizer: A CLIP tokenizer of transformers.

    Returns:
        float32 (length, length), from tokens of the first (rows) to those of the second (columns); and float32 (length,), 1
        for a token of the second that gets its attention so, 0 for one that keeps its own. ``length`` is that of the
        model's context, with start, end and padding.

    Source:
        Hertz et al., Prompt-to-Prompt Image Editing with Cross Attention Control (2022), word swap and prompt refinement.
        The published code aligns what follows a word of another number of tokens by place; here it is aligned by word.
    """
    length = int(tokenizer.model_max_length)
    one, two = first.split(), second.split()
    if len(one) == len(two):
        return replaced(_counts(one, tokenizer), _counts(two, tokenizer), length)
    return refined(tokenizer(first).input_ids, tokenizer(second).input_ids, length)


def replaced(first: Sequence[int], second: Sequence[int], length: int) -> Alignment:
    """Align word by word.

    Args:
        first: Tokens of each word of the first prompt.
        second: Tokens of each word of the second, as many words.
        length: Of the context.

    Example:
        >>> matrix, kept = replaced([1, 1], [2, 1], 6)  # start, words, end, padding
        >>> matrix[1].tolist(), matrix[2].tolist(), matrix[3].tolist()
        ([0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    """
    room = length + max(sum(first), sum(second)) + 2
    matrix = np.zeros((room, room), np.float32)
    at = to = 0
    for old, new in [(1, 1), *zip(first, second, strict=True)]:
        matrix[at : at + old, to : to + new] = np.eye(old) if old == new else 1 / max(new, 1)
        at, to = at + old, to + new
    rest = room - max(at, to)
    matrix[at : at + rest, to : to + rest] = np.eye(rest)
    matrix = matrix[:length, :length]
    matrix[:, -1] += 1 - matrix.sum(1)  # what no token within the context gets: nothing of the attention is lost
    return matrix, np.ones(length, np.float32)


def refined(first: Sequence[int], second: Sequence[int], length: int) -> Alignment:
    """Align by the longest common subsequence of tokens, padding by padding.

    Args:
        first: Tokens of the first prompt, with start and end.
        second: Tokens of the second.
        length: Of the context.

    Example:
        >>> matrix, kept = refined([0, 5, 9], [0, 7, 5, 9], 5)
        >>> matrix.argmax(0).tolist(), kept.tolist()
        ([0, 0, 1, 2, 3], [1.0, 0.0, 1.0, 1.0, 1.0])
    """
    one, two = list(first)[:length], list(second)[:length]
    matrix = np.zeros((length, length), np.float32)
    for at, to in _common(one, two):
        matrix[at, to] = 1
    for at, to in zip(range(len(one), length), range(len(two), length), strict=False):
        matrix[at, to] = 1
    return matrix, matrix.sum(0)


def _counts(words: Sequence[str], tokenizer: Any) -> list[int]:
    """Return the tokens of each word."""
    return [len(tokenizer(word, add_special_tokens=False).input_ids) for word in words]


def _common(one: Sequence[int], two: Sequence[int]) -> list[tuple[int, int]]:
    """Return the places of a longest common subsequence; the earliest pairs where several are as long."""
    best = np.zeros((len(one) + 1, len(two) + 1), np.int64)
    for at in reversed(range(len(one))):
        for to in reversed(range(len(two))):
            same = one[at] == two[to]
            best[at, to] = best[at + 1, to + 1] + 1 if same else max(best[at + 1, to], best[at, to + 1])
    pairs: list[tuple[int, int]] = []
    at = to = 0
    while at < len(one) and to < len(two):
        if one[at] == two[to]:
            pairs.append((at, to))
            at, to = at + 1, to + 1
        elif best[at + 1, to] >= best[at, to + 1]:
            at += 1
        else:
            to += 1
    return pairs
