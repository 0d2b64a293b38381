"""``sae_features``: which features of trained sparse autoencoders a vector has."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models import sae_model, weights
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.sae_model import STRIDE
from counterbalance.udfs.models.weights import need

FEATURES: Final = pa.list_(pa.struct([("feature", pa.int32()), ("activation", pa.float32())]))
_VECTOR: Final = pa.list_(pa.float32())


def _digest(checkpoint: str) -> str:
    return weights.digest(sae_model.checkpoint(checkpoint).folder)


@udf(
    returns=FEATURES,
    parameters=[Parameter("embedding", _VECTOR), Parameter("checkpoint", pa.string(), constant=True)],
    version="1",
    batch_size=1024,
    device="auto",
    memory="2GB",
    weights=_digest,
)
class sae_features:  # noqa: N801 - its name in SQL
    """Features of sparse autoencoders that a vector has, with their activations: a sparse row.

    ``sae_features(embedding, 'autoencoders/')`` gives a list of structs (``feature`` int32, ``activation`` float32 above 0) in
    order of ``feature``. A folder may hold many autoencoders; feature f is number f % 1048576 of autoencoder
    f // 1048576, in the order of the folder's ``config.json``. A row does not depend on the others of its batch beyond float
    rounding. Source: Gao et al. (2024), Bussmann et al. (2024); as used by Girrbach et al. (2025).

    Args:
        checkpoint: A folder that ``CALL train_sae(…)`` wrote; weights are read from safetensors only.

    Raises:
        NotFoundError: There is no such folder (E1310).
        RequestError: It holds no autoencoders (E3710).
    """

    def __init__(self, checkpoint: str) -> None:
        self.folder = checkpoint
        self.checkpoint = sae_model.checkpoint(checkpoint)

    def open(self, device: str) -> None:
        """Load the weights."""
        self.device = device
        self.models = [self.checkpoint.load(m, device) for m in self.checkpoint.members]
        self.meter = Meter("sae_features", device)

    def __call__(self, embedding: pa.Array) -> Partial:
        """Return sparse rows of vectors; NULL gives NULL, a vector of another length or with what is not a number fails alone."""
        given = embedding.cast(_VECTOR) if pa.types.is_fixed_size_list(embedding.type) else embedding
        lengths = pc.fill_null(pc.list_value_length(given), -1).to_numpy()
        rows = np.flatnonzero(lengths == self.checkpoint.width)
        errors = {
            int(row): f"a vector of {lengths[row]} numbers; {self.folder} takes {self.checkpoint.width}"
            for row in np.flatnonzero((lengths >= 0) & (lengths != self.checkpoint.width))
        }
        flat = given.take(pa.array(rows)).flatten().to_numpy(zero_copy_only=False).astype(np.float32)
        vectors = flat.reshape(len(rows), self.checkpoint.width)
        finite = np.isfinite(vectors).all(axis=1)
        errors |= {int(row): "a vector holds what is not a number" for row in rows[~finite]}
        if not finite.any():
            return Partial(pa.nulls(len(given), FEATURES), errors)
        return Partial(self._sparse(vectors[finite], rows[finite], len(given)), errors)

    def _sparse(self, vectors: Any, rows: Any, count: int) -> pa.Array:
        with self.meter.batch(len(vectors)):
            found = [self._of(number, vectors) for number in range(len(self.models))]
        where = np.concatenate([f[0] for f in found])
        order = np.argsort(where, kind="stable")  # autoencoders, and features in them, stay in order
        features = np.concatenate([f[1] for f in found])[order]
        activations = np.concatenate([f[2] for f in found])[order]
        lengths = np.zeros(count, np.int64)
        lengths[rows] = np.bincount(where, minlength=len(rows))
        missing = np.ones(count, bool)
        missing[rows] = False
        values = pa.StructArray.from_arrays(
            [pa.array(features), pa.array(activations)], fields=list(FEATURES.value_type)
        )
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values, type=FEATURES, mask=pa.array(missing))

    def _of(self, number: int, vectors: Any) -> tuple[Any, Any, Any]:
        """Return row, feature and activation of what is active in one autoencoder."""
        torch: Any = need("torch", "models")
        with torch.inference_mode():
            dense = self.models[number].encode(torch.from_numpy(vectors).to(self.device))
            where = dense.nonzero()
            active = dense[where[:, 0], where[:, 1]].float().cpu().numpy()
        at = where.cpu().numpy()
        return at[:, 0], (at[:, 1] + number * STRIDE).astype(np.int32), active

    def close(self) -> None:
        """Let the models go."""
        self.meter.close()
        del self.models
