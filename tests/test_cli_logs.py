"""The first minute with a log of one's own on the command line."""

import json
from pathlib import Path
from unicodedata import category

import pytest

from called import called
from exports import EXPORTS, entries, write
from gangsched import registry

ROWS = """id,user,gpus,submit,duration
a,ann,2,2024-05-01T09:00:00,3600
b,bob,4,2024-05-01T09:10:00,60
"""
READER = '''
from gangsched.instances import Job, ReadReport, Trace

def read(path, *, gpus="1"):
    """Read a list of run times."""
    works = [int(line) for line in open(path)]
    jobs = [Job(id=f"j{i}", gpus=int(gpus), work=w) for i, w in enumerate(works)]
    return Trace(name="list", jobs=jobs, report=ReadReport(read=len(jobs)))
'''

POLICY = """
from dataclasses import dataclass
from gangsched.solvers import Decision, Preempts

@dataclass(frozen=True)
class Widest:
    sign: int = 1
    preempts = Preempts.NEVER

    @property
    def name(self):
        return f"widest-{self.sign}"

    def decide(self, state):
        return Decision(order=sorted(state.waiting, key=lambda j: -self.sign * state.gpus[j]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(ROWS)
    (tmp_path / "theirs.py").write_text(READER)
    (tmp_path / "own.py").write_text(POLICY)
    (tmp_path / "list.txt").write_text("60\n120\n")
    return tmp_path


REPLAY = ("--nodes", "1", "--gpus-per-node", "8", "--policies", "fifo,srtf")


def test_three_commands_are_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = called(capsys, "describe", "log.csv")
    assert (code, err) == (0, "")
    assert "columns: id=id, user=user, gpus=gpus, submit=submit (ISO 8601, no zone)" in out
    code, out, err = called(capsys, "replay", "log.csv", *REPLAY)
    assert (code, err) == (0, "")
    assert "written: replay.html" in out
    assert (folder / "replay.html").exists()


@pytest.mark.parametrize("name", [name for name in EXPORTS if EXPORTS[name].users])
def test_every_export_is_described(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = write(name, folder, entries())
    more = ("--columns", EXPORTS[name].columns) if EXPORTS[name].columns else ()
    code, out, err = called(capsys, "describe", path.name, *more)
    assert (code, err) == (0, "")
    assert "60 rows read, 60 jobs" in out
    assert "60 jobs of 4 users" in out


def test_json_goes_to_the_screen_and_words_to_stderr(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = called(capsys, "replay", "log.csv", *REPLAY, "--json", "-", "--no-report")
    assert code == 0
    assert [row["name"] for row in json.loads(out)["rows"]] == ["fifo", "srtf"]
    assert "has the shortest mean completion" in err
    assert "written" not in err
    assert sorted(path.name for path in folder.iterdir()) == [
        "list.txt",
        "log.csv",
        "own.py",
        "theirs.py",
    ]


def test_solve_and_compare_print_json_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, "solve", "rar-small-0", "--json", "-")
    assert code == 0
    assert json.loads(out)["objective"] == 656
    some = ("--solvers", "first-fit", "--json", "-", "--no-report")
    code, out, _ = called(capsys, "compare", "rar-small-0", *some)
    assert code == 0
    assert [row["solver"] for row in json.loads(out)["rows"]] == ["first-fit"]
    assert not (folder / "gangsched-compare.html").exists()


def test_readers_of_other_people_take_options(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ("--reader", "theirs.py:read", "--reader-option", "gpus=4")
    code, out, err = called(capsys, "describe", "list.txt", *how)
    assert (code, err) == (0, "")
    assert "2 rows read, 2 jobs" in out
    code, _, err = called(capsys, "describe", "list.txt", *how[:2], "--columns", "gpus=n")
    assert (code, err) == (
        2,
        "gangsched: error: --columns: reader 'theirs.py:read' takes none\n",
    )


BROKEN = """
def pair(path): return [1, 2]
def nothing(path): return None
def stops(path): raise RuntimeError("out of\\nluck")
def divides(path): return 1 / 0
def leaves(path): raise SystemExit("bye")
def refuses(path): raise ValueError("line 1: x")
"""
#: readers that do not work, and what is said of them
FAILING = {
    "broken.py:pair": "returned a value of type list, not a Trace",
    "broken.py:nothing": "returned a value of type NoneType, not a Trace",
    "builtins:len": "returned a value of type int, not a Trace",
    "broken.py:stops": "failed: RuntimeError: out of luck",
    "broken.py:divides": "failed: ZeroDivisionError: division by zero",
    "broken.py:leaves": "failed: SystemExit: bye",
    "broken.py:refuses": "failed: ValueError: line 1: x",
}
COMMANDS = {
    "describe": ("describe", "list.txt"),
    "audit": ("audit", "list.txt"),
    "convert": ("convert", "list.txt", "out.csv"),
    "replay": ("replay", "list.txt", *REPLAY),
    "compare": ("compare", "list.txt", "--problem", "rar-ddls", *REPLAY[:4]),
    "reproduce": ("reproduce", "ltgf:fig9", "--trace", "list.txt"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("reader", FAILING)
def test_a_reader_that_fails_is_named_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, reader: str
) -> None:
    (folder / "broken.py").write_text(BROKEN)
    code, out, err = called(capsys, *COMMANDS[command], "--reader", reader)
    assert (code, out) == (2, "")
    assert err == f"gangsched: error: list.txt: reader {reader!r} {FAILING[reader]}\n"


@pytest.mark.parametrize("kind", ["problems", "solvers", "policies", "readers", "instances"])
def test_each_kind_of_name_has_a_line_for_each(
    capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    code, out, _ = called(capsys, "list", kind)
    assert code == 0
    lines = out.splitlines()
    assert all(len(line.partition(": ")[2]) > 10 for line in lines)
    if kind == "policies":
        assert [line.partition(": ")[0] for line in lines] == list(registry.POLICIES)


def test_h_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, "replay", "-h")
    assert code == 0
    assert out.startswith("Usage: gangsched replay")


def test_control_characters_of_a_log_are_spelled_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b]0;title\x07\u202eeve"
    (folder / "evil.csv").write_text(f"user,gpus,submit,duration\n{evil},1,0,60\nbob,2,5,60\n")
    for args in (("describe", "evil.csv"), ("replay", "evil.csv", *REPLAY)):
        code, out, err = called(capsys, *args)
        assert code == 0
        assert r"\x1b]0;title\x07\u202eeve" in out
        assert not any(category(c).startswith("C") for c in (out + err).replace("\n", ""))
    code, _, err = called(capsys, "describe", "evil.csv", "--columns", f"gpus={evil}")
    assert code == 2
    assert r"\x1b]0;title" in err


def test_parameters_stand_behind_the_names_of_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"j{i},1,{60 * i},{g},{60 * (i + 1)}" for i, g in enumerate((4, 1, 3, 2, 4))]
    (folder / "more.csv").write_text("\n".join(["id,user,submit,gpus,duration", *rows]))
    both = "own.py:Widest(sign=1),own.py:Widest(sign=-1),fifo"
    some = ("--nodes", "1", "--gpus-per-node", "4", "--policies", both, "--json", "-")
    code, out, _ = called(capsys, "replay", "more.csv", *some, "--no-report")
    assert code == 0
    found = {row["name"]: row["measures"]["mean_completion"] for row in json.loads(out)["rows"]}
    assert list(found) == both.split(",")
    assert len(set(found.values())) > 1
    code, _, err = called(capsys, "replay", "more.csv", *some[:-3], "own.py:Widest(2)")
    assert code == 2
    assert "(2) is not of the form (name=value, ...)" in err
    code, _, err = called(capsys, "replay", "more.csv", *some[:-3], "own.py:Widest(weight=2)")
    assert code == 2
    assert "unexpected keyword argument 'weight'" in err


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_problems_are_made_of_logs_without_a_word_about_readers(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Times stay those of the log, or the first line says that they do not."""
    rows = [("a", 0, 60, 2), ("b", 5, 600, 2), ("c", 9, 30, 1)]
    records = [dict(zip(("id", "submit", "duration", "gpus"), row, strict=True)) for row in rows]
    table = "\n".join(["id,submit,duration,gpus", *(",".join(map(str, row)) for row in rows)])
    (folder / "own.csv").write_text(table + "\n")
    (folder / "own.json").write_text(json.dumps(records))
    room = "--nodes", 1, "--gpus-per-node", 2
    more = ("--no-report",) * (command == "compare")
    first = {}
    for log in ("own.csv", "own.json"):
        for problem in ("completion-time", "rar-ddls"):
            args = (command, log, "--problem", problem, *room, *more, "--json", "r.json")
            code, out, err = called(capsys, *args)
            assert (code, err) == (0, "")
            first[log, problem] = out.splitlines()[0].removeprefix(log)
    assert set(first.values()) == {
        ": 3 jobs on 1 node, 2 GPUs",
        ": 3 jobs on 1 node, 2 GPUs; run times and releases are not the log's",
    }
    # c stops a, which has more left, and is alone on its GPU: 90 + 30, then b from 90 on
    args = ("solve", "own.csv", "--problem", "completion-time", *room, "--solver", "exact")
    assert f"sum of completion times: {90 + 30 + 690 - 5}\n" in called(capsys, *args)[1]
