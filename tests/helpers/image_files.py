"""Pictures as the bytes of a file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image


def image_bytes(picture: Image, kind: str = "PNG", **options: Any) -> bytes:
    """Encode a picture; options are those of Pillow's ``save``."""
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()
