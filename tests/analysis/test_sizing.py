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
from gangsched.analysis.comparing.sizing import Target, size
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
        assert (found.impossible, found.bound) == (0, None)
        assert "no proof for this measure" in str(found)
        assert found.fewest is not None


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
