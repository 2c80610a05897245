"""The site: built without a warning, its notebooks executed, its index answers questions."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sphinx.search.en import SearchEnglish

from layout import ROOT

pytestmark = [pytest.mark.docs, pytest.mark.process, pytest.mark.slow]
NOTEBOOKS = ("solve-one-instance", "compare-on-a-trace", "test-a-theorem")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    done = subprocess.run(
        [*command, "-d", str(made / "doctrees"), "docs", str(made / "html")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return made / "html"


def test_every_page_is_there_and_leads_to_pages_that_are(site: Path) -> None:
    pages = {
        path.relative_to(ROOT / "docs").with_suffix(".html") for path in ROOT.glob("docs/**/*.md")
    }
    assert {path.relative_to(site) for path in site.rglob("*.html")} >= pages
    for page in pages:
        text = (site / page).read_text("utf-8")
        for link in re.findall(r'href="([^"#:]+\.html)', text):
            assert (site / page).parent.joinpath(link).resolve().exists(), (page, link)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_short_and_executed(name: str, site: Path) -> None:
    check_notebook(name, site / "notebooks")


def test_notebooks_are_built_alone_by_one_command(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ROOT / "build" / "notebooks"
    shutil.rmtree(made, ignore_errors=True)
    command = runpy.run_path(str(ROOT / "run.py"))["notebooks"]
    monkeypatch.setitem(command.__globals__, "PYTHON", sys.executable)
    code = command([])
    out, err = capfd.readouterr()
    assert (code, out, err) == (0, "run.py: made build/notebooks/index.html\n", "")
    for name in NOTEBOOKS:
        check_notebook(name, made)
        assert f'href="{name}.html"' in (made / "index.html").read_text("utf-8")


def check_notebook(name: str, folder: Path) -> None:
    """A page has the cells of its source, with what they gave."""
    source = (ROOT / "docs" / "notebooks" / f"{name}.md").read_text("utf-8")
    cells = source.count("```{code-cell}")
    assert 3 <= cells <= 15
    page = (folder / f"{name}.html").read_text("utf-8")
    assert page.count('class="cell docutils') == cells
    assert page.count("cell_output") >= cells // 2
    assert "Traceback" not in page


@pytest.mark.parametrize(
    ("question", "page", "answer"),
    [
        (
            "where is equation (12) of the RAR paper", "papers/rar_ddls",
            "<td><p>(12)</p></td>\n<td><p>the same for all jobs</p></td>",
        ),
        ("how do I add a policy", "how-to/add-a-policy", 'href="#write-it"'),
        (
            "how do I compare my own log with the best possible", "questions",
            'trace.html#how-far-the-real-cluster-was-from-the-best-possible"',
        ),
        ("why did my job wait", "how-to/see-why-jobs-waited", 'href="#the-reasons"'),
    ],
)  # fmt: skip
def test_a_question_is_answered_in_one_search(
    question: str, page: str, answer: str, site: Path
) -> None:
    assert searched(site, question)[0] == page
    assert answer in (site / f"{page}.html").read_text("utf-8")


def test_the_api_has_every_public_name_and_maths(site: Path) -> None:
    update, pages = (
        runpy.run_path(str(ROOT / "docs" / "pages" / "api.py")),
        pages_of(site),
    )
    for name in update["MODULES"]:
        for value in update["public"](update["module"](name)).values():
            place = f'id="{value.__module__}.{value.__qualname__}"'
            assert any(place in text for text in pages), place
    text = (site / "reference" / "full" / "gangsched.formulations.html").read_text("utf-8")
    assert text.count("<math ") >= 7


def pages_of(site: Path) -> list[str]:
    """The pages of the API in full."""
    return [page.read_text("utf-8") for page in (site / "reference" / "full").glob("*.html")]


def test_a_word_that_no_page_has_is_not_found(site: Path) -> None:
    assert searched(site, "how do I brew coffee") == []


def searched(site: Path, question: str) -> list[str]:
    """Pages that have all words of a question, best first, by the rules of Sphinx's search."""
    text = (site / "searchindex.js").read_text("utf-8")
    index: dict[str, Any] = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    language = SearchEnglish({})
    scores: dict[int, int] | None = None
    for word in re.findall(r"\w+", question.lower()):
        if word in language.stopwords or word.isdigit():
            continue
        stem, found = language.stem(word), dict[int, int]()
        for table, score in ((index["terms"], 5), (index["titleterms"], 15)):
            pages = table.get(stem, [])
            for number in pages if isinstance(pages, list) else [pages]:
                found[number] = max(score, found.get(number, 0))
        old = found if scores is None else scores
        scores = {k: old[k] + found[k] for k in old.keys() & found.keys()}
    titles = [title.lower() for title in index["titles"]]
    ranked = sorted((scores or {}).items(), key=lambda item: (-item[1], titles[item[0]]))
    return [index["docnames"][number] for number, _ in ranked]
