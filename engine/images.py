"""Pictures that nobody has checked: their headers (size, format, orientation, digest) and, on request, their pixels.

Reading a header decodes no pixel. The content decides the format, not the name; only the formats of ``FORMATS`` are tried,
nothing longer than ``MAX_BYTES`` or larger than ``MAX_PIXELS`` is taken, and whatever goes wrong is an ``ImageError``.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

FORMATS: Final = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
EXTENSIONS: Final = frozenset({"jpg", "jpeg", "jpe", "jfif", "png", "webp", "gif", "bmp"})
OTHER_PICTURES: Final = frozenset(
    {"tif", "tiff", "heic", "heif", "avif", "jp2", "j2k", "jxl", "svg", "ico", "psd", "eps"}
)
"""Suffixes of pictures that are recognised and refused."""
MAX_BYTES: Final = 50 << 20
MAX_PIXELS: Final = 50_000_000
HEAD_BYTES: Final = 64 << 10
_ALONE: Final = frozenset(range(0xD0, 0xDA)) | {0xFF}
_FRAMES: Final = frozenset({0xC0, 0xC1, 0xC2})
_ORIENTATION: Final = 0x0112
_PNG_DEPTH: Final = 24
"""Place of a PNG's bits a channel (its first chunk is IHDR)."""
_PNG_END: Final = b"IEND\xae\x42\x60\x82"
_PASSES: Final = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Of an interlaced PNG: first column and row of each pass, and how many columns and rows lie between two."""
_DEEP: Final = frozenset({"I", "F", "I;16", "I;16B", "I;16L", "I;16N"})
"""Modes whose conversion to eight bits clips: almost white, or black, pictures without a word."""


class ImageError(ValueError):
    """A picture that cannot be taken; ``code`` says in one word why."""

    def __init__(self, message: str, code: str = "bad_image") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of a picture say.

    Args:
        format: One of ``FORMATS``.
        width: Pixels as stored, before any rotation.
        height: Pixels as stored.
        orientation: EXIF orientation 1 to 8; 1 is upright. Boxes refer to the picture as stored.
    """

    format: str
    width: int
    height: int
    orientation: int = 1


def sha256(data: bytes) -> str:
    """Return the hex digest of the encoded picture."""
    return hashlib.sha256(data).hexdigest()


def sniff(data: bytes) -> str | None:
    r"""Return the format by its first bytes, or ``None``.

    Example:
        >>> sniff(b"\x89PNG\r\n\x1a\n")
        'PNG'
    """
    if data[:3] == b"\xff\xd8\xff":
        return "JPEG"
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return "PNG"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if data[:6] in {b"GIF87a", b"GIF89a"}:
        return "GIF"
    return "BMP" if data[:2] == b"BM" else None


def _opener(kind: str) -> Callable[[BinaryIO], ImageFile]:
    # The plug-ins themselves, not Image.open: that one warns about large pictures instead of refusing them.
    from PIL import BmpImagePlugin, GifImagePlugin, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

    return {
        "JPEG": JpegImagePlugin.JpegImageFile,
        "PNG": PngImagePlugin.PngImageFile,
        "WEBP": WebPImagePlugin.WebPImageFile,
        "GIF": GifImagePlugin.GifImageFile,
        "BMP": BmpImagePlugin.BmpImageFile,
    }[kind]


def read_header(data: bytes) -> Header:
    """Return the header of an encoded picture.

    Raises:
        ImageError: ``empty_image``, ``too_big``, ``not_an_image`` or ``bad_image``.
    """
    if not data:
        raise ImageError("no bytes", "empty_image")
    if len(data) > MAX_BYTES:
        raise ImageError(f"{len(data)} bytes; at most {MAX_BYTES} are read", "too_big")
    kind = sniff(data)
    if kind is None:
        raise ImageError(f"begins with {data[:12]!r}: none of {', '.join(FORMATS)}", "not_an_image")
    if kind == "WEBP":
        _check_webp(data)
    plain = _plain_jpeg(data) if kind == "JPEG" else None
    if plain is not None:
        _check_size(plain.width, plain.height)
        return plain
    try:
        with _opener(kind)(io.BytesIO(data)) as picture:
            width, height = picture.size
            turned = _orientation(picture)
    except Exception as error:  # hostile bytes raise whatever they like
        raise ImageError(f"{kind} header cannot be read: {str(error)[:120] or type(error).__name__}") from error
    _check_size(width, height)
    return Header(kind, width, height, turned)


def _plain_jpeg(data: bytes) -> Header | None:
    """Return the header of a JPEG in perfect order and without EXIF, at a quarter of Pillow's time; any other is left to Pillow.

    Markers up to the first scan: ITU-T T.81, annex B.
    """
    at, frame, end = 2, b"", len(data)
    while at + 4 <= end and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xDA:
            if frame[:1] != b"\x08" or frame[5:6] not in {b"\1", b"\3"} or len(frame) != 6 + 3 * frame[5]:
                return None
            return Header("JPEG", int.from_bytes(frame[3:5], "big"), int.from_bytes(frame[1:3], "big"))
        if marker < 0xC0 or marker in _ALONE or length < 2 or data[at + 4 : at + 8] == b"Exif":
            return None
        if marker in _FRAMES:
            frame = data[at + 4 : at + 2 + length]
        at += 2 + length
    return None


def _check_size(width: int, height: int) -> None:
    if width <= 0 or height <= 0:
        raise ImageError(f"says it is {width} x {height} pixels")
    if width * height > MAX_PIXELS:
        raise ImageError(f"{width} x {height} pixels; at most {MAX_PIXELS} are taken", "too_big")


def _check_webp(data: bytes) -> None:
    """Refuse a canvas of absurd size before the WebP library allocates it (RFC 9649, section 2.5 to 2.7)."""
    kind, numbers = data[12:16], data[20:30].ljust(10, b"\0")
    if kind == b"VP8X":
        _check_size(1 + int.from_bytes(numbers[4:7], "little"), 1 + int.from_bytes(numbers[7:10], "little"))
    elif kind == b"VP8L":
        bits = int.from_bytes(numbers[1:5], "little")
        _check_size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    elif kind == b"VP8 " and len(data) >= 30:
        _check_size(int.from_bytes(numbers[6:8], "little") & 0x3FFF, int.from_bytes(numbers[8:10], "little") & 0x3FFF)


def _orientation(picture: ImageFile) -> int:
    if "exif" not in picture.info:
        return 1
    try:
        value = picture.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - a broken EXIF block does not make the picture unreadable
        return 1
    return value if value in range(1, 9) else 1


def decode(data: bytes, *, side: int | None = None) -> Image:
    """Return the pixels of an encoded picture, as stored (not turned by EXIF), its first frame.

    Args:
        data: The encoded picture.
        side: The longer side that is wanted at least, in pixels; a larger JPEG may be decoded at a half, a quarter or an
            eighth of its size.

    Returns:
        A ``PIL.Image.Image`` in mode RGB, uint8 (height, width, 3) as an array.

    Raises:
        ImageError: As ``read_header``, or the pixels cannot be decoded.
    """
    kind = read_header(data).format
    with _loaded(data, kind, side) as picture:
        return picture.convert("RGB")


def check(data: bytes) -> Header:
    """Return the header of an encoded picture once all of its pixels were decoded, as those that are stored must be.

    Of a PNG the checksums are compared, and its rows counted, too, which decoding does not look at.

    Raises:
        ImageError: As ``read_header``; the picture is cut off or damaged; or it has more than eight bits a channel.
    """
    header = read_header(data)
    if header.format == "PNG":
        try:
            with _opener("PNG")(io.BytesIO(data)) as picture:
                picture.verify()
            whole = _PNG_END in data and not _lacks_rows(data, header)
        except Exception as error:  # hostile bytes raise whatever they like
            raise _undecodable("PNG", error) from error
        if not whole:
            raise ImageError("PNG cannot be decoded: it is cut off")
    if header.format == "JPEG" and data[-1] == 0 and data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
        raise ImageError("JPEG cannot be decoded: it ends in zeros and has no end mark")
    with _loaded(data, header.format):
        return header


def _lacks_rows(data: bytes, header: Header) -> bool:
    """Tell whether the pixels of a PNG whose chunks are sound end before its last row (PNG, sections 7, 8 and 11.2.1)."""
    depth, colour, interlaced = data[_PNG_DEPTH], data[_PNG_DEPTH + 1], data[_PNG_DEPTH + 4]
    bits = depth * {2: 3, 4: 2, 6: 4}.get(colour, 1)
    wanted = 0
    for left, top, across, down in _PASSES if interlaced else ((0, 0, 1, 1),):
        columns, rows = -(-(header.width - left) // across), -(-(header.height - top) // down)
        wanted += rows * (1 + (columns * bits + 7) // 8) if columns > 0 and rows > 0 else 0
    stream, found, at = zlib.decompressobj(), 0, 8
    while at + 8 <= len(data) and found < wanted:
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        packed = data[at + 8 : end] if data[at + 4 : at + 8] == b"IDAT" else b""
        while packed and found < wanted:
            found += len(stream.decompress(packed, 1 << 20))
            packed = stream.unconsumed_tail
        at = end + 4
    return found < wanted


def _loaded(data: bytes, kind: str, side: int | None = None) -> ImageFile:
    """Decode a picture whose header was read."""
    if kind == "PNG" and data[_PNG_DEPTH] > 8:
        raise ImageError(f"PNG of {data[_PNG_DEPTH]} bits a channel: only eight bits a channel are taken", "too_deep")
    try:
        picture = _opener(kind)(io.BytesIO(data))
        if side is not None:
            longer = max(picture.size)  # a square of that side is what the shorter one reaches, at up to twice the size
            picture.draft("RGB", (max(1, picture.width * side // longer), max(1, picture.height * side // longer)))
        picture.load()
    except Exception as error:  # hostile bytes raise whatever they like
        raise _undecodable(kind, error) from error
    if picture.mode in _DEEP:
        raise ImageError(f"{kind} of mode {picture.mode}: only eight bits a channel are taken", "too_deep")
    return picture


def _undecodable(kind: str, error: Exception) -> ImageError:
    return ImageError(f"{kind} cannot be decoded: {str(error)[:120] or type(error).__name__}")


def encode(picture: Image, kind: str = "PNG", *, xmp: bytes | None = None) -> bytes:
    """Return a picture as PNG (without loss) or JPEG bytes; nothing but its pixels goes along, and the XMP packet that is given."""
    buffer = io.BytesIO()
    picture.info.clear()
    more: dict[str, Any] = {}
    if xmp is not None and kind == "PNG":
        from PIL.PngImagePlugin import PngInfo

        more["pnginfo"] = PngInfo()
        more["pnginfo"].add_itxt("XML:com.adobe.xmp", xmp.decode())
    elif xmp is not None:
        more["xmp"] = xmp
    picture.save(buffer, kind, **more)
    return buffer.getvalue()


def described(data: bytes) -> str:
    """Return what stands for bytes where they cannot be shown.

    Example:
        >>> described(b"abc")
        '<3 bytes>'
    """
    try:
        header = read_header(data)
    except ImageError:
        return f"<{len(data)} bytes>"
    return f"[image {header.width}x{header.height} {header.format}]"


def read_xmp(data: bytes) -> bytes | None:
    """Return the XMP packet in the head of an encoded picture, as it stands there; ``None`` without one.

    Raises:
        ImageError: As ``read_header``.
    """
    kind = read_header(data).format
    try:
        with _opener(kind)(io.BytesIO(data)) as picture:
            packet = picture.info.get("XML:com.adobe.xmp", picture.info.get("xmp"))
    except Exception as error:  # hostile bytes raise whatever they like
        raise ImageError(f"{kind} header cannot be read: {str(error)[:120] or type(error).__name__}") from error
    return packet.encode() if isinstance(packet, str) else packet


def read_file_header(file: BinaryIO, size: int | None = None) -> Header:
    """Return the header of a picture file: its first 64 KiB, or all of it where that is not enough.

    Args:
        file: At its start.
        size: Its length in bytes, if known.

    Raises:
        ImageError: As ``read_header``.
    """
    if size is not None and size > MAX_BYTES:
        raise ImageError(f"{size} bytes; at most {MAX_BYTES} are read", "too_big")
    head = file.read(HEAD_BYTES)
    try:
        return read_header(head)
    except ImageError as error:
        if error.code != "bad_image" or len(head) < HEAD_BYTES:
            raise
    return read_header(head + file.read(MAX_BYTES + 1 - len(head)))
