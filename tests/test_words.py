"""One word for each thing: a machine is a "node"; "server" is a paper's symbol.

In comments and docstrings of the whole package, and in names of what is not a paper's own module.
The papers' modules keep their symbols as names.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from layout import sources
from test_layers import stem

SOURCES = sources()
#: what may stand in prose: the parameter servers of a job, names, and names in backticks
MEANT = re.compile(
    r"parameter[- ]?\n?[\s#:]*servers?|``.*?``|`[^`\n]*`|\w*[._]\w*server\w*|multiserver\w*"
    r"|server\w*[=(]|serverfilling[\w-]*",
    re.IGNORECASE,
)
HEAD = re.compile(
    r"^ *[\w, *]*\bservers?\b[\w, *]*( : .*|,[\w, ]*)$", re.MULTILINE
)  # of a parameter
EXAMPLE = re.compile(r"^ *>>> .*?(?=\n *\n|\Z)", re.MULTILINE | re.DOTALL)
#: quotations of papers, and what is short for parameter servers
QUOTED = (
    "RAND randomly chooses servers and GPUs",
    "An Elastic Serverless Training Platform",
    "Algorithm 3, least busy server-GPU first.",
    "Jobs with parameter servers start on given nodes, with servers of theirs that are free.",
    "starts jobs with parameter servers on nodes and servers of its",
    "Wang et al.'s jobs, servers and users.",  # the library's files say so
)
#: names outside the papers' modules: of these papers' parameters and workloads
NAMES = {
    "ParameterServerJob",
    "ServerFillingSrpt",
    "one_server",  # a workload of Chaudhary et al., section 5.1
    "servers",  # a parameter of the generators of Yu et al. and Wang et al.
}


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings of a source, and in which line each begins."""
    spots = {
        (first.value.lineno, first.value.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for first in node.body
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or token.start in spots:
            yield token.start[0], token.string


def servers(source: str, *, names: bool) -> list[str]:
    """Where a source says "server" and means a node, in prose and, if asked for, in names."""
    found = []
    for line, text in prose(source):
        for meant in (EXAMPLE, HEAD, MEANT):
            text = meant.sub(" ", text)
        for quoted in QUOTED:
            text = text.replace(MEANT.sub(" ", quoted), " ").replace(quoted, " ")
        if re.search(r"server", re.sub("observer", "", text), re.IGNORECASE):
            found.append(f"line {line}: {text.strip()[:80]}")
    for token in tokenize.generate_tokens(io.StringIO(source).readline) if names else ():
        name = re.sub("observer|parameter_servers", "", token.string, flags=re.IGNORECASE)
        if token.type == tokenize.NAME and "server" in name.lower() and name not in NAMES:
            found.append(f"line {token.start[0]}: {token.string}")
    return found


@pytest.mark.parametrize("module", SOURCES)
def test_a_machine_is_a_node(module: str) -> None:
    assert servers(SOURCES[module].read_text("utf-8"), names=stem(module) is None) == []


@pytest.mark.parametrize(
    "source",
    [
        "x = 1  # of each server",
        '"""Servers of 4 GPUs."""',
        'def f(x):\n    """Put a job on the least busy server.\n\n    More.\n    """',
        "first_server = 1",
        "class Server: ...",
    ],
)
def test_a_server_is_seen(source: str) -> None:
    assert len(servers(source, names=True)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "x = 1  # of the parameter servers",
        '"""Workers and parameter\nservers."""',
        'def f(servers):\n    """Do.\n\n    Parameters\n    ----------\n    servers : int\n    """',
        '"""Do.\n\n>>> f(servers=3)\n3 servers\n"""',
        '"""The parameter `servers`, of ServerFilling."""',
        "text = 'two servers'",
    ],
)
def test_what_is_meant_is_not(source: str) -> None:
    assert servers(source, names=True) == []
