"""How objects are shown: counts in words, tables in HTML and as pandas DataFrames."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any
from unicodedata import category

MOST_SHOWN = 300  # characters of somebody else's error message


def counted(number: int, thing: str) -> str:
    """Return a number with its noun, in the plural where it needs one.

    >>> counted(1, "job"), counted(1200, "job")
    ('1 job', '1,200 jobs')
    """
    return f"{number:,} {thing}" + "s" * (number != 1)


def in_doubt(doubts: Iterable[str]) -> str:
    """Return a line that says what had to be assumed to read a log; nothing without doubts.

    >>> in_doubt(["run times are taken to be in minutes"])
    'In doubt is how the log was read: run times are taken to be in minutes.'
    """
    said = "; ".join(doubts)
    return said and f"In doubt is how the log was read: {said}."


def one_line(text: str) -> str:
    """Return a text without line breaks, and with its control characters spelled out."""
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    r"""Return a text whose control characters are spelled out, but for line breaks.

    Names of a log could move the cursor, change the window's title or turn the reading direction.

    >>> visible("a\x1b]0;b\u202e")
    'a\\x1b]0;b\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(ascii(c)[1:-1] if _controls(c) else c for c in text)


def _controls(character: str) -> bool:
    """Whether a character controls the screen instead of being shown."""
    return character != "\n" and category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def shortened(text: str) -> str:
    """Return somebody else's message as one line that is not too long."""
    text = one_line(text)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def table_html(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts, for notebooks.

    >>> table_html(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    body = "".join(_line("td", row) for row in rows)
    return f"<table><thead>{_line('th', heads)}</thead><tbody>{body}</tbody></table>"


def facts_html(facts: Mapping[str, str]) -> str:
    """Return a table of two columns, for notebooks.

    >>> facts_html({"GPUs": "8"})
    '<table><tr><th>GPUs</th><td>8</td></tr></table>'
    """
    lines = (
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
        for name, text in facts.items()
    )
    return f"<table>{''.join(lines)}</table>"


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns as a pandas DataFrame; pandas is not installed with this package."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ImportError("a DataFrame needs pandas: pip install pandas") from None
    return pandas.DataFrame(dict(columns))


def near(name: str, names: Iterable[str]) -> str:
    """Return the end of a message with the known name that is most like a wrong one.

    Examples
    --------
    >>> near("tirsias", ["fifo", "tiresias-l"])
    "; did you mean 'tiresias-l'?"
    """
    found = get_close_matches(name.lower().replace("_", "-"), list(names), n=1, cutoff=0.7)
    return f"; did you mean {found[0]!r}?" if found else ""
