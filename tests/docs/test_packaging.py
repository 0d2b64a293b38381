from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "engine": "counterbalance.engine",
    "ingest": "counterbalance.ingest",
    "udfs": "counterbalance.udfs",
    "queries": "counterbalance.queries",
}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def packages_on_disk() -> set[str]:
    found = set()
    for folder, name in {"counterbalance": "counterbalance", **FOLDERS}.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            found.add(".".join((name, *parts)))
    folders = {f"counterbalance.queries.{name}" for name in ("audits", "functions", "recipes", "views")}
    return found | folders | {"counterbalance.udfs.data", "counterbalance.ui.pages", "counterbalance.ui.static"}


def test_every_package_on_disk_is_listed():
    assert set(project()["tool"]["setuptools"]["packages"]) == packages_on_disk()


def test_no_module_imports_a_folder_by_its_generic_name():
    for folder in ("counterbalance", *FOLDERS):
        for file in (ROOT / folder).rglob("*.py"):
            for line in file.read_text().splitlines():
                assert not line.startswith(
                    tuple(
                        f"{verb} {name}{end}" for verb in ("import", "from") for name in FOLDERS for end in (".", " ")
                    )
                ), file


def test_the_light_core_brings_no_torch():
    assert not any("torch" in d for d in project()["project"]["dependencies"])


def test_every_dependency_has_its_reason_in_contributing():
    text = (ROOT / "CONTRIBUTING.md").read_text().lower()
    extras = project()["project"]["optional-dependencies"]
    for requirement in [*project()["project"]["dependencies"], *(d for e in extras.values() for d in e)]:
        name = requirement.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip().lower()
        assert name == "counterbalance" or f"`{name}`" in text, name


def test_a_wheel_brings_every_folder_of_the_documentation():
    """Look for those of ``docs/``, and of what was built where it was."""
    listed = project()["tool"]["setuptools"]["data-files"]
    built = ROOT / "build" / "docs"
    folders = {built, *(built / folder.name for folder in (ROOT / "docs").iterdir() if folder.is_dir())} - {
        built / "images"
    }
    folders |= {file.parent for file in built.rglob("*.*")}
    assert {f"{folder.relative_to(ROOT)}/*.*" for folder in folders} <= {
        glob for globs in listed.values() for glob in globs
    }
    for into, (glob,) in listed.items():
        assert into == "share/man/man1" or into == f"share/doc/counterbalance/{glob[11:-4]}".rstrip("/")
