"""Break the code in small ways and count how many of them a command notices.

``python tests/mutants.py --seed 0 --count 30 --files solvers analysis -- python -m pytest -q -x``

A mutant is one change of one file: a comparison, a sign, a constant by one, a condition negated,
``and`` for ``or``, ``min`` for ``max``, a statement left out, another value returned. Docstrings,
annotations, what errors say, f-strings, assertions and logging are left alone. ``--files`` takes
files, folders and ``file:function``. Each mutant is written to a copy of the project in a temporary
folder, which ``PYTHONPATH`` names there, and the command runs in it; it has to pass without a
mutant. A mutant is killed when the command fails or takes too long.

``--save FILE`` writes what came out, or with ``--freeze`` what was drawn, and runs nothing.
``--of FILE`` takes the mutants of such a file instead of drawing some, with its files and command
where none are given: they are found again by function and text, not by path and line, and so
outlive a file's move. The time limit is a minute and three times what the command takes without a
mutant.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("instances", "formulations", "solvers", "analysis")
NOT_COPIED = (".*", "build", "dist", "out", "__pycache__", "*.nb[ic]")
KEY = ("function", "before", "after", "nth")

COMPARED: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
SWAPPED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil"}
NAMES |= {other: name for name, other in NAMES.items()}
LOGS = {"log", "logger", "logging", "warnings"}


@dataclass(frozen=True)
class Mutant:
    """What stands in place of the bytes `start` to `end`, and their lines before and after."""

    path: str
    function: str
    line: int
    start: int
    end: int
    text: str
    before: str
    after: str
    nth: int = 0  #: of mutants that look alike

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a move of the function does not change."""
        return self.function, self.before, self.after, self.nth

    def apply(self, source: bytes) -> bytes:
        """Return the changed file."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def sites(source: bytes, path: str = "") -> list[list[Mutant]]:
    """Return the places where a file can be changed, each with the changes."""
    lengths = [len(line) for line in source.splitlines(keepends=True)]
    starts = [0, *itertools.accumulate(lengths)]
    found = []
    for names, node, others in _changes(ast.parse(source), ()):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        head, tail = source[starts[node.lineno - 1] : start], source[end : starts[node.end_lineno]]
        place = []
        for other in others:
            text = other if isinstance(other, str) else ast.unparse(other)
            if not isinstance(node, (ast.stmt, ast.Constant)):
                text = f"({text})"
            lines = (head + inner + tail for inner in (source[start:end], text.encode()))
            shown = (" ".join(line.decode().split()) for line in lines)
            function = ".".join(names) or "<module>"
            place.append(Mutant(path, function, node.lineno, start, end, text, *shown))
        found += [place] if place else []
    return found


def _changes(node: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, list[Any]]]:
    """Each node that can be changed, in which function it is, and what can be put in its place."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        names = (*names, node.name)
    if isinstance(node, (ast.expr, ast.stmt)):
        yield names, node, list(_replacements(node))
    test = getattr(node, "test", None)
    for condition in [*([test] if test is not None else []), *getattr(node, "ifs", [])]:
        yield names, condition, [ast.UnaryOp(ast.Not(), condition)]
    children: Any = ast.iter_child_nodes(node)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        children = [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
    elif isinstance(node, ast.ClassDef):
        children = node.body
    elif isinstance(node, (ast.AnnAssign, ast.Raise)):
        children = [node.value] if isinstance(node, ast.AnnAssign) else []
    for child in children:
        if not _left_alone(child):
            yield from _changes(child, names)


def _left_alone(node: Any) -> bool:
    if isinstance(node, ast.Expr):
        of = node.value.func if isinstance(node.value, ast.Call) else node.value
        return isinstance(of, ast.Constant) or ast.unparse(of).partition(".")[0] in LOGS
    if isinstance(node, (ast.If, ast.Assign)):
        first = node.test if isinstance(node, ast.If) else node.targets[0]
        return ast.unparse(first) in ("TYPE_CHECKING", "__all__")
    return node is None or isinstance(node, (ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom))


def _replacements(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.Compare):
        for i, sign in enumerate(node.ops):
            for other in COMPARED[type(sign)]:
                yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPPED:
        yield _with(node, op=SWAPPED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, (int, float)):
            yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in NAMES:
            yield _with(node, func=ast.Name(NAMES[node.func.id]))
        elif isinstance(node.func, ast.Attribute) and node.func.attr in NAMES:
            yield _with(node, func=_with(node.func, attr=NAMES[node.func.attr]))
    elif isinstance(node, ast.Return) and node.value and ast.unparse(node.value) != "None":
        yield "return None"
    if isinstance(node, (ast.Expr, ast.AugAssign, ast.Continue, ast.Break, ast.Raise)):
        yield "pass"
    if isinstance(node, ast.Assign) and not isinstance(node.targets[0], (ast.Name, ast.Tuple)):
        yield "pass"


def _with(node: Any, **fields: Any) -> Any:
    return type(node)(**{**vars(node), **fields})


def candidates(root: Path, files: Sequence[str]) -> list[list[Mutant]]:
    """Return the places in files, folders and functions (``file:function``) below a root."""
    found, seen = [], Counter[Any]()
    for entry in files:
        name, _, function = entry.partition(":")
        inside, path = f"{function}." if function else "", root / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for place in sites(file.read_bytes(), file.relative_to(root).as_posix()):
                if f"{place[0].function}.".startswith(inside):
                    found.append([replace(mutant, nth=seen[mutant.key]) for mutant in place])
                    seen.update(mutant.key for mutant in place)
    return found


def drawn(places: Sequence[Sequence[Mutant]], count: int, seed: int) -> list[Mutant]:
    """Return mutants of so many places, one each."""
    rng = random.Random(seed)
    return [rng.choice(place) for place in rng.sample(places, min(count, len(places)))]


class Copy:
    """A copy of the project that can be imported."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.tree, links = folder / "project", folder / "links" / "gangsched"
        shutil.copytree(root, self.tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
        links.mkdir(parents=True)
        if (shared := root.parent / "shared").exists():
            (folder / "shared").symlink_to(shared)
        for path in [*(self.tree / "package").iterdir(), *map(self.tree.joinpath, LAYERS)]:
            if path.exists():
                (links / path.name).symlink_to(path)
        self.folder, self.writes, self.began = folder, 0, int(time.time())
        self.environment = {**os.environ, "PYTHONPATH": str(links.parent)}

    def run(self, command: Sequence[str], limit: float | None, machine_code: str) -> int | None:
        """Return the command's exit code; None if it took too long. Its output goes to a file."""
        given = [sys.executable if part == "python" else part for part in command]
        environment = {**self.environment, "NUMBA_CACHE_DIR": str(self.folder / machine_code)}
        with (self.folder / "output").open("wb") as output:
            process = subprocess.Popen(
                given, cwd=self.tree, env=environment, stdout=output, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def killed(self, mutant: Mutant, command: Sequence[str], limit: float) -> bool:
        """Say whether the command notices a mutant."""
        path = self.tree / mutant.path
        source, before = path.read_bytes(), path.stat()
        kept = self.folder / "unchanged"
        if kept.exists():
            shutil.copytree(kept, self.folder / "changed")
        self.writes += 1
        path.write_bytes(mutant.apply(source))
        # Python takes files of equal size and second for unchanged: each write has its own.
        os.utime(path, times=(self.began + 2 * self.writes,) * 2)
        code = self.run(command, limit, "changed")
        path.write_bytes(source)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        shutil.rmtree(self.folder / "changed", ignore_errors=True)
        return code != 0


def judged(
    root: Path, mutants: Sequence[Mutant], command: Sequence[str], jobs: int
) -> Iterator[bool]:
    """Yield for each mutant whether it is killed."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        idle: queue.Queue[Copy] = queue.Queue()
        limit = 0.0
        for i in range(jobs):
            began, made = time.monotonic(), Copy(root, Path(folder) / str(i))
            if made.run(command, None, "unchanged"):
                text = (made.folder / "output").read_text("utf-8", errors="replace")
                raise SystemExit(f"without a mutant the command fails:\n{text[-3000:]}")
            limit = max(limit, 60 + 3 * (time.monotonic() - began))
            idle.put(made)

        def judge(mutant: Mutant) -> bool:
            copy = idle.get()
            try:
                return copy.killed(mutant, command, limit)
            finally:
                idle.put(copy)

        yield from pool.map(judge, mutants)


def main(arguments: Sequence[str]) -> None:
    """Draw mutants, run the command on each, and print which are killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--files", nargs="+", help="files, folders, file:function")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--of", type=Path, help="take the mutants of a file that --save wrote")
    parser.add_argument("--save", type=Path, help="write what came out")
    parser.add_argument("--freeze", action="store_true", help="write what was drawn, run nothing")
    at = arguments.index("--") if "--" in arguments else len(arguments)
    given, command = parser.parse_args(arguments[:at]), list(arguments[at + 1 :])
    of = json.loads(given.of.read_text("utf-8")) if given.of else {}
    files, command = given.files or of.get("files"), command or of.get("command")
    if not files or not command:
        parser.error("files or command are missing: --files FILES -- python -m pytest ...")
    if given.freeze and not given.save:
        parser.error("--freeze needs --save FILE")
    places = candidates(ROOT, files)
    mutants = drawn(places, given.count, given.seed)
    record = {"seed": of.get("seed", given.seed), "files": files, "command": command}
    if given.freeze:
        listed = [dict(zip(KEY, mutant.key, strict=True)) for mutant in mutants]
        _write(given.save, {**record, "mutants": listed})
        return
    if given.of:
        known, mutants = {mutant.key: mutant for place in places for mutant in place}, []
        for row in of["mutants"]:
            key = tuple(row[name] for name in KEY)
            mutants += [known[key]] if key in known else []
            if key not in known:
                print("gone     {}: {}  ->  {}".format(*key))
    rows, survivors = [], []
    for mutant, killed in zip(mutants, judged(ROOT, mutants, command, given.jobs), strict=True):
        where = f"{mutant.path}:{mutant.line} {mutant.function}"
        print("killed  " if killed else "SURVIVED", where, flush=True)
        rows.append({**dict(zip(KEY, mutant.key, strict=True)), "killed": killed})
        survivors += [] if killed else [f"{where}\n- {mutant.before}\n+ {mutant.after}"]
    count = len(rows) - len(survivors)
    print("\n\n".join(["", *survivors, f"{count} of {len(rows)} mutants killed"]))
    if given.save:
        _write(given.save, {**record, "killed": count, "total": len(rows), "mutants": rows})


def _write(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
