"""Text from strangers, made safe to look at."""

from __future__ import annotations

import re
import textwrap
from typing import Final

# C0 and C1 controls, line separators, and the marks that reorder or hide text (bidi, zero width, tags).
_HOSTILE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
# Those that no text of a file needs: joiners of letters stay, as words and emoji are written with them.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
# What is copied as a whole: something in quotes, a call, a command up to the next comma.
_WHOLE: Final = re.compile(
    r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|\w+\([^()\n]*\)|\b(?:counterbalance|cbal|pip install|python -m) [^;,\n]*"
)
_GLUE: Final = "\x00"
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str, *, keep: str = "") -> str:
    r"""Return text with control, escape and reordering characters written out, so that a caption cannot drive a terminal.

    Args:
        text: Any text.
        keep: Characters to leave alone, e.g. ``"\n"`` for messages of several lines.

    Example:
        >>> print(escape("a\x1b[31mred"), escape("two\nlines"))
        a\x1b[31mred two\nlines
    """
    return _HOSTILE.sub(lambda m: m[0] if m[0] in keep else _written_out(m[0]), text)


def escape_controls(text: str) -> str:
    r"""Return text of a file with characters that control or reorder written out, but for tabs and ends of lines.

    Example:
        >>> print(escape_controls("a\x1b[31mred\u200d"))
        a\x1b[31mred\u200d
    """
    return _CONTROLS.sub(lambda m: _written_out(m[0]), text)


def _written_out(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def wrapped(text: str, width: int | None, indent: str = "") -> str:
    """Return text whose lines break between words; words, paths, and what is in quotes or a command stay whole while they fit.

    Args:
        text: Already escaped.
        width: Columns of a line; nothing is broken without one.
        indent: Before further lines.

    Example:
        >>> print(wrapped("see: cbal audit --list, or a/long/path-to/there", 20, "  "))
        see:
          cbal audit --list,
          or
          a/long/path-to/there
    """
    if width is None:
        return text

    def glued(found: re.Match[str]) -> str:
        return found[0].replace(" ", _GLUE) if len(indent) + len(found[0]) < width else found[0]

    lines = [
        textwrap.fill(
            _WHOLE.sub(glued, line),
            width,
            initial_indent=indent if number else "",
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
            drop_whitespace=True,
        )
        for number, line in enumerate(text.split("\n"))
    ]
    return "\n".join(lines).replace(_GLUE, " ")
