"""What tests of HTML reports share: a parser that checks a page while it reads it."""

import json
import re
from html.parser import HTMLParser
from typing import Any

from gangsched.analysis.show import page as html_page

VOID = {"meta", "br", "hr", "img", "link", "input"}
EVIL = "<script>alert('x')</script>&\""


class Page(HTMLParser):
    """Checks that tags nest, and collects ids, text and what a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.note(attrs)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.note(attrs)

    def note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            assert not name.startswith("on")
            if name == "id":
                self.ids.append(value or "")
            if name.endswith("href") or name in ("src", "data", "action", "poster"):
                self.fetched.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self.open[-1:] == ["script"] else self.words).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def untimed(text: str) -> str:
    """The page without run times."""
    return re.sub(r'(class="[^"]*timing">)[^<]*', r"\1", text)


def assert_escaped(text: str, times: int) -> None:
    """What is evil stands there so often, as text and nowhere else."""
    assert_self_contained(text)
    assert EVIL not in text
    assert text.count("<script") == len(Page(text).scripts)
    assert Page(text).text.count("alert('x')") >= times


def without_scripts(text: str) -> str:
    """The page without what stands in its scripts."""
    return re.sub(r"(<script[^>]*>).*?(</script>)", r"\1\2", text, flags=re.DOTALL)


def assert_self_contained(text: str) -> None:
    """Nothing is fetched, and no script is there but the page's own and data."""
    page, bare = Page(text), without_scripts(text)
    assert text.endswith("</html>\n")
    assert not {"link", "iframe", "object", "embed"} & set(page.tags)
    assert set(re.findall(r"<script[^>]*>", bare)) <= {
        "<script>",
        '<script type="application/json">',
    }
    links = [link for link in page.fetched if not link.startswith("data:image/png;base64,")]
    assert all(link.startswith("#") and link[1:] in page.ids for link in links)
    assert not re.search(r"url\((?!#)|@import", bare)
    for used in re.findall(r"url\(#([^)]+)\)", bare):
        assert used in page.ids
    assert len(set(page.ids)) == len(page.ids)
    own = [html_page._file(name) for name in ("vendor/echarts.min.js", "templates/report.js")]
    for script in page.scripts:
        if script.strip("\n") not in [known.strip("\n") for known in own]:
            json.loads(script)
