"""Sizes of clusters: the answer is the fewest nodes that do, and the proof holds for everybody."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from called import called
from few import each_seed
from gangsched.analysis.comparing.sizing import Sizing, Target, size
from gangsched.analysis.driving.metrics import completion_time
from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers import Fifo
from gangsched.solvers.policy import Rules
from malformed import table

RULES = Rules(round_length=1, lease=1, overhead=0)


def jobs(rng: random.Random) -> list[Job]:
    return [
        Job(id=str(j), gpus=rng.choice([1, 1, 2, 3]), work=rng.randint(1, 30), user="ab"[j % 2],
            release=rng.randint(0, 25))
        for j in range(rng.randint(3, 9))
    ]  # fmt: skip


@each_seed(range(25))
def test_the_fewest_nodes_that_do_and_a_proof_for_all_policies(seed: int) -> None:
    rng = random.Random(seed)
    own, each = jobs(rng), rng.choice([1, 4])
    measure = rng.choice(["wait", "completion", "slowdown"])
    target = Target(
        measure, rng.choice([1.2, 3.0]) if measure == "slowdown" else rng.randint(2, 40)
    )

    def instance(n: int) -> Instance[Any]:
        return Instance(Cluster.uniform(nodes=n, gpus_per_node=each), own)

    alone = sum(job.work or 0 for job in own) / len(own)
    if measure == "completion" and alone > target.most:
        with pytest.raises(ValueError, match="no number of nodes does it"):
            size(instance, ("fifo", Fifo()), target, rules=RULES)
        return
    found = size(instance, ("fifo", Fifo()), target, rules=RULES, effort="standard")
    attained = {}
    for n in range(found.least, 16):
        for name in ("fifo", "srtf", "sjf", "las"):
            run = gs.drive(instance(n), name, round_length=1, lease=1, overhead=0)
            spans = completion_time(run)
            less = {"wait": sum(job.work or 0 for job in own)}.get(measure, 0)
            over = [job.work or 1 for job in own] if measure == "slowdown" else [1] * len(own)
            value = (sum(span / w for span, w in zip(spans, over, strict=True)) - less) / len(own)
            assert n > found.impossible or value > target.most
            attained.setdefault(name, {})[n] = value
    for n, value in found.tried.items():
        assert value == pytest.approx(attained["fifo"][n]) if n < 16 else True
    reached = [n for n, value in attained["fifo"].items() if value <= target.most]
    assert found.fewest == (min(reached) if reached else found.fewest)
    assert set(range(max(found.least, found.impossible + 1), found.fewest or 0)) <= set(found.tried)
    assert all(found.tried[n] > target.most for n in found.worse)
    for (_, more), (_, less) in pairwise(sorted(found.proofs.items())):
        assert more >= less - 1e-9


def test_targets_of_users_and_quantiles_have_no_proof() -> None:
    own = jobs(random.Random(1))
    for text in ("95 % wait <= 20 s", "mean wait of a <= 5 s"):
        found = size(
            lambda n: Instance(Cluster.of_sizes([1] * n), own), ("fifo", Fifo()), Target.of(text),
            rules=RULES,
        )  # fmt: skip
        assert (found.impossible, found.bound) == (found.least - 1, None)
        assert "there is no proof for this measure" in str(found)
        assert found.fewest is not None


@each_seed([4, 10])
def test_every_size_from_the_proof_to_the_answer_is_tried(seed: int) -> None:
    rng = random.Random(seed)
    own = [
        Job(id=str(j), gpus=rng.choice([1, 1, 1, 8]), work=rng.choice([2, 2, 60]),
            release=rng.randint(0, 40))
        for j in range(40)
    ]  # fmt: skip

    def instance(n: int) -> Instance[Any]:
        return Instance(Cluster.of_sizes([1] * n), own)

    target = Target("wait", 8)
    found = size(instance, ("fifo", Fifo()), target, rules=RULES)
    assert found.fewest is not None
    assert found.fewest > found.impossible + 10
    assert {*range(found.impossible + 1, found.fewest + 1)} <= {*found.tried}
    for n in range(found.least, found.fewest + 1):
        run = gs.drive(instance(n), "fifo", round_length=1, lease=1, overhead=0)
        wait = completion_time(run).mean() - sum(job.work or 0 for job in own) / len(own)
        assert (wait <= target.most) == (n == found.fewest)


def test_sizes_that_fail_again_are_named() -> None:
    tried = {3: 90.0, 4: 10.0, 5: 70.0, 6: 20.0}
    found = Sizing(
        target=Target("wait", 60), policy="odd", fewest=4, least=1, impossible=0, bound=None,
        tried=tried,
    )  # fmt: skip
    assert found.worse == (5,)
    assert "odd needs 4 nodes (10 s); no bound excludes any size; with 5 nodes odd" in str(found)


def test_nodes_that_are_there_may_do_and_what_a_policy_cannot_run_proves_nothing() -> None:
    own = [Job(id=str(j), gpus=2, work=10) for j in range(3)]

    def instance(n: int) -> Instance[Any]:
        return Instance(Cluster.of_sizes([6, *[2] * n]), own)

    found = size(instance, ("fifo", Fifo()), Target("wait", 1), rules=RULES, start=0)
    assert (found.fewest, found.least, found.impossible) == (0, 0, -1)
    assert "fifo needs 0 more nodes (0 s); no bound excludes any size" in str(found)
    pool = [Job(id="wide", gpus=5, work=10)]  # which fifo puts on whole nodes only
    found = size(
        lambda n: Instance(Cluster.of_sizes([3] * n), pool), ("fifo", Fifo()), Target("wait", 1),
        rules=RULES,
    )  # fmt: skip
    assert (found.fewest, found.least, found.impossible) == (2, 2, 1)
    assert "no policy can do it with fewer than 2, as a gang would not fit" in str(found)


def test_an_interrupt_keeps_what_was_found() -> None:
    own = jobs(random.Random(3))
    calls: list[str] = []

    def stop(text: str) -> None:
        calls.append(text)
        if len(calls) == 4:
            raise KeyboardInterrupt

    found = size(
        lambda n: Instance(Cluster.of_sizes([1] * n), own), ("fifo", Fifo()), Target("wait", 0),
        rules=RULES, on_progress=stop,
    )  # fmt: skip
    assert found.interrupted
    assert len(found.tried) + len(found.proofs) == 3
    assert found.impossible == max(n for n, value in found.proofs.items() if value > 0)
    assert "fifo was not tried" in str(found)
    assert "fewer than" in str(found)
    assert found.to_dict()["interrupted"]


def test_an_interrupted_search_does_not_say_what_a_policy_needs() -> None:
    """The doubled size that reaches the target came before all smaller ones were tried."""
    own = [Job(id=str(i), gpus=1, work=600) for i in range(40)]

    def stop(text: str) -> None:
        if text == "fifo on 4 nodes":
            raise KeyboardInterrupt

    target = Target.of("95 % wait <= 500 s")
    args = (lambda n: Instance(Cluster.of_sizes([1] * n), own), ("fifo", Fifo()), target)
    whole, part = size(*args, rules=RULES), size(*args, rules=RULES, on_progress=stop)
    assert part.fewest is not None
    assert whole.fewest is not None
    assert part.fewest > whole.fewest
    assert f"fifo reaches it with {part.fewest} nodes" in str(part)
    assert "not all smaller sizes were tried" in str(part)
    assert f"fifo needs {whole.fewest} nodes" in str(whole)


@pytest.mark.parametrize(
    ("text", "rule"),
    table("refused_values")["what_is_no_target_is_refused"],
)
def test_what_is_no_target_is_refused(text: str, rule: str) -> None:
    with pytest.raises(ValueError, match=f"target {text!r}") as caught:
        Target.of(text)
    assert rule in str(caught.value)


def test_the_command_says_it_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{i},{1 + i % 2},{20 * i},{100 + i}" for i in range(30)]
    (tmp_path / "log.csv").write_text("\n".join(["id,gpus,submit,runtime_s", *rows]))
    args = "size", str(tmp_path / "log.csv"), "--gpus-per-node", "2", "--overhead", "0"
    code, out, _ = called(capsys, *args, "--target", "mean wait <= 60 s", "--policy", "fifo")
    assert code == 0
    assert "mean wait <= 60 s: fifo needs 5 nodes" in " ".join(out.split())
    assert "no policy can do it with fewer than 4" in " ".join(out.split())
    code, _, err = called(capsys, *args, "--target", "mean wait <= 60 s", "--policy", "fifo,srtf")
    assert (code, "--policy 'fifo,srtf': one is wanted" in err) == (2, True)
    code, _, err = called(capsys, *args, "--target", "mean wait <= 1 min", "--grow", "v100")
    assert (code, "--grow 'v100' is not of the form model:gpus" in err) == (2, True)
    wanted = "--target", "mean wait <= 60 s", "--policy", "fifo"
    grown = "--nodes", "v100:2x2", "--grow", "v100:2", "--overhead", "0"
    code, out, _ = called(capsys, "size", args[1], *grown, *wanted)
    assert (code, "fifo needs 3 more nodes" in out) == (0, True)
    code, _, err = called(capsys, *args, *wanted, "--effort", "huge")
    assert (code, "size: effort='huge' is not one of" in err) == (2, True)
    revenue = "size", "W_LINEAR", "--reader", "scenario", "--gpus-per-node", "4"
    code, _, err = called(capsys, *revenue, *wanted)
    assert (code, "jobs with utilities have no wait" in err) == (2, True)
