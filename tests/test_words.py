"""One word for each thing: a machine is a "node"; "server" is a paper's symbol.

In comments and docstrings of the whole package; the papers' modules keep their symbols as names.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from layout import sources

#: what may stand in prose: the parameter servers of a job, names, names in backticks, examples,
#: and the heads of parameters
MEANT = [
    re.compile(r"^ *>>> .*?(?=\n *\n|\Z)", re.MULTILINE | re.DOTALL),
    re.compile(r"^ *[\w, *]*\bservers?\b[\w, *]*( : .*|,[\w, ]*)$", re.MULTILINE),
    re.compile(
        r"parameter[- ]?\n?[\s#:]*servers?|``.*?``|`[^`\n]*`|\w*[._]\w*server\w*|multiserver\w*"
        r"|server\w*[=(]|serverfilling[\w-]*|observer",
        re.IGNORECASE,
    ),
]
#: quotations of papers, and what is short for parameter servers
QUOTED = re.compile(
    "RAND randomly chooses servers and GPUs|An Elastic Serverless Training Platform"
    "|Algorithm 3, least busy server-GPU first.|on given nodes, with servers of theirs"
    "|on nodes and servers of its|Wang et al.'s jobs, servers and users."
)


def prose(source: str) -> Iterator[str]:
    """Comments and docstrings of a source."""
    spots = {
        (first.value.lineno, first.value.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for first in node.body
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or token.start in spots:
            yield token.string


def servers(source: str) -> list[str]:
    """What a source says of a "server" where it means a node."""
    found = []
    for text in prose(source):
        for meant in (QUOTED, *MEANT):
            text = meant.sub(" ", text)
        found += re.findall(r".*server.*", text, re.IGNORECASE)
    return found


def test_a_machine_is_a_node() -> None:
    texts = {name: path.read_text("utf-8") for name, path in sources().items()}
    assert {name: found for name, text in texts.items() if (found := servers(text))} == {}
    assert servers('x = 1  # of each server\n"""Parameter servers."""') == ["# of each server"]
