"""What size, what-if, compare and replay say where a reader could be misled."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from called import called

LOGS = {
    "six.csv": ["id,user,gpus,submit,start,end"]
    + [f"{'abcdef'[k]},u{k % 2},8,0,{100 * k},{100 * k + 100}" for k in range(6)],
    "nosub.csv": ["id,user,gpus,start,end", "a,u,8,0,100", "b,v,8,100,200", "c,u,8,100,1300"],
    "models.csv": ["id,gpus,model,submit,start,end", "a,4,v100,0,0,1000", "b,4,k80,0,0,3000",
                   "c,4,v100,0,1000,2000"],
    "grown.csv": ["id,gpus,submit,start,end", "a,8,0,0,1000", "b,8,0,1000,2000"],
    "due.csv": ["id,gpus,submit,start,end,deadline", "a,2,0,0,1000,4000",
                "b,2,5000,5100,7000,9000"],
    "some.csv": ["id,gpus,submit,start,end,timelimit_s", "a,8,0,0,1000,2000", "b,4,10,1000,1300,",
                 "c,4,20,1000,1100,200"],
    "two.jsonl": ['{"id":"a","gpus":8,"submit":0,"start":0,"end":100}',
                  '{"id":"b","gpus":8,"submit":0,"start":100,"end":200}'],
    "bad.py": ["from gangsched.solvers.policy import Preempts", "class Bad:", "    name = 'bad'",
               "    preempts = Preempts.NEVER", "    def decide(self, state):",
               "        raise RuntimeError('boom')"],
}  # fmt: skip
MIXED = "--nodes v100:1x4,k80:4x4"
AT = "--columns deadline=deadline:at"
ELASTIC = "--gpus-per-node 8 --policy optimus:elastic"
#: command, exit code, what it says, what it must not say
SAID = [
    # of elastic policies, what bounds gangs bounds nothing
    (f"what-if due.csv {AT} --nodes 1x8 --nodes 2x8 --policies optimus:elastic,edf", 0,
     "Any policy that keeps gangs: at least", "Any policy: "),
    (f"size due.csv {AT} {ELASTIC} --target 'mean completion <= 23 min'", 0, "needs 1 node",
     "no number of nodes"),
    # who knew run times
    ("size six.csv --gpus-per-node 8 --target 'mean wait <= 100 s'", 0,
     "know what they use of run times when jobs come: easy; seeds: none drawn", ""),
    ("replay some.csv --nodes 1 --gpus-per-node 8 --policies easy --no-report", 0,
     "easy: run times known, as 1 of 3 jobs have no limits", ""),
    # doubts stand beside what is certified
    ("solve nosub.csv --problem completion-time --nodes 2 --gpus-per-node 8", 0,
     "verified) (in doubt)", ""),
    ("compare nosub.csv --problem completion-time --nodes 2 --gpus-per-node 8 --no-report", 0,
     "verified) (in doubt)", ""),
    ("what-if nosub.csv --nodes 2x8 --nodes 4x8 --policies fifo", 0, "(certified). (in doubt)", ""),
    ("replay nosub.csv --nodes 2 --gpus-per-node 8 --policies fifo --no-report", 0,
     "any policy (in doubt)", ""),
    ("size nosub.csv --gpus-per-node 8 --target 'mean wait <= 60 s'", 2,
     "does not tell when jobs were submitted", ""),
    # who is compared, and where
    ("what-if six.csv --nodes 1x4 --nodes 1x8 --policies fifo", 2, "no job fits all clusters", ""),
    ("what-if some.csv --nodes 1x4 --nodes 1x8 --policies fifo", 0,
     "excluded: 1 job; parameters: clusters 1x4, 1x8, load 1, rounds of", "2 nodes"),
    # policies that fail
    ("what-if six.csv --nodes 1x8 --policies fifo,bad.py:Bad", 1, "bad.py:Bad failed: ", ""),
    ("size six.csv --gpus-per-node 8 --policy bad.py:Bad --target 'mean wait <= 1 s'", 2,
     "RuntimeError: boom", "Traceback"),
    # GPU models
    (f"what-if models.csv {MIXED} --nodes v100:2x4,k80:8x4 --policies fifo", 0,
     "fifo: mean completion 33.4 min", ""),
    ("size models.csv --nodes k80:4x4 --grow v100:4 --policy fifo --target 'mean wait <= 60 s'", 0,
     "fifo needs 2 more nodes", ""),
    ("size grown.csv --nodes k80:1x4 --grow k80:4 --policy fifo --target 'mean wait <= 20 min'", 0,
     "no policy can do it with fewer than 1, as a gang would not fit", "no bound excludes"),
    # the best of all is the log's own schedule
    ("replay six.csv --nodes 1 --gpus-per-node 8 --policies fifo --no-report", 0,
     "That is shorter than any of these policies.", ""),
    ("replay six.csv --nodes 1 --gpus-per-node 8 --policies fifo --no-report --explain", 0,
     "mean wait (s, less is better)", "user-days"),
    # logs in other forms, and what is none
    ("solve two.jsonl --problem completion-time --nodes 2 --gpus-per-node 8", 0, "proven opt", ""),
    ("compare none.csv --problem completion-time --nodes 2 --gpus-per-node 8", 2,
     "neither a file nor a named instance", ""),
    ("what-if six.csv --nodes 99999x9999", 2, "are not within 1 to 1,000,000", ""),
    ("what-if six.csv --nodes 1x8 --load 1e-9", 2, "is not within 0.01 to 100", ""),
    ("what-if six.csv --nodes 1x8 --gpus-per-node 8", 2, "--gpus-per-node does not go with", ""),
]  # fmt: skip


@pytest.mark.parametrize(("command", "code", "said", "unsaid"), SAID, ids=[row[0] for row in SAID])
def test_a_reader_is_not_misled(
    command: str, code: int, said: str, unsaid: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name, lines in LOGS.items():
        Path(name).write_text("\n".join(lines) + "\n")
    ended, out, err = called(capsys, *shlex.split(command))
    assert ended == code
    text = " ".join((out + err).split())
    assert said in text
    assert not unsaid or unsaid not in text
