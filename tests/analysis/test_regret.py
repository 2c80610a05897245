"""Ledgers of losses: every term is the difference of two runs, and they add up."""

import json
import random
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gangsched as gs
from few import each_seed
from gangsched.analysis.comparing import regret
from gangsched.analysis.comparing.regret import ledger
from gangsched.analysis.driving import metrics
from gangsched.analysis.show.replay_tables import legend
from gangsched.cli.app import app
from gangsched.instances import Cluster, Instance, Job
from gangsched.registry import POLICIES, policy
from gangsched.solvers import Fifo, Srtf
from gangsched.solvers.policy import Rules

NAMES = ["fifo", "easy", "ltgf", "srtf", "smallest-area"]


def crowd(seed: int, jobs: int = 60) -> Instance[Job]:
    rng = random.Random(seed)
    made, time = [], 0
    for i in range(jobs):
        time += rng.randrange(200)
        gang, work = rng.choice([1, 1, 2, 4, 8]), rng.choice([30, 90, 600, 4_000])
        made.append(Job(id=f"j{i}", user=rng.choice("ab"), gpus=gang, work=work, release=time))
    return Instance(Cluster.of_sizes([4, 4]), made)


def ledgers_of(
    instance: Instance[Job], names: Any = NAMES, **options: Any
) -> dict[str, regret.LossLedger]:
    found = gs.replay(instance, names, ledger=True, **options)
    assert all(isinstance(one, regret.LossLedger) for one in found.ledgers.values())
    return dict(found.ledgers)  # type: ignore[arg-type]


@each_seed(range(4))
def test_terms_add_up_to_the_loss_in_both_orders(seed: int) -> None:
    made = ledgers_of(crowd(seed))
    assert list(made) == NAMES
    for one in made.values():
        assert len(one.orders) == 2
        for order in one.orders:
            assert sum(term.seconds for term in order) == pytest.approx(one.loss)
            assert [term.less for term in order[:-1]] == [term.more for term in order[1:]]
        assert {t.name for t in one.orders[0]} == {t.name for t in one.orders[1]}
    own = {name: one.orders[0][0].name for name, one in made.items()}
    assert own == dict.fromkeys(NAMES, "order") | {"ltgf": "fairness"}


def test_each_station_is_a_run_of_its_own() -> None:
    """Run again by hand, with what the variant says."""
    instance = crowd(5)
    rules = Rules(round_length=30, overhead=20)
    made = ledgers_of(instance, rules=rules)
    variants = {variant: mean for one in made.values() for variant, mean in one.runs.items()}
    assert len(variants) > 15
    for variant, mean in variants.items():
        where = instance
        if variant.pool:
            where = replace(instance, cluster=Cluster.of_sizes([8]))
        run = gs.drive(
            where,
            policy(variant.policy)[1],
            overhead=0 if variant.free else 20,
            round_length=1 if variant.seconds else 30,
        )
        assert metrics.summary(run)["mean_completion"] == pytest.approx(mean), variant


def test_a_term_is_what_its_cause_costs() -> None:
    """One wide gang and a short job: each cause by itself, by hand."""
    jobs = [Job(id="long", gpus=2, work=600), Job(id="short", gpus=2, work=60)]
    (fifo,) = ledgers_of(Instance(Cluster.of_sizes([2]), jobs), ["fifo"]).values()
    terms = {term.name: term.seconds for term in fifo.orders[0]}
    assert terms.pop("ignorance") == (600 + 660) / 2 - (60 + 660) / 2
    assert set(terms.values()) == {0.0}
    # the long job has begun when the short one comes: it would have to be stopped, at 10 s
    jobs[1] = replace(jobs[1], release=60)
    (sjf,) = ledgers_of(Instance(Cluster.of_sizes([2]), jobs), ["sjf"]).values()
    terms = {term.name: term.seconds for term in sjf.orders[0]}
    stopped = (60 + 660 + 25) / 2
    assert terms["non-preemption"] == (600 + 600) / 2 - stopped
    assert terms["restart overhead"] == 25 / 2


def test_nodes_and_rounds_cost_what_they_cost() -> None:
    """Jobs of 3 GPUs on nodes of 4 and 2: on a pool of six two of them run at once."""
    jobs = [Job(id=i, gpus=3, work=90) for i in "ab"]
    (one,) = ledgers_of(Instance(Cluster.of_sizes([4, 2]), jobs), ["smallest-area"]).values()
    terms = {term.name: term.seconds for term in one.orders[0]}
    # on nodes b starts at 90, but rounds are at 60 and 120
    assert terms["rounds"] == (90 + 210) / 2 - (90 + 180) / 2
    assert terms["nodes"] == (90 + 180) / 2 - 90
    second = {term.name: term.seconds for term in one.orders[1]}
    assert (second["nodes"], second["rounds"]) == ((90 + 210) / 2 - 90, 0)


def test_models_have_a_pool_each() -> None:
    cluster = Cluster([gs.Node("a", 4, "x"), gs.Node("b", 4, "y"), gs.Node("c", 2, "x")])
    assert [(n.model, n.gpus) for n in regret.pool_of(cluster).nodes] == [("x", 6), ("y", 4)]


def test_rows_without_a_ratio_say_why_they_have_no_ledger() -> None:
    instance = crowd(1)
    policies = {"fifo": Fifo(), "srtf": Srtf()}
    found = gs.replay(instance, policies)
    rows = tuple(replace(row, ratios={**row.ratios, "flow": None}) for row in found.rows[:1])
    made = ledger(replace(found, rows=(*rows, found.rows[1])), {"srtf": Srtf()})
    assert made["fifo"] == "it is no policy, or one that looks ahead"
    assert isinstance(made["srtf"], regret.LossLedger)
    made = ledger(replace(found, rows=rows), policies)
    assert made == {"fifo": "its mean completion time has no certified ratio"}


def test_stand_ins_that_cannot_run_are_the_reason() -> None:
    """Under las an overhead as long as a round would never let jobs end."""
    found = gs.replay(crowd(1, 8), ["ltgf", "srtf"], rules=Rules(overhead=90), ledger=True)
    assert "las cannot run: las: overhead=90 is not below" in str(found.ledgers["ltgf"])
    assert isinstance(found.ledgers["srtf"], regret.LossLedger)
    assert "hours, policy first" in str(found)
    assert any(line.startswith("No ledger of ltgf: las cannot run") for line in legend(found))


def test_another_policy_of_a_stand_ins_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'las' is not gangsched's policy"):
        gs.replay(crowd(1, 8), {"las": Fifo()}, ledger=True)


def test_stand_ins_have_the_names_of_the_registry() -> None:
    for name, one in regret.STAND_INS.values():
        assert policy(name)[1] == one


# --- the command ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_printed_commands_give_the_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    jobs = crowd(3).jobs
    rows = [f"{j.id},{j.user},{j.gpus},{j.release},{j.work}" for j in jobs]
    (tmp_path / "log.csv").write_text("\n".join(["id,user,gpus,submit,duration", *rows]) + "\n")
    args = ["log.csv", "--nodes", "2", "--gpus-per-node", "4", "--overhead", "9", "--ledger"]
    args += ["--policies", "srtf,fifo", "--json", "r.json", "--explain"]
    shown = CliRunner().invoke(app, ["replay", *args])
    assert shown.exit_code == 0, shown.output
    made = json.loads(Path("r.json").read_text())["ledgers"]
    means = {
        regret.Variant(*(run[name] for name in regret.Variant._fields)): run["mean_completion"]
        for one in made.values()
        for run in one["runs"]
    }
    lines = [line for line in shown.output.splitlines() if ": gangsched replay log.csv" in line]
    assert len(lines) == len(means) - 2  # but for the two rows
    for line in lines:
        name, _, command = line.partition(": gangsched ")
        again = shlex.split(command)
        assert not {"--ledger", "--explain", "--json"} & set(again)
        ran = CliRunner().invoke(app, [*again, "--json", "again.json"])
        assert ran.exit_code == 0, ran.output
        (row,) = json.loads(Path("again.json").read_text())["rows"]
        label = name.rpartition(", ")[0]
        variant = next(variant for variant in means if str(variant) == label)
        assert row["measures"]["mean_completion"] == pytest.approx(means[variant])
    assert "Of what the losses consist" in Path("replay.html").read_text()
    assert "policy first" in shown.output
    assert "cluster first" in shown.output


def test_policies_that_are_made_to_be_fair_are_named_as_they_are_today() -> None:
    assert {*regret.FAIR} <= {*POLICIES}
