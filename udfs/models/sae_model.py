"""Sparse autoencoders of vectors: Top-K and Batch-Top-K, as files and as networks.

A vector x is described by few of many features: a = ReLU(W (x - c) + b), of which only the largest stay, and x is put together
again as D a + c. The columns of D have length 1; c is where all vectors are around.

* ``'top_k'`` keeps the k largest of every vector (Gao et al., Scaling and evaluating sparse autoencoders, 2024).
* ``'batch_top_k'`` keeps the k · n largest of n vectors together, so that a vector may have more or fewer; where it is
  used, a threshold learned in training takes their place, and a vector does not depend on its neighbours (Bussmann et al.,
  BatchTopK Sparse Autoencoders, 2024).

A checkpoint is a folder: ``config.json`` names the autoencoders in order, each has a ``.safetensors`` file. Features are
numbered through all of them: that of autoencoder s is ``STRIDE`` · s + its number there.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: Final = ("top_k", "batch_top_k")
STRIDE: Final = 1 << 20
"""From the first feature of an autoencoder to that of the next; none has more."""
CONFIG: Final = "config.json"
FORMAT: Final = "counterbalance sparse autoencoders 1"
PARTS: Final = ("encoder.weight", "encoder.bias", "decoder.weight", "center", "threshold")
"""Tensors of a file, float32: (features, width), (features), (width, features), (width), ()."""


@dataclass(frozen=True, slots=True, order=True)
class Member:
    """One autoencoder of a checkpoint.

    Args:
        kind: ``'top_k'`` or ``'batch_top_k'``.
        lr: Learning rate.
        expansion: Features for each dimension of a vector.
        k: Features that a vector keeps; in the mean for ``'batch_top_k'``.
        seed: Of the first weights and the order of vectors.
    """

    kind: str
    lr: float
    expansion: int
    k: int
    seed: int

    @property
    def name(self) -> str:
        """Return what it is called, and its file.

        Example:
            >>> Member("top_k", 0.001, 8, 32, 0).name
            'top_k-x8-k32-lr0.001-s0'
        """
        return f"{self.kind}-x{self.expansion}-k{self.k}-lr{self.lr:g}-s{self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a folder holds.

    Args:
        folder: Where.
        width: Numbers of a vector.
        members: The autoencoders, by their number.
        config: All of ``config.json``.
    """

    folder: Path
    width: int
    members: tuple[Member, ...]
    config: Mapping[str, Any]

    def file(self, member: Member) -> Path:
        """Return the file of one of them."""
        return self.folder / f"{member.name}.safetensors"

    def arrays(self, member: Member) -> Mapping[str, Any]:
        """Return its tensors as numpy arrays, by the names of ``PARTS``.

        Raises:
            RequestError: The file is broken.
        """
        files: Any = need("safetensors.numpy", "models")
        try:
            found: dict[str, Any] = files.load_file(self.file(member))
        except Exception as error:
            raise _broken(self.file(member), str(error)) from error
        if set(found) != set(PARTS) or found["decoder.weight"].shape != (self.width, member.expansion * self.width):
            raise _broken(self.file(member), "it holds other tensors")
        return found

    def load(self, member: Member, device: str) -> Any:
        """Return it ready to encode, on a device."""
        torch: Any = need("torch", "models")
        arrays = self.arrays(member)
        return Autoencoder(member, {name: torch.from_numpy(arrays[name]).to(device) for name in PARTS})


def checkpoint(name: str | Path) -> Checkpoint:
    """Return what a folder holds, without its weights.

    Raises:
        NotFoundError: There is no such folder (E1310).
        RequestError: It holds no autoencoders (E3710).
    """
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise NotFoundError(
            f"no folder of sparse autoencoders at {name}", code="E1310", hint="CALL train_sae(…) makes one"
        )
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config["format"] != FORMAT:
            raise _broken(folder, f"its format is {config['format']!r}")
        members = tuple(Member(**m["settings"]) for m in config["members"])
        width = int(config["width"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(folder, f"no {CONFIG} that can be read") from error
    missing = [m.name for m in members if not (folder / f"{m.name}.safetensors").is_file()]
    if missing or not members:
        raise _broken(folder, f"no weights of {missing[0]}" if missing else "there are none in it")
    return Checkpoint(folder, width, members, config)


def _broken(path: Path, why: str) -> RequestError:
    return RequestError(
        f"{path} holds no sparse autoencoders that can be used: {why}",
        code="E3710",
        hint="name a folder that CALL train_sae(…) wrote",
    )


class Autoencoder:
    """One autoencoder as tensors; encodes without learning.

    Args:
        member: What it is.
        parts: Tensors by the names of ``PARTS``, on one device.
    """

    def __init__(self, member: Member, parts: Mapping[str, Any]) -> None:
        self.member = member
        self.parts = parts

    def encode(self, vectors: Any) -> Any:
        """Return the activations of vectors; both are float32, (n, width) and (n, features). Zero is not active."""
        torch: Any = need("torch", "models")
        given = vectors - self.parts["center"]
        dense = torch.relu(torch.nn.functional.linear(given, self.parts["encoder.weight"], self.parts["encoder.bias"]))
        if self.member.kind == "batch_top_k":
            return dense * (dense > self.parts["threshold"])
        return largest(dense, self.member.k)

    def decode(self, activations: Any) -> Any:
        """Return vectors from activations: float32 (n, width)."""
        torch: Any = need("torch", "models")
        return torch.nn.functional.linear(activations, self.parts["decoder.weight"]) + self.parts["center"]


def largest(values: Any, k: int) -> Any:
    """Return the k largest of each row, zero elsewhere; gradients go through those that stay."""
    torch: Any = need("torch", "models")
    top = values.topk(min(k, values.shape[1]), dim=1, sorted=False)
    return torch.zeros_like(values).scatter(1, top.indices, top.values)
