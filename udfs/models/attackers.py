"""The networks with which papers ask what gives a label away (torch), for the functions of ``udfs.attackers``.

LSTM and BERT of Hirota et al. (2022) for texts, the perceptron of Wang et al. (2019) for sets and vectors, with the sizes,
optimizers and numbers of epochs of their code at most. A tenth of the images of the training side is not learned from but tells
which epoch was best: that one counts, as for Wang et al., and learning ends where five in a row are worse. On a CPU they learn on one thread, so that the bits do not depend on how many there are.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.executors.devices import available
from counterbalance.engine.progress import Progress, tell
from counterbalance.udfs.attack_splits import MASKED, UNKNOWN
from counterbalance.udfs.models import weights
from counterbalance.udfs.models.learning import descend
from counterbalance.udfs.models.running import seed_of
from counterbalance.udfs.models.shared import loading
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from counterbalance.udfs.attack_splits import Attack, Settings, Split

    Batch = Callable[[NDArray[np.int64]], Any]
    """From row numbers to logits (rows, 2)."""

_PAD, _UNK = 0, 1
_VOCABULARY: Final = 25_000
_TOKENS: Final = 64
_PATIENCE: Final = 5
"""Epochs in a row that may be worse than the best one."""
_LEAST_CHECK: Final = 20
"""Rows to check by, below which all epochs are learned from all rows."""
_POOL: Final = 100
"""Batches among which rows are sorted by length, so that little is padding."""
_ALONE: Final = threading.Lock()
"""Held while one learns: all threads of a process draw from one randomness of torch's."""


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How a network learns: its paper's numbers."""

    epochs: int
    learning_rate: float
    batch: int


_RECIPES: Final = {
    "mlp": _Recipe(epochs=100, learning_rate=5e-5, batch=32),
    "lstm": _Recipe(epochs=20, learning_rate=5e-5, batch=64),
    "bert": _Recipe(epochs=5, learning_rate=1e-5, batch=64),
}


def over_rows(rows: Any, settings: Settings) -> Attack:
    """Return the perceptron of Wang et al. (2019): four layers with batch normalisation, 300 wide.

    Args:
        rows: (rows, columns), a NumPy array or a SciPy matrix.
        settings: How it learns.
    """

    def attack(cut: Split, positive: NDArray[np.bool_], seed: int) -> NDArray[np.float64]:
        torch: Any = need("torch", "models")
        with _on(seed) as device:
            model = _perceptron(rows.shape[1], (300, 300, 300)).to(device)
            optimizer = torch.optim.Adam(model.parameters(), lr=_rate(settings), weight_decay=1e-5)

            def batch(places: NDArray[np.int64]) -> Any:
                own = rows[places]
                dense = own.toarray() if hasattr(own, "toarray") else own
                return model(torch.from_numpy(np.ascontiguousarray(dense, np.float32)).to(device))

            return _learned(model, batch, optimizer, cut, positive, settings, seed)

    return attack


def over_tokens(tokens: Sequence[Sequence[str]], settings: Settings) -> Attack:
    """Return the LSTM or the BERT of Hirota et al. (2022).

    Args:
        tokens: Words of every text.
        settings: How it learns; ``attacker`` says which.

    Raises:
        NotFoundError: There are no weights of the BERT.
        RequestError: They cannot be loaded (``E3546``).
    """
    return _bert(tokens, settings) if settings.attacker == "bert" else _lstm(tokens, settings)


def _lstm(tokens: Sequence[Sequence[str]], settings: Settings) -> Attack:
    """Return two bidirectional layers of 256 over embeddings of 100, dropout of a half, words of the training side."""
    lengths = np.array([max(len(t), 1) for t in tokens], np.int64)

    def attack(cut: Split, positive: NDArray[np.bool_], seed: int) -> NDArray[np.float64]:
        torch: Any = need("torch", "models")
        numbers = _numbers(tokens, cut.train)
        with _on(seed) as device:
            parts = torch.nn.ModuleDict(
                {
                    "embed": torch.nn.Embedding(max(numbers.values(), default=_UNK) + 1, 100, padding_idx=_PAD),
                    "lstm": torch.nn.LSTM(100, 256, 2, bidirectional=True, dropout=0.5, batch_first=True),
                    "drop": torch.nn.Dropout(0.5),
                    "head": torch.nn.Linear(512, 1),
                }
            ).to(device)
            with torch.no_grad():
                parts["embed"].weight[[_PAD, _UNK]] = 0.0

            def batch(places: NDArray[np.int64]) -> Any:
                ids = np.full((len(places), int(lengths[places].max())), _PAD, np.int64)
                for row, place in enumerate(places):
                    found = [numbers.get(word, _UNK) for word in tokens[place]] or [_UNK]
                    ids[row, : len(found)] = found
                seen = parts["drop"](parts["embed"](torch.from_numpy(ids).to(device)))
                packed = torch.nn.utils.rnn.pack_padded_sequence(
                    seen, torch.from_numpy(lengths[places]), batch_first=True, enforce_sorted=False
                )
                _, (hidden, _) = parts["lstm"](packed)
                logit = parts["head"](parts["drop"](torch.cat((hidden[-2], hidden[-1]), dim=1)))
                return torch.cat((torch.zeros_like(logit), logit), dim=1)

            optimizer = torch.optim.Adam(parts.parameters(), lr=_rate(settings))
            return _learned(parts, batch, optimizer, cut, positive, settings, seed, lengths)

    return attack


def _numbers(tokens: Sequence[Sequence[str]], rows: NDArray[np.int64]) -> dict[str, int]:
    """Return the numbers of the most frequent words of some texts, from 2; what is unknown stays so."""
    counts = Counter(word for row in rows for word in tokens[row] if word != UNKNOWN)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))[:_VOCABULARY]
    return {word: number for number, word in enumerate(ranked, _UNK + 1)}


def _bert(tokens: Sequence[Sequence[str]], settings: Settings) -> Attack:
    """Return a BERT fine-tuned with a small perceptron on its first token; masked words are its own mask."""
    transformers: Any = need("transformers", "models")
    path = weights.folder(settings.model)
    with loading(settings.model):
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        known = {MASKED: tokenizer.mask_token, UNKNOWN: tokenizer.unk_token}
        texts = [" ".join(known.get(word, word) for word in row) for row in tokens]
        encoded = tokenizer(texts, truncation=True, max_length=_TOKENS)["input_ids"]
    lengths = np.array([len(ids) for ids in encoded], np.int64)

    def attack(cut: Split, positive: NDArray[np.bool_], seed: int) -> NDArray[np.float64]:
        torch: Any = need("torch", "models")
        with _on(seed) as device:
            model = _Tuned.load(path, settings.model).to(device)

            def batch(places: NDArray[np.int64]) -> Any:
                padded = tokenizer.pad({"input_ids": [encoded[p] for p in places]}, return_tensors="pt")
                padded = {name: padded[name].to(device) for name in ("input_ids", "attention_mask")}
                return model["head"](model["body"](**padded).last_hidden_state[:, 0])

            named = [(n, p) for n, p in model.named_parameters() if "pooler" not in n]
            plain = ("bias", "LayerNorm.weight")
            groups = [
                {"params": [p for n, p in named if not n.endswith(plain)], "weight_decay": 0.1},
                {"params": [p for n, p in named if n.endswith(plain)], "weight_decay": 0.0},
            ]
            optimizer = torch.optim.AdamW(groups, lr=_rate(settings), betas=(0.9, 0.98), eps=1e-6)
            return _learned(model, batch, optimizer, cut, positive, settings, seed, lengths)

    return attack


class _Tuned:
    """A BERT and its head."""

    @staticmethod
    def load(path: Any, name: str) -> Any:
        torch: Any = need("torch", "models")
        transformers: Any = need("transformers", "models")
        with loading(name):
            body = transformers.AutoModel.from_pretrained(path, dtype=torch.float32, **weights.pretrained(path))
        return torch.nn.ModuleDict({"body": body, "head": _perceptron(body.config.hidden_size, (256,))})


def _perceptron(columns: int, widths: Sequence[int]) -> Any:
    torch: Any = need("torch", "models")
    layers: list[Any] = [torch.nn.BatchNorm1d(columns)]
    for before, width in zip((columns, *widths), widths, strict=False):
        layers += [torch.nn.Linear(before, width), torch.nn.BatchNorm1d(width), torch.nn.LeakyReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 2))


def _rate(settings: Settings) -> float:
    return settings.learning_rate or _RECIPES[settings.attacker].learning_rate


@contextlib.contextmanager
def _on(seed: int) -> Iterator[str]:
    """Lend a device to one learner at a time, with torch's own randomness fixed by the seed, and one thread on a CPU.

    All is as it was in the end.
    """
    torch: Any = need("torch", "models")
    device = available("auto", wants=True)[0]
    with _ALONE, torch.random.fork_rng():
        threads = torch.get_num_threads()
        torch.manual_seed(seed_of("attackers", seed))
        torch.set_num_threads(1)
        try:
            yield device
        finally:
            torch.set_num_threads(threads)


def _learned(
    model: Any,
    batch: Batch,
    optimizer: Any,
    cut: Split,
    positive: NDArray[np.bool_],
    settings: Settings,
    seed: int,
    lengths: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Let a network learn from the training side; returns the probability of the label in every row of the test side.

    Args:
        model: The network, for its parameters and modes.
        batch: What it says of some rows.
        optimizer: Over its parameters.
        cut: Both sides.
        positive: Labels of all rows.
        settings: How.
        seed: Of the order of rows.
        lengths: Of all rows, where rows of like length are to go together.
    """
    torch: Any = need("torch", "models")
    recipe = _RECIPES[settings.attacker]
    truth = torch.from_numpy(positive.astype(np.int64))
    order = np.random.default_rng([seed, len(cut.train)])

    def loss(places: NDArray[np.int64]) -> Any:
        logits = batch(places)
        return torch.nn.functional.cross_entropy(logits, truth[places].to(logits.device))

    def chances(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        chance = np.empty(len(rows), np.float64)
        ranked = np.argsort(lengths[rows], kind="stable") if lengths is not None else np.arange(len(rows))
        model.eval()
        with torch.inference_mode():
            for part in np.array_split(ranked, -(-len(ranked) // 256)):
                chance[part] = torch.softmax(batch(rows[part]).double(), dim=1)[:, 1].cpu().numpy()
        return chance

    is_checked = len(cut.check) >= _LEAST_CHECK
    learned = np.setdiff1d(cut.train, cut.check) if is_checked else cut.train
    best, worse, kept = np.inf, 0, None
    epochs = settings.epochs or recipe.epochs
    for done in range(seed * epochs, (seed + 1) * epochs):  # of all cuts: one that is learned early jumps
        tell(Progress(settings.attacker, done, settings.seeds * epochs, "epochs", done))
        model.train()
        batches = _batches(order.permutation(learned), recipe.batch, lengths, order)
        for _ in descend(batches, loss, optimizer):
            pass
        if is_checked:
            found = _surprise(chances(cut.check), positive[cut.check])
            if found < best:
                best, worse, kept = found, 0, {name: value.clone() for name, value in model.state_dict().items()}
            else:
                worse += 1
            if worse == _PATIENCE:
                break
    if kept is not None:
        model.load_state_dict(kept)
    return chances(cut.test)


def _surprise(chance: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Return the mean cross entropy."""
    right = np.where(truth, chance, 1 - chance)
    return float(-np.log(np.maximum(right, 1e-300)).mean())


def _batches(
    rows: NDArray[np.int64], size: int, lengths: NDArray[np.int64] | None, order: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield rows in batches of about one size; of like length, in random order, where lengths are given."""
    for pool in np.array_split(rows, -(-len(rows) // (size * _POOL))):
        own = pool if lengths is None else pool[np.argsort(lengths[pool], kind="stable")]
        parts = np.array_split(own, -(-len(own) // size))
        yield from (parts[i] for i in order.permutation(len(parts)))
