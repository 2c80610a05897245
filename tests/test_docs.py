"""The documentation's examples run and its links lead somewhere.

In every page, each block that begins with ```python runs, top to bottom in one namespace and in an
empty folder; blocks that begin with ```pycon are sessions whose output is compared. A block that
cannot run here stands below a line `<!-- not run: the reason -->`.
"""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

from gangsched.analysis.papers.reproduce import TARGETS
from layout import ROOT
from measure import PAGES as PAGES_BY_NAME

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}

FENCE = re.compile(
    r"^(?P<why><!-- not run: *\S[^\n]* -->\n+)?```(?P<kind>\w+)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
EXAMPLES = re.compile("^```(python|pycon)", re.MULTILINE)
ANY_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`[^`\n]*`|\$\$[^$]*\$\$|\$[^$\n]*\$")
LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"")


def examples(text: str, kind: str) -> list[tuple[int, str]]:
    """Return (line number, code) of the blocks of one kind that are to run."""
    return [
        (text.count("\n", 0, block.start("code")), block["code"])
        for block in FENCE.finditer(text)
        if block["kind"] == kind and not block["why"]
    ]


def run_examples(name: str, text: str) -> None:
    """Run a page; a failure shows the page's name and line."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for line, code in examples(text, "python"):
        exec(compile("\n" * line + code, name, "exec"), names)
    for line, code in examples(text, "pycon"):
        session = doctest.DocTestParser().get_doctest(code, names, name, name, line)
        assert doctest.DocTestRunner().run(session, clear_globs=False).failed == 0
        names = session.globs


def anchors(text: str) -> set[str]:
    """Return what the headings of a page are called in links."""
    headings = re.findall(r"^#+ +(.*?) *$", ANY_FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """Return the links of a page to files or headings that are not there."""
    text = page.read_text("utf-8")
    prose = INLINE.sub("", ANY_FENCE.sub("", text))
    broken = []
    for link in (match[1] or match[2] for match in LINK.finditer(prose)):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            broken.append(link)
    return broken


@pytest.mark.parametrize("name", [name for name in TEXTS if EXAMPLES.search(TEXTS[name])])
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(name, TEXTS[name])


def test_links_lead_somewhere() -> None:
    assert {name: found for name in TEXTS if (found := broken_links(ROOT / name))} == {}


def test_the_readme_gives_the_two_commands() -> None:
    """CI and a newcomer run the same words."""
    readme = (ROOT / "README.md").read_text("utf-8").splitlines()
    for command in ("demo", "test", "test --all"):
        assert f"python3 run.py {command}" in readme
    assert "python3 run.py test --all" in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_the_gallery_has_the_commands_that_make_its_pictures() -> None:
    text = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    figures = re.findall(r"`gangsched reproduce ([\w:]+)`", text)
    assert len(figures) >= 5
    assert set(figures) <= set(TARGETS)
    assert all(f"](images/{figure.replace(':', '-')}.png)" in text for figure in figures)
    for script in re.findall(r"`python (\S+\.py)", text):
        assert (ROOT / script).is_file(), script
    assert {*re.findall(r"`python docs/measure\.py ([\w-]+)", text)} <= {*PAGES_BY_NAME}


PAGE = """
# A page: `code` & more

```python
x = 1
```

<!-- not run: needs a cluster -->
```python
raise SystemExit
```

```pycon
>>> x + 1
2
```

```console
$ rm -rf everything
```
"""


def test_broken_links_are_seen(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Some heading\n")
    text = (
        "[a](other.md) [b](missing.md) [c](other.md#some-heading) [d](other.md#none) "
        "[e](https://example.org/x) ![f](no.png) [g](#a-page-code--more) [h](#nowhere) "
        '`m[i](j)` $f[i](j)$ <img src="gone.svg">\n' + PAGE
    )
    (tmp_path / "page.md").write_text(text)
    assert broken_links(tmp_path / "page.md") == [
        "missing.md",
        "other.md#none",
        "no.png",
        "#nowhere",
        "gone.svg",
    ]
