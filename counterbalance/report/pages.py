"""Share what all pages have: the template beside a module, and the name of the lake."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake


def read_text(package: str, name: str) -> str:
    """Return the text of a file beside the modules of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def template(package: str, *names: str) -> Any:
    """Return the last of some templates, which may use the others; what is put into it is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.DictLoader({name: read_text(package, name) for name in names}),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(names[-1])


def name_of(lake: Lake) -> str:
    """Return the last part of a lake's path."""
    return lake.uri.rstrip("/").rpartition("/")[2] or lake.uri
