"""Audit and rebalance image-text datasets with SQL.

>>> import counterbalance as cb
>>> lake = cb.connect("coco.lake")              # doctest: +SKIP
>>> lake.ingest("annotations/")                 # doctest: +SKIP
>>> lake.sql("SELECT count(*) FROM captions")   # doctest: +SKIP
>>> lake.audit("crime_words", groups="caption_gender").df()  # doctest: +SKIP

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pkgutil import extend_path
from typing import TYPE_CHECKING, Any, Final

# In a checkout the packages beside this folder are installed under this name; both are one package.
__path__ = extend_path(__path__, __name__)

if find_spec("fcntl") is None:
    raise ImportError(
        "counterbalance runs on Linux and macOS, whose file locks keep writers of a lake apart: on Windows, install it in WSL or use its Dockerfile"
    )

if TYPE_CHECKING:
    from counterbalance.engine.errors import CounterbalanceError as CounterbalanceError
    from counterbalance.engine.functions import Parameter as Parameter
    from counterbalance.engine.functions import Partial as Partial
    from counterbalance.engine.functions import functions as functions
    from counterbalance.engine.functions import udf as udf
    from counterbalance.engine.lake import Lake as Lake
    from counterbalance.engine.lake import connect as connect
    from counterbalance.engine.lake import formats as formats
    from counterbalance.engine.result import Result as Result
    from counterbalance.engine.session import Session as Session
    from counterbalance.engine.sql.queries import audits as audits

_HOMES: Final = {
    "CounterbalanceError": "errors",
    "Lake": "lake",
    "Parameter": "functions",
    "Partial": "functions",
    "Result": "result",
    "Session": "session",
    "audits": "sql.queries",
    "connect": "lake",
    "formats": "lake",
    "functions": "functions",
    "udf": "functions",
}
__all__ = [
    "CounterbalanceError",
    "Lake",
    "Parameter",
    "Partial",
    "Result",
    "Session",
    "__version__",
    "audits",
    "connect",
    "formats",
    "functions",
    "udf",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("counterbalance")
    if name in _HOMES:
        return getattr(import_module(f"counterbalance.engine.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
