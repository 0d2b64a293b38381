"""Run a command that is killed (SIGSYS) once it, or anything it starts, goes to the network. Arguments: the command.

To the network is: connect or send to an address of the internet, which is told by its length (16 or 28 bytes), loopback
included; or listen. The kernel looks at each call, so that libraries in Rust and C++ are held as Python is. Linux on x86-64 or
ARM; elsewhere the program ends with 69.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

NUMBERS = {"x86_64": (42, 44, 50), "aarch64": (203, 206, 201)}  # of connect(2), sendto(2), listen(2)
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2  # of prctl(2)
LOAD, JUMP, IF_EQUAL, RETURN = 0x20, 0x05, 0x15, 0x06
KILL, ALLOW = 0x80000000, 0x7FFF0000
CALL, THIRD, SIXTH = 0, 32, 56  # where the number of a call and its arguments lie


class Step(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort), ("if_true", ctypes.c_ubyte), ("if_false", ctypes.c_ubyte), ("value", ctypes.c_uint),
    )  # fmt: skip


class Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(Step)))


def hold(connect: int, send: int, listen: int) -> bool:
    """Have this process, and those it starts, killed when they go to the network; whether the kernel does so."""
    steps = (Step * 11)(
        (LOAD, 0, 0, CALL),
        (IF_EQUAL, 2, 0, connect),
        (IF_EQUAL, 3, 0, send),
        (IF_EQUAL, 6, 5, listen),
        (LOAD, 0, 0, THIRD),  # the length of the address
        (JUMP, 0, 0, 1),
        (LOAD, 0, 0, SIXTH),
        (IF_EQUAL, 2, 0, 16),
        (IF_EQUAL, 1, 0, 28),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, KILL),
    )
    system = ctypes.CDLL(None)
    rules = Filter(len(steps), steps)
    return not (system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or system.prctl(SECCOMP, FILTER, ctypes.byref(rules)))


if __name__ == "__main__":
    numbers = NUMBERS.get(platform.machine()) if sys.platform == "linux" else None
    if numbers is None or not hold(*numbers):
        sys.exit(os.EX_UNAVAILABLE)
    os.execvp(sys.argv[1], sys.argv[1:])
