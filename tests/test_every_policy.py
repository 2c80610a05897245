"""Every policy of `gangsched list` on every kind of cluster and jobs: it runs, or says why not."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import gangsched as gs
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import drive
from gangsched.instances import Linear, ParameterServerJob
from gangsched.registry import EARNING, POLICIES, SETTINGS, may_be_informed, policy
from gangsched.solvers import Stop

#: gang, seconds of work, release and user of each job
Rows = list[tuple[int, int, int, str]]
FEW: Rows = [
    (1, 300, 0, "u"), (2, 900, 0, "v"), (4, 600, 30, "u"), (1, 1200, 90, "v"), (3, 240, 400, "u"),
]  # fmt: skip
WIDE: Rows = [(8, 300, 0, "u"), (6, 300, 10, "v"), (1, 100, 20, "u")]
TWO = [gs.Node("n0", 4), gs.Node("n1", 4)]
MODELS = [gs.Node("n0", 4, "k80"), gs.Node("n1", 4, "p100"), gs.Node("n2", 4, "v100")]


def users_of(rows: Rows) -> list[gs.User]:
    return [gs.User(user) for user in sorted({row[3] for row in rows} - {""})]


def plain(rows: Rows, nodes: list[gs.Node], **more: Any) -> gs.Instance[Any]:
    jobs = [
        gs.Job(id=f"j{i}", gpus=gpus, work=work, release=release, user=user, **more)
        for i, (gpus, work, release, user) in enumerate(rows)
    ]
    return gs.Instance(gs.Cluster(nodes), jobs, users_of(rows))


def strict(rows: Rows, nodes: list[gs.Node]) -> gs.Instance[Any]:
    """All but the last with a deadline, the second a soft one."""
    jobs = []
    for i, (gpus, work, release, user) in enumerate(rows):
        rewards = [(3 * work, 100.0), (4 * work, 50.0)][: 1 + (i == 1)]
        rewards = rewards if i < len(rows) - 1 else []
        more: dict[str, Any] = {"release": release, "user": user, "rewards": rewards}
        jobs.append(gs.DeadlineJob(id=f"j{i}", gpus=gpus, work=work, **more))
    return gs.Instance(gs.Cluster(nodes), jobs, users_of(rows))


def served(rows: Rows, nodes: list[gs.Node]) -> gs.Instance[Any]:
    """The same gangs with parameter servers, worth something to the end; minutes are slots."""
    jobs = [
        ParameterServerJob(
            id=f"j{i}", gpus=gpus, release=release // 60, user=user, epochs=work // 60,
            minibatches=1, rates=(1, 0.5), utility=Linear(-1, 1000),
        )
        for i, (gpus, work, release, user) in enumerate(rows)
    ]  # fmt: skip
    return gs.Instance(gs.Cluster(nodes), jobs, users_of(rows))


def owned(rows: Rows, user: str) -> Rows:
    return [(gpus, work, release, user) for gpus, work, release, _ in rows]


PS = [gs.Node("n0", 4, ps=1), gs.Node("n1", 4, ps=1)]
PS_MODELS = [gs.Node("n0", 4, "k80", ps=1), gs.Node("n1", 4, "p100", ps=1)]
SPEEDS = {"k80": 1, "p100": 2.5, "v100": 4}
CASES: Mapping[str, Callable[[], gs.Instance[Any]]] = {
    "no deadlines": lambda: plain(FEW, TWO),
    "deadlines": lambda: strict(FEW, TWO),
    "three GPU models": lambda: plain(FEW, MODELS, speeds=SPEEDS),
    "one node": lambda: plain(FEW, TWO[:1]),
    "deadlines on one node": lambda: strict(FEW, TWO[:1]),
    "one user": lambda: plain(owned(FEW, "u"), TWO),
    "deadlines of one user": lambda: strict(owned(FEW, "u"), TWO),
    "no users": lambda: plain(owned(FEW, ""), TWO),
    "gangs wider than a node": lambda: plain(WIDE, TWO),
    "wide gangs with deadlines": lambda: strict(WIDE, TWO),
    "wide gangs on models": lambda: plain(WIDE, [*MODELS, gs.Node("n3", 4, "k80")], speeds=SPEEDS),
    "parameter servers": lambda: served(FEW, PS),
    "wide gangs with parameter servers": lambda: served(WIDE, PS),
    "parameter servers on models": lambda: served(FEW, PS_MODELS),
}


def expected(name: str, case: str) -> str:
    """How the reason begins why a policy is refused; nothing where it is to run."""
    made: Any = policy(name)[1]
    if name in EARNING:
        other = f"policy {made.name!r}: job 'j0' has no parameter servers, it runs no other jobs"
        return "" if "parameter servers" in case else other
    if "models" in case and getattr(made, "one_model", False):
        return f"policy {made.name!r} takes all GPUs for equal, but the cluster has"
    if "parameter servers" in case:
        return f"policy {made.name!r}: jobs with parameter servers need a policy that starts them"
    if name == "unisched:static-profiler":
        nodes = 1 if "one node" in case else 2
        return f"unisched: profiler_nodes=2 leave no node of {nodes} for the jobs"
    return ""


def outcome(name: str, case: str) -> str:
    """Nothing where the policy runs and keeps the rules; otherwise what it says."""
    instance = CASES[case]()
    try:
        length = 1 if "parameter servers" in case else 60
        run = drive(instance, policy(name)[1], round_length=length, lease=300)
    except ValueError as error:
        return str(error)
    assert run.stop is Stop.COMPLETED
    assert violations(run) == []
    lost = {job for job, _ in run.rejected}
    open_ = [j for j, end in enumerate(run.records.end.tolist()) if end < 0 and j not in lost]
    assert open_ == []
    return ""


@pytest.mark.parametrize("name", POLICIES)
def test_it_runs_or_says_why_not(name: str) -> None:
    for case in CASES:
        said, wanted = outcome(name, case), expected(name, case)
        assert said.startswith(wanted), (case, said)
        assert bool(said) == bool(wanted), (case, said)
        assert "\n" not in said, (case, said)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", [name for name in POLICIES if may_be_informed(policy(name)[1])])
def test_it_runs_however_it_knows_run_times(name: str, setting: str) -> None:
    for case in ("deadlines on one node", "three GPU models", "gangs wider than a node"):
        said = outcome(f"{name}:{setting}", case)
        assert bool(said) == bool(expected(name, case)), (case, said)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in POLICIES if may_be_informed(policy(name)[1])])
def test_it_runs_beside_dedicated_nodes_where_others_are_left(name: str) -> None:
    for case in CASES:
        said = outcome(f"{name}:profiled-dedicated-1", case)
        wanted = expected(name, case)
        for rule in ("' takes all GPUs", "': jobs with"):
            wanted = wanted.replace(rule, f":profiled{rule}")
        if "one node" in case:
            wanted = "profiled: dedicated=1 leaves none of the 1 nodes"
        elif "models" in case and not wanted:
            wanted = "profiled: dedicated=1 needs one GPU model"
        assert said.startswith(wanted), (case, said)
        assert bool(said) == bool(wanted), (case, said)
        assert "\n" not in said, (case, said)


def test_jobs_with_deadlines_on_several_models_are_refused() -> None:
    with pytest.raises(ValueError, match="run on one GPU model") as caught:
        drive(strict(FEW, MODELS), policy("fifo")[1])
    assert "\n" not in str(caught.value)
