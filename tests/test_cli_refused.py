"""What the commands refuse: one line on stderr, exit code 2, and nothing written."""

from __future__ import annotations

import gzip
import os
import re
import shlex
from pathlib import Path

import pytest

from command_line import Gangsched, assert_refused
from gangsched.formulations import RarDdls
from gangsched.formulations.irmp.problem import reduced_problem
from gangsched.instances import Cluster, Instance, Job
from gangsched.io import save
from replay_commands import HEADER, POLICIES, ROWS, lines

SHORT = {
    "TRACE": "--reader philly-csv --problem rar-ddls",
    "ROOM": "--nodes 2 --gpus-per-node 4",
    "RAR": "--problem rar-ddls",
    "REVENUE": "--reader philly-csv --problem irmp",
    "LOG": "F/log.csv --reader philly-csv",
    "MIXED": "--nodes v100:1x4,k80:2x4",
}

#: what is refused, and how; F is the folder with the files
BAD = {
    # what is asked for
    "fly": r"No such command 'fly'",
    "solve --fast": r"No such option:? '?--fast",
    "solve": r"Missing argument",
    "solve rar-b-0 rar-b-1": r"unexpected extra argument",
    "solve rar-b-0 --seed": r"Option '--seed' requires an argument",
    "compare": r"give either a file or named instance, or --setting$",
    "compare rar-b-0 --setting paper-a": r"give either a file or named",
    # names
    "solve rar-z-9": r"'rar-z-9' is neither a file nor a named instance; `gangsched",
    "solve F/instance.json --problem tsp": r"problem 'tsp' is not one of rar",
    "solve F/instance.json": r"--problem is missing, one of rar-ddls, unisched, irmp, g",
    "solve rar-b-0 --problem tsp": r"problem 'tsp' is not one of",
    "solve rar-b-0 --solver best": r"solver 'best' is not one of sjf-bco, .*",
    "compare rar-b-0 --solvers laminar,x": r"solver 'x' is not one of sjf-bco, .*",
    "compare rar-b-0 --solvers ''": r"--solvers: '' has an empty name$",
    "compare rar-b-0 --solvers exact,": r"'exact,' has an empty name$",
    "compare rar-b-0 --solvers laminar,laminar": r"--solvers: 'laminar' occurs twice$",
    "compare rar-b-0 --solvers sjf-bco,sjf_bco": r"'sjf-bco' occurs twice$",
    "solve rar-b-0 --solver no.such:f": r"'no.such:f' cannot be imported: Mod",
    "solve rar-b-0 --solver os:sep": r"'os:sep' is of type str, which",
    "compare F/trace.csv --reader xls RAR ROOM": r"reader 'xls' is not one",
    "compare --setting paper-z RAR": r"setting 'paper-z' is not one of paper-a",
    "compare --setting paper-a": r"--problem is missing, one of",
    "reproduce rar_ddls:fig99": r"target 'rar_ddls:fig99' is not one of rar_ddls:f",
    "reproduce fig4": r"target 'fig4' is not one of rar_ddls:fig4",
    "reproduce ltgf:fig9 --trace F/trace.csv": r"a trace needs --trace and --reader$",
    "reproduce ltgf:fig9 --reader swf": r"a trace needs --trace and --reader$",
    "reproduce ltgf:fig9 --trace F/trace.csv --reader xls": r"reader 'xls' is not one",
    "reproduce ltgf:fig9 --trace F/no.csv --reader swf": r"F/no.csv: No such file or directory$",
    "reproduce ltgf:fig6 --trace F/trace.csv --reader swf": r"'ltgf:fig6': takes no trace$",
    "theorems lemma-99": r"claim 'lemma-99' is not one of theorem-1, ",
    # numbers
    "solve rar-b-0 --seed -1": r"'--seed': -1 is below 0$",
    "solve rar-b-0 --seed x": r"'--seed'.* integer",
    "solve rar-b-0 --time-limit -1": r"'--time-limit': -1 is not above",
    "solve rar-b-0 --time-limit 0": r"'--time-limit': 0 is not above 0$",
    "compare rar-b-0 --time-limit nan": r"'--time-limit': nan is not above",
    "compare F/trace.csv TRACE ROOM --jobs 0": r"'--jobs': 0 is not within 1 to 1000000$",
    "compare F/trace.csv TRACE ROOM --first -3": r"'--first': -3 is not within 1 to 1000000$",
    "compare F/trace.csv TRACE --nodes 0": r"'--nodes': 0 is not within 1 to 1000000$",
    "compare F/trace.csv TRACE --gpus-per-node -4": r"-4 is not within 1 to 1000000$",
    "compare F/trace.csv TRACE --nodes 1000000000": r"'--nodes': 1000000000 is not within 1 to",
    "compare F/trace.csv TRACE --nodes 3 --gpus-per-node 999999": r"gpus=2999997 exceeds 1000000$",
    "compare F/trace.csv TRACE --nodes v100:2": r"'v100:2' is neither a number nor of the form mod",
    "compare --setting paper-a RAR --nodes v100:2x4": r"--nodes: a number is wanted here, w",
    "compare F/trace.csv TRACE ROOM --jobs 5": r"jobs=5 exceeds the 4 jobs of 'trace' that fit$",
    "compare --setting paper-a RAR --nodes 1 --seed 1": r"gpus=32 exceeds the cluster's",
    "solve F/wide.json RAR": r"F/wide.json: job 'wide': gpus=3 exceeds the cluster's 2$",
    "compare --setting queue-helios --problem unisched --nodes 3": r"--nodes does not go with a q",
    "compare F/trace.csv --problem unisched --reader philly-csv ROOM": r"'unisched' takes no trac",
    "compare --setting paper-a --problem unisched": r"'paper-a' is not one of queue-helios, queue-",
    "solve F/queue.json --solver sjf-bco": r"'sjf-bco' is not one of lp-selector, density-greedy",
    "solve F/instance.json --problem unisched": r"instance.json: job 'a': kind RingJob is not D",
    "solve F/rewards.json": r"rewards.json: DeadlineRewards: elastic=1 is not True or False$",
    "compare --setting paper-a --problem irmp": r"is not one of paper, reduced; did you mean 'pa",
    "compare --setting paper --problem irmp --nodes 5": r"servers=5 are fewer than the 14 u",
    "compare --setting paper --problem irmp --utility cubic": (
        r"utility='cubic' is not one of 'linear', 'convex'$"
    ),
    "compare --setting paper --problem irmp --solvers fifo": r"'fifo' is not one of lp-list, ",
    "solve F/instance.json --problem gandiva-fair": r"a market of GPUs is not made of an instance",
    "solve F/instance.json --problem irmp": r"kind RingJob is not ParameterServerJob$",
    # files
    "solve F/none.json": r"'.*none.json' is neither a file nor a named instance",
    "solve F RAR": r"F: Is a directory$",
    "compare F TRACE ROOM": r"F: Is a directory$",
    "compare F/no.csv TRACE ROOM": r"F/no.csv: No such file or directory$",
    "solve F/broken.json RAR": r"F/broken.json: line 1, column 12: not JSON: Expect",
    "solve F/nan.json RAR": r"F/nan.json: NaN is not allowed, numbers are finite",
    "solve F/binary.json RAR": r"F/binary.json: byte 0 is not UTF-8 text",
    "solve F/list.json RAR": r"list.json: the file's content: \[1, 2\] is not an object",
    "solve F/schedule.json RAR": r"kind='schedule' is not one of 'instance', 'problem'$",
    "solve F/other.json RAR": r"other.json: format='xyz' is not 'gangsched'$",
    "solve F/unknown.json": r"unknown.json: problem='tsp' is not one of 'rar-dd",
    "solve F/problem.json --problem x": r"problem 'x' is not one of rar-dd",
    "compare F/trace.csv RAR": r"not JSON: .* \(a trace file needs compare --rea",
    "compare F/empty.csv TRACE ROOM": r"empty.csv: line 1: the file is empty",
    "compare F/trace.swf TRACE ROOM": r"trace.swf: line 1: column 'timesta",
    "compare F/trace.csv TRACE": r"a trace needs a cluster: give --nodes and",
    "compare F/trace.csv TRACE --nodes 2": r"a trace needs a cluster",
    "compare F/trace.csv TRACE --cluster F/schedule.json": (
        r"--cluster: .*schedule.json is no instance file, so it has no cluster$"
    ),
    "compare F/trace.csv TRACE --cluster F/none.json": r"F/none.json: No such file or directory$",
    # options that do not go together
    "compare F/trace.csv TRACE ROOM --jobs 2 --first 2": r"--first does not go with --jobs$",
    "compare F/trace.csv TRACE ROOM --cluster F/instance.json": (
        r"--nodes does not go with --cluster$"
    ),
    "compare F/trace.csv TRACE ROOM --without 1": r"--without: '1' is not of the form FROM..UNTIL",
    "compare F/trace.csv REVENUE --without-users z": r"user 'z' has none of its jobs$",
    "compare rar-b-0 --without 0..1": r"--without does not go with an instance; a trace needs --r",
    "compare --setting paper-a RAR --without-users a": r"--without-users does not go with --set",
    "compare rar-b-0 --jobs 3": r"--jobs does not go with an instance; a trace needs --reader$",
    "compare --setting paper-a RAR --reader swf": r"--reader does not go with --setting$",
    "compare --setting paper-a RAR --first 3": r"--first does not go with --setting$",
    "compare --setting paper-a RAR --utility linear": (
        r"--utility does not go with --setting paper-a$"
    ),
    "compare rar-b-0 --utility linear": r"--utility does not go with an instance; a trace needs",
    "compare F/trace.csv TRACE ROOM --utility linear": (
        r"--utility does not go with traces of rar-ddls$"
    ),
    "compare --setting paper --problem irmp --gpus-per-node 8": r"--gpus-per-node does not go with",
    "compare F/trace.csv REVENUE --jobs 3": r"--jobs does not go with traces of irmp$",
    "compare F/trace.csv REVENUE ROOM": r"--gpus-per-node does not go with traces of irmp$",
    "compare F/trace.csv REVENUE --first 9": r"jobs=9 exceeds the 5 jobs of 'trace'$",
    "compare F/trace.csv REVENUE --utility flat": r"utility='flat' is not one of 'linear', 'con",
    # what would be written
    "compare rar-b-0 --report no/r.html": r"no/r.html: folder no does not ex",
    "solve rar-b-0 --json F/list.json/x": r"folder .*list.json does not exis",
    "compare rar-b-0 --json F": r"F: is no regular file$",
    "compare rar-b-0 --report /dev/null": r"/dev/null: is no regular file",
    "compare rar-b-0 --json x --report ./x": r"x: two outputs in one file$",
    "solve F/instance.json RAR --json F/../files/instance.json": (
        r"instance.json: would replace the input$"
    ),
    "demo --out F/list.json": r"F/list.json: File exists$",
    "reproduce rar_ddls:fig5 --out F/list.json/x": r"F/list.json/x: Not a directory$",
    # replay: traces
    "replay F/log.csv": r"a trace needs a cluster: give --nodes",
    "replay F/empty.csv --reader philly-csv ROOM": r"empty.csv: line 1: the file is empty",
    "replay F/bad.csv --reader philly-csv ROOM": r"bad.csv: line 9: duration=-5",
    "replay F/header.csv --reader philly-csv ROOM": r"no job can be run: 0 rows read",
    "replay F/wide.csv --reader philly-csv ROOM": r"no job can be run: 1 rows read",
    "replay F/broken.csv.gz --reader philly-csv ROOM": r"broken.csv.gz: ",
    "replay LOG --nodes 0": r"0 is not within 1 to ",
    "replay LOG ROOM --cluster F/log.csv": r"--nodes does not go with --cluster",
    "replay LOG --nodes v100": r"'v100' is neither a number nor of the form model:nodesxgpus",
    "replay LOG --nodes v100:2x4,k80:4x": r"'k80:4x', in 'v100:2x4,k80:4x', is neither a",
    "replay LOG --nodes v100:2x4,": r"'', in 'v100:2x4,', is neither a number nor of the",
    "replay LOG --nodes v100:0x4": r"'v100:0x4': 0 nodes are not within 1 to 1000000",
    "replay LOG --nodes a:1x2000000": r"2000000 GPUs of a node are not within 1 to 1000000",
    "replay LOG --nodes a:900000x1,b:900000x1": r"has 1800000 nodes, at most 1000000",
    "replay LOG MIXED --gpus-per-node 4": r"--gpus-per-node does not go with GPU models in --",
    "replay LOG MIXED --speeds table2": r"speeds 'table2' is not one of table1",
    "replay LOG ROOM --speeds table1": r"cluster: model='' of its nodes has no speed for 'vae'",
    "replay LOG --nodes a:2x4 --speeds table1": r"cluster: model='a' of its nodes has",
    "replay LOG ROOM --migration -1": r"-1 is below 0",
    "replay LOG ROOM --migration 900": r"migration=900 is not below the lease of 900 s",
    "replay LOG ROOM --policies best": r"policy 'best' is not one of fifo, ",
    "replay LOG ROOM --policies fifo,,srtf": r"has an empty name",
    "replay LOG ROOM --policies fifo,fifo": r"'fifo' occurs twice",
    "replay LOG ROOM --policies none.py:P": r"FileNotFoundError: there is no file none.py",
    "replay LOG ROOM --policies F/theirs.py:Gone": r"has no attribute 'Gone'",
    "replay LOG ROOM --policies F/theirs.py:NoPolicy": r"which has no name, preempts or dec",
    "replay LOG ROOM --reader-option work": r"'work' is not of the form name=value",
    "replay LOG ROOM --reader-option work=span": r"reader 'philly-csv' takes none, not 'work'",
    "replay F/log.csv --reader helios ROOM --reader-option size=x": r"reader 'helios' takes sizes,",
    "replay F/log.csv --reader helios ROOM --reader-option date=x --reader-option date=x": (
        r"--reader-option: 'date' occurs twice"
    ),
    "replay LOG ROOM --from soon": r"--from: start='soon' is not a date of the form",
    "replay LOG ROOM --from 9 --until 3": r"ends before it starts",
    "replay LOG ROOM --from 999999999": r"has none of its jobs",
    "replay LOG ROOM --without 0..1..2": r"--without: '0..1..2' is not of the form FROM..UNTIL",
    "replay LOG ROOM --without 1..9": r"window 1..9 has none of its jobs, submitted from",
    "replay LOG ROOM --without-users aa": r"trace 'log': user 'aa' has none of its jobs",
    "replay LOG ROOM --without-users a,": r"--without-users: 'a,' has an empty name",
    "replay LOG ROOM --without-users a,b,c": r"no job can be run: 7 rows read, 0 jobs, 7 skipped",
    "replay LOG ROOM --first 8": r"jobs=8 exceeds the 7 jobs of 'log' that can run",
    "replay LOG ROOM --weights F/sizes.csv": r"sizes.csv: 3 jobs of users without a size: 'row2'",
    "replay LOG ROOM --weights fair": r"fair: No such file",
    "replay LOG ROOM --overhead 900": r"overhead=900 is not below the lease of 900 s",
    "replay LOG ROOM --round-length 0": r"0 is not within 1 to ",
    "replay LOG ROOM --report no/r.html": r"folder no does not exist",
    "replay LOG ROOM --resume": r"--resume needs the folder of an earlier replay: --save-runs",
    "replay LOG ROOM --resume --save-runs new": r"new: there is no such folder to resume from",
    "replay LOG ROOM --save-runs F/log.csv": r"log.csv: ",
    # replay: saved problems
    "replay F/revenue.json --policies fifo": r"policy 'fifo': jobs with parameter servers need",
    "replay F/revenue.json --policies online-revenue,yarn-cs": r"policy 'yarn-cs': jobs with",
    "replay F/plain.json --policies fifo,online-revenue:lp": r"'irmp-lp': job 'a' has no param",
    "replay F/revenue.json --round-length 60": r"round_length=60, times of jobs with parameter s",
    "replay F/revenue.json --ledger": r"ledger=True, the losses of jobs with utilities",
    "replay F/revenue.json --nodes 4": r"--nodes does not go with a saved instance or problem",
    "replay F/revenue.json --from 4": r"--from does not go with a saved instance or problem",
    "replay F/rings.json": r"rings.json: a RarDdls is not replayed, an instance or IRMP is",
    "replay W_LINEAR --reader scenario --gpus-per-node 4": r"--gpus-per-node does not go with scen",
    "replay W_LINEAR --reader scenario --reader-option days=4": r"'days=4' is not one of jobs=, us",
    "replay F/revenue.json --policies online-revenue:estimated": r"runs jobs with parameter server",
    # describe and convert
    "describe F/log.csv --columns x": r"columns: 'x' is not role=column",
    "describe F/log.csv --reader xls": r"reader 'xls' is not one of ",
    "describe F/none.csv --reader philly-csv": r"none.csv: No such file",
    "describe F/header.csv --reader philly-csv": r"header.csv: there are no jobs to describe: 0 ro",
    "describe LOG --plot d.pdf": r"picture 'd.pdf': the name must end in .png or .svg",
    "describe LOG --json F/log.csv": r"log.csv: would replace the input",
    "convert F/own.csv out.txt": r"out.txt: the name must end in one of .csv, .csv.gz, .parquet,",
    "convert F/own.csv F/own.csv": r"own.csv: would replace the input",
    "convert F/own.csv out.csv --reader swf": r"own.csv: line 1: 1 fields, not 18",
    "convert F/own.csv out.csv --reader-option tres=gpu": r"tres='gpu' does not list numbers",
    "convert F/header.csv out.csv": r"header.csv: there are no jobs to write: 0 rows read, 0 jobs",
    # near misses
    "describe F/own.csv --reader philli-csv": r"did you mean 'philly-csv'\?",
    "replay F/own.csv ROOM --policies tirsias-l": r"did you mean 'tiresias-l'\?",
    "solve rar-small-0 --solver sjf-bko": r"did you mean 'sjf-bco'\?",
    "list polices": r"did you mean 'policies'\?",
    "describe F/own.csv --columns gpus=x": r"no column 'x' for gpus; found: id, us",
    "describe F/own.csv --columns gpu=x": r"did you mean 'gpus'\?",
    "replay F/own.csv ROOM --policies fifo,srtf --from 2024-05-02": r"none of its jobs, submitted ",
    "describe F/theirs.py": r"no column for submit, gpus, duration \(or start and end\)",
    # backends
    "solve rar-contention-0 --solver exact --backend nosuch": r"'nosuch' does not work here; these",
    "solve rar-contention-0 --solver exact --option gap": r"'gap' is not of the form name=value",
    "solve rar-contention-0 --solver exact --option gap=-1": r"option gap=-1 is not a number >= 0",
    "solve rar-contention-0 --solver laminar --backend highs": r"go with --solver exact, not 'lami",
}


@pytest.fixture
def more(files: Path) -> Path:
    """Beside the usual files: a log of seven rows and those that are wrong, and saved problems."""
    problem = reduced_problem(6)
    plain = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=60)])
    for name, thing in (
        ("revenue", problem), ("plain", plain), ("rings", RarDdls(Instance(plain.cluster, [])))
    ):  # fmt: skip
        save(files / f"{name}.json", thing)
    texts = {
        "log.csv": lines(ROWS),
        "bad.csv": [*lines(ROWS), "2017-10-07 05:00:00,-5,1,a"],
        "header.csv": [HEADER],
        "wide.csv": lines([("01:00:00", 60, 9, "a")]),
        "sizes.csv": ["vc,num", "a,3", "c,1"],
        "own.csv": ["id,user,gpus,submit,duration", "a,ann,2,2024-05-01T09:00:00,3600",
                    "b,bob,4,2024-05-01T09:10:00,60"],
        "theirs.py": [POLICIES],
    }  # fmt: skip
    for name, rows in texts.items():
        (files / name).write_text("\n".join(rows) + "\n")
    (files / "broken.csv.gz").write_bytes(gzip.compress(b"timestamp\n" * 100)[:-9])
    return files


def contents(folder: Path) -> dict[Path, bytes]:
    """All files but what Python keeps of a module that it has imported."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if path.parent.name != "__pycache__"}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_refused_in_one_line(gangsched_: Gangsched, more: Path, line: str) -> None:
    text = BAD[line]
    for name, meaning in SHORT.items():
        line = line.replace(name, meaning)
    before = contents(more)
    args = [re.sub(r"^F\b", str(more), arg) for arg in shlex.split(line)]
    assert_refused(gangsched_(*args), re.sub(r"\bF(?=[/:])", "files", text))
    assert contents(more) == before
    assert os.listdir() == ["files"]
