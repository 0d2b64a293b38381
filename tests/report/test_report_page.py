"""The report of a full lake: one page that needs nothing else, with the SQL behind every figure."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

import counterbalance as cb
from counterbalance.demo import ingest
from counterbalance.report import build
from counterbalance.report.figures import cell
from counterbalance.sample import generate

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.engine.lake import Lake

VOID = {"meta", "br", "img", "hr", "input", "link", "image", "rect", "path", "circle"}


class Page(HTMLParser):
    """Elements of a page, and whether they nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.bad: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.bad.append(tag)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("report")
    generate(folder / "sample", images=200, seed=2)
    found = cb.connect(folder / "sample.lake")
    ingest(found, folder / "sample")
    return found


@pytest.fixture(scope="module")
def text(lake: Lake) -> str:
    return build.render(lake)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_elements_nest_and_ids_are_unique(page: Page) -> None:
    assert page.bad == []
    assert page.open == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        href = attributes.get("href") or ""
        assert not href.startswith("#") or href[1:] in ids


def test_nothing_is_fetched(page: Page, text: str) -> None:
    assert not {t for t, _ in page.elements} & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    for tag, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "srcset", "data", "action"):
            value = attributes.get(name)
            assert value is None or value.startswith("#" if tag == "a" else "data:image/jpeg;base64,")
        assert not [n for n in attributes if n.startswith("on")]
    assert "url(" not in text
    assert "@import" not in text
    policy = next(a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in (policy or "")


def test_it_is_small(text: str) -> None:
    assert len(text.encode()) < 1_000_000


def test_every_figure_has_its_numbers_and_its_sql(text: str) -> None:
    figures = re.findall(r'<figure id="([\w-]+)">(.*?)</figure>', text, flags=re.DOTALL)
    assert len(figures) > 20
    for name, body in figures:
        assert body.count("<svg") == 2, name
        assert "<summary>The numbers</summary>" in body, name
        assert "<summary>SQL and parameters</summary>" in body, name


def test_the_sql_of_a_figure_gives_its_numbers(lake: Lake, text: str) -> None:
    for name in ("categories", "share-caption-gender", "objects-caption-gender", "random-bias"):
        found = re.search(rf'<figure id="{name}">(.*?)</figure>', text, flags=re.DOTALL)
        assert found is not None
        cells = [html.unescape(c) for c in re.findall(r"<td[^>]*>(.*?)</td>", found[1])]
        query = re.search(r"<pre><code>(.*?)</code></pre>", found[1], flags=re.DOTALL)
        assert query is not None
        rows = lake.sql(html.unescape(query[1])).to_arrow()
        first = [v for c, v in rows.slice(0, 1).to_pylist()[0].items() if c != "params"]
        assert cells[: len(first)] == [cell(v) for v in first]


def test_versions_and_the_statement_stand_at_the_end(lake: Lake, text: str) -> None:
    end = text[text.index('<section id="provenance">') :]
    with lake.session() as session:
        for name, number in session.versions.items():
            assert f"<dt>{name}</dt><dd>version {number}</dd>" in end
    versions = dict(lake.sql("SELECT name, version FROM meta.functions WHERE kind = 'function'").fetchall())
    listed = dict(re.findall(r"<code>(\w+)</code></th><td>(\w+)</td>", end))
    assert {"vader", "country_mentions"} <= listed.keys() < versions.keys()
    assert all(versions[name] == version for name, version in listed.items())
    assert not {"ask", "inpaint", "detect", "sentiment"} & listed.keys(), "nothing here called them"
    assert f"<dt>counterbalance</dt><dd>{cb.__version__}</dd>" in end
    assert "Perceived labels are statistics about how groups are depicted, never claims about a person." in end


def test_no_label_of_a_single_person_is_on_the_page(text: str) -> None:
    pictures = text[text.index('<section id="pictures">') : text.index('<section id="absent">')]
    assert pictures.count("<image ") == 12
    for word in ("amber", "teal", "violet", "perceived"):
        assert word not in pictures


def test_light_dark_phones_and_paper_are_provided_for(text: str) -> None:
    for rule in ("prefers-color-scheme: dark", "@media print", "max-width: 620px", 'name="viewport"'):
        assert rule in text


@pytest.mark.thorough
def test_writing_replaces_the_file_with_the_same_page_every_time_and_leaves_nothing_else(
    lake: Lake, text: str, tmp_path: Path
) -> None:
    target = tmp_path / "new" / "report.html"
    target.parent.mkdir()
    target.write_text("old")
    made: list[int] = []
    assert build.write(lake, target, progress=made.append) == target
    assert made == list(range(1, len(made) + 1))
    assert len(made) > 10
    assert target.read_text(encoding="utf-8") == text
    assert [f.name for f in target.parent.iterdir()] == ["report.html"]


def test_the_first_list_says_how_many_values_were_looked_at(text: str) -> None:
    glance = text.split('<section id="glance"')[1].split("</section>", maxsplit=1)[0]
    assert re.search(r"of [\d,]+ values in \d+ figures", glance)
    assert "Benjamini and Hochberg" in glance
