"""What tests of HTML reports share: a parser that checks a page while it reads it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

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
            if name == "id":
                self.ids.append(value or "")
            if name.endswith("href") or name in ("src", "data", "action", "poster"):
                self.fetched.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())
