"""Read what pictures say of their own making: ``synthetic_source``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import provenance
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import ImageError, read_xmp

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES: Final = ("type", "software", "model", "weights", "prompt", "seed", "settings")
SOURCE: Final = pa.struct([(name, pa.int64() if name == "seed" else pa.string()) for name in _NAMES])


@udf(returns=SOURCE, parameters=[Parameter("image", pa.binary())], version="1", batch_size=256)
def synthetic_source(image: pa.Array) -> Partial:
    """Return what made a synthetic picture, as its own XMP metadata says; NULL where they name no synthetic source.

    Every picture that ``generate``, ``instruct_pix2pix``, ``inpaint`` and ``prompt_to_prompt`` make carries them. A picture
    of another program is recognised by IPTC's digital source type. NULL proves nothing: whoever saves a picture anew may
    drop its metadata. No pixel is decoded.

    Args:
        image: Encoded pictures; NULL gives NULL, one that cannot be read is an error of its row.

    Returns:
        struct<type, software, model, weights, prompt: string, seed: int64, settings: string>: ``type`` is a name of IPTC's
        list, such as ``trainedAlgorithmicMedia`` or ``compositeWithTrainedAlgorithmicMedia``; ``weights`` the digest of the
        model's weights; ``settings`` JSON.

    Source:
        IPTC Photo Metadata Standard 2025.1, digital source type and properties of generative models.

    Example:
        ``SELECT image_id FROM images WHERE synthetic_source(image) IS NOT NULL``
    """
    found: list[Mapping[str, Any] | None] = []
    errors: dict[int, str] = {}
    for row, value in enumerate(image):
        source = None
        if value.is_valid:
            try:
                packet = read_xmp(value.as_py())
                source = provenance.parse(packet) if packet else None
            except ImageError as error:
                errors[row] = str(error)
        found.append(None if source is None else asdict(source))
    return Partial(pa.array(found, SOURCE), errors)
