"""Sessions: what they see, that they begin anew with each run, and that they can be saved."""

import json
import pickle
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import few
from driven import due
from gangsched.analysis.comparing.replay import replay
from gangsched.analysis.driving.checkpoint import Checkpoint, pack, unpack
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.run import Run
from gangsched.analysis.driving.run_io import load_run, save_run
from gangsched.formulations.irmp.problem import reduced_problem
from gangsched.instances import (
    Cluster,
    DeadlineJob,
    Instance,
    Iterations,
    Job,
    Node,
    TargetMetric,
    User,
)
from gangsched.registry import EARNING
from gangsched.registry import POLICIES as REGISTERED
from gangsched.solvers import Fifo
from gangsched.solvers.ours.irmp.policy import OnlineRevenue
from gangsched.solvers.policy import (
    Decision,
    Preempts,
    Rules,
    State,
    begin,
    information_of,
    unable_jobs,
)
from reference_driver import drive

USERS = [User("u"), User("v", weight=2)]
MODELS = [Node("a", 4, "k80"), Node("b", 4, "k80"), Node("c", 4, "p100"), Node("d", 4, "v100")]


def plain_jobs(n: int = 12, *, models: bool = False) -> list[Job]:
    """Jobs that have to wait for each other."""
    rng = np.random.default_rng(3)
    speeds = [{"k80": 1.0, "p100": 2.0, "v100": fast} for fast in (2.5, 4.0)]
    return [
        Job(
            id=f"j{j}",
            gpus=int(rng.choice([1, 2, 4, 8])),
            work=int(rng.integers(200, 3000)),
            release=90 * j,
            user="uv"[j % 2],
            speeds=speeds[j % 2] if models else {},
        )
        for j in range(n)
    ]


def due_jobs(n: int = 12) -> list[DeadlineJob]:
    """The same with deadlines, some of which end by a metric."""
    curve = [0.9 - 0.6 / (k + 1) ** 0.5 for k in range(12)]
    metric = TargetMetric(target=curve[-1] - 1e-9, max_epochs=24, curve=curve)
    return [
        due(
            job,
            rewards=[(2 * (job.work or 0), 100), (3 * (job.work or 0), 50)] if j % 3 else (),
            stopping=metric if j % 4 == 0 else Iterations(),
            split_speed=0.8,
        )
        for j, job in enumerate(plain_jobs(n))
    ]


#: those of jobs that these instances have
POLICIES = {name: row for name, row in REGISTERED.items() if name not in EARNING}
INSTANCES: dict[str, Instance[Any]] = {
    "one model": Instance(Cluster.of_sizes([4, 4, 4]), plain_jobs(), USERS),
    "three models": Instance(Cluster(MODELS), plain_jobs(models=True), USERS),
    "deadlines": Instance(Cluster.of_sizes([4, 4, 4]), due_jobs(), USERS),
}
ROLLING = [name for name in POLICIES if name.startswith("rolling")]
#: policies that spread gangs as if their jobs had deadlines
DUE = [name for name in POLICIES if name.startswith("unisched") or name == "chronus:selector"]


def takes(name: str, where: str) -> bool:
    """Whether a policy is for the jobs of this instance; as printed LTGF may never end."""
    if where == "three models" and getattr(POLICIES[name](), "one_model", False):
        return False
    not_meant = (name in ROLLING and where != "one model") or (name in DUE and where == "one model")
    return name != "ltgf:printed" and not not_meant


every = pytest.mark.parametrize("name", POLICIES)


# --- each run begins anew ------------------------------------------------------------------------


@every
@few.each_seed([*INSTANCES], name="where")
def test_one_object_gives_the_same_run_twice_also_half_way_in_another(
    name: str, where: str
) -> None:
    if not takes(name, where):
        return
    policy, instance = POLICIES[name](), INSTANCES[where]
    runs: list[Run] = []

    def in_between(done: int, able: int) -> None:
        if not runs:
            runs.append(drive(instance, policy))

    outer = drive(instance, policy, engine="reference", on_progress=in_between)
    alone = drive(instance, POLICIES[name]())
    assert runs
    assert outer == alone
    assert runs[0] == alone
    assert outer.log == runs[0].log


def test_beginning_a_session_changes_nothing_in_a_policy() -> None:
    for name in POLICIES:
        if name in ROLLING:  # which keep their last session for its steps
            continue
        policy = POLICIES[name]()
        before = pickle.dumps(policy)
        session = begin(policy, Cluster.of_sizes([8] * 4), USERS, Rules(overhead=0))
        assert pickle.dumps(policy) == before, name
        assert begin(
            policy, Cluster.of_sizes([8] * 4), USERS, Rules(overhead=0)
        ) is not session or (session is policy)


# --- sessions are saved --------------------------------------------------------------------------


@every
@pytest.mark.parametrize("engine", few.first(1, ["compiled", "reference"]))
@few.each_seed([*INSTANCES], name="where")
def test_every_policy_goes_on_from_a_file(
    name: str, where: str, engine: Any, tmp_path: Path
) -> None:
    if not takes(name, where):
        return
    instance, how = INSTANCES[where], {"engine": engine, "lease": 600}
    whole = drive(instance, POLICIES[name](), **how)
    for until in (whole.now // 4, 2 * whole.now // 3):
        part = drive(instance, POLICIES[name](), until=until, **how)
        assert part.checkpoint is not None, name
        part.checkpoint.save(tmp_path / "point")
        point = Checkpoint.load(tmp_path / "point")
        again = drive(instance, POLICIES[name](), resume=point, **how)
        assert again == whole
        assert again.log == whole.log


@pytest.mark.parametrize(
    ("name", "where"),
    [
        *(("gandiva-fair", "three models"), ("max-min-fairness", "three models")),
        *(("hived", "one model"), ("chronus", "deadlines"), ("unisched", "deadlines")),
        *(("rolling-horizon", "one model"), ("irmp", "slope"), ("irmp", "lp")),
    ],
)
def test_after_a_break_a_session_remembers_the_same(name: str, where: str) -> None:
    problem = reduced_problem(12)
    servers = name == "irmp"
    instance = problem.instance if servers else INSTANCES[where]
    how = {"round_length": 1} if servers else {}

    def policy() -> Any:
        return OnlineRevenue.of(problem, where) if servers else POLICIES[name]()

    end = drive(instance, policy(), **how).now
    for first, then in ((end // 5, end // 2), (end // 3, 3 * end // 4)):
        part = drive(instance, policy(), until=first, **how).checkpoint
        runs = [drive(instance, policy(), until=then, resume=p, **how) for p in (None, part)]
        direct, resumed = (session_of(run) for run in runs)
        assert direct == resumed
        assert direct


def session_of(run: Run) -> Any:
    """What the session has saved, with lists for arrays."""
    assert run.checkpoint is not None

    def listed(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return repr(value.tolist())  # nan is equal to nan
        if isinstance(value, dict):
            return {key: listed(part) for key, part in value.items()}
        return [listed(part) for part in value] if isinstance(value, list) else value

    return listed(unpack(run.checkpoint.data)["session"])


class Counting:
    """Remembers how often it decided, and says so, but cannot be saved."""

    name = "counting"
    preempts = Preempts.NEVER

    def begin(self, *given: Any) -> Any:
        session = SimpleNamespace(count=0)

        def decide(state: State) -> Decision:
            session.count += 1
            return Decision(order=state.waiting)

        session.decide = decide
        return session


def test_a_session_that_cannot_be_saved_says_so(caplog: Any) -> None:
    run = drive(INSTANCES["one model"], Counting(), until=600)
    assert run.checkpoint is None
    text = "policy 'counting': this run cannot be resumed: its session has no save and load"
    assert text in caplog.text


def test_so_does_a_policy_that_may_remember_something_itself(caplog: Any) -> None:
    class Own(Fifo):
        def __init__(self) -> None:
            object.__setattr__(self, "__dict__", {"count": 0})

    policy: Any = SimpleNamespace(
        name="own", preempts=Preempts.NEVER, decide=lambda state: Decision(order=state.waiting)
    )
    assert drive(INSTANCES["one model"], policy, until=600).checkpoint is None
    assert "policy 'own': this run cannot be resumed" in caplog.text


class Bomb:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("it-ran"),)


def test_a_file_of_a_checkpoint_cannot_run_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.loads(pickle.dumps(Bomb()))  # that it would
    Path("it-ran").unlink()
    old = b"0" * 64 + b"\n" + pickle.dumps(("0.1.0", Bomb()))
    with pytest.raises(ValueError, match="not a checkpoint of a run: it is no archive"):
        Checkpoint.load(written(tmp_path, old))
    np.savez("bomb.npz", head=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match="not a checkpoint of a run: it cannot be read"):
        Checkpoint.load("bomb.npz")
    head = json.dumps({"format": 1, "instance": "x", "session": {"$array": "a0"}}).encode()
    np.savez("bomb.npz", head=np.frombuffer(head, np.uint8), a0=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match="not a checkpoint of a run: it cannot be read"):
        Checkpoint.load("bomb.npz")
    for data in (pickle.dumps(Bomb()), b"", b"PK"):
        with pytest.raises(ValueError, match="not a checkpoint of a run"):
            Checkpoint.load(written(tmp_path, data))
        with pytest.raises(ValueError, match="drive: resume: it "):
            drive(INSTANCES["one model"], Fifo(), resume=crafted(data))
    assert not Path("it-ran").exists()


def written(folder: Path, data: bytes) -> Path:
    (folder / "point").write_bytes(data)
    return folder / "point"


def crafted(data: bytes) -> Checkpoint:
    """Of the right instance."""
    run = drive(INSTANCES["one model"], Fifo(), until=60)
    return Checkpoint(data, run.instance_hash)


def test_checkpoints_of_other_machines_are_refused() -> None:
    instance = INSTANCES["one model"]
    point = drive(instance, Fifo(), until=600).checkpoint
    assert point is not None
    content = unpack(point.data)
    content["machine"]["jobs"] = content["machine"]["jobs"][:-1]
    with pytest.raises(ValueError, match="its jobs are not those of this instance"):
        drive(instance, Fifo(), resume=replace(point, data=pack(content)))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"a": {1: 2}}, "a has the key 1"),
        ({"a": {"$array": 2}}, r"a has the key '\$array'"),
        ({"a": [0, {"b": Fifo()}]}, "a.1.b is of type Fifo"),
        ({"a": np.array([Fifo()])}, "a is of type ndarray"),
        ({"a": {3, 4}}, "a is of type set"),
    ],
)
def test_other_than_plain_data_is_refused(content: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        pack(content)


def test_plain_data_stays_what_it_is() -> None:
    content = {
        "table": np.array([(1, 0.5)], dtype=[("a", np.int64), ("b", np.float64)]),
        "numbers": [1, 2.5, float("inf"), -0.1, 2**70, True, None],
        "names": {"x": ("y", "ü")},
    }
    again = unpack(pack(content))
    assert again["table"].dtype == content["table"].dtype
    assert again["table"].tolist() == [(1, 0.5)]
    assert again["numbers"] == content["numbers"]
    assert again["names"] == {"x": ["y", "ü"]}
    assert pack(content) == pack(content)


# --- what a session sees -------------------------------------------------------------------------


class Looking:
    """First in, first out; does something with each state."""

    name = "looking"
    preempts = Preempts.NEVER
    information: Any = "known"
    offline = False

    def __init__(self, look: Any, **other: Any) -> None:
        self.look = look
        self.__dict__.update(other)

    def decide(self, state: State) -> Decision:
        self.look(state)
        return Decision(order=state.waiting)


#: job 0 comes at 0, job 2 at 60, job 1 at 600
LATE = Instance(
    Cluster.of_sizes([2]),
    [
        Job(id="a", gpus=1, work=100),
        Job(id="late", gpus=2, work=77, release=600, weight=3.0, speeds={"": 2.0}, user=""),
        Job(id="b", gpus=2, work=60, release=30),
    ],
)
both = pytest.mark.parametrize("engine", ["compiled", "reference"])


@both
def test_arrays_reach_to_the_jobs_that_have_come(engine: Any) -> None:
    seen: dict[int, Any] = {}
    names = ("gpus", "work", "release", "visible", "weight", "rank", "phase", "starts", "speed")

    def look(state: State) -> None:
        seen[state.now] = {name: getattr(state, name).tolist() for name in names}
        seen[state.now]["arrived"] = state.arrived.tolist()
        seen[state.now]["speeds"] = state.speeds.tolist()

    drive(LATE, Looking(look), engine=engine)
    assert seen[0]["gpus"] == [1]
    assert seen[0]["arrived"] == [0]
    at = seen[60]
    assert at["gpus"] == [1, 0, 2]
    assert at["work"] == [100, 0, 60]
    assert at["release"] == [0, 2**62, 30]
    assert at["visible"] == [0, 2**62, 60]
    assert at["weight"] == [1, 0, 1]
    assert at["rank"] == [0, 0, 1]
    assert at["phase"][1] == at["starts"][1] == 0
    assert at["speeds"] == [[10**6], [0], [10**6]]
    assert at["arrived"] == [0, 2]
    assert seen[600]["gpus"] == [1, 2, 2]
    assert seen[600]["arrived"] == [0, 2, 1]


@both
def test_rejected_jobs_are_not_seen(engine: Any) -> None:
    phases: list[list[int]] = []
    drive(
        LATE, Looking(lambda state: phases.append(state.phase.tolist())), engine=engine, reject=[0]
    )
    assert phases[0] == [0, 0, 1]


@pytest.mark.parametrize(
    ("look", "why"),
    [
        (lambda state: state.instance, "declare offline = True"),
        (lambda state: state.job(1), "at 0: NotShown: job 1 has not come"),
        (lambda state: state.job(-1), "job -1 has not come"),
        (lambda state: state.id(2), "job 2 has not come"),
        (lambda state: state.gpus[1], "IndexError"),
        (lambda state: state.remaining_work, "state has no attribute 'remaining_work'"),
        (lambda state: state.finish, "state has no attribute 'finish'"),
        (lambda state: state.fair_start, "state has no attribute 'fair_start'"),
        (lambda state: state.turn, "state has no attribute 'turn'"),
    ],
)
@both
def test_a_policy_that_reaches_for_more_fails(look: Any, why: str, engine: Any) -> None:
    with pytest.raises(PolicyError, match=why):
        drive(LATE, Looking(look), engine=engine)


@pytest.mark.parametrize(
    ("look", "what"),
    [
        (lambda state: state.work, "state.work"),
        (lambda state: state.remaining(state.waiting), "state.remaining"),
    ],
)
@both
def test_run_times_are_for_policies_that_declare_it(look: Any, what: str, engine: Any) -> None:
    with pytest.raises(PolicyError, match=f"{what} is a run time: .* information = 'known'"):
        drive(LATE, Looking(look, information=None), engine=engine)
    drive(LATE, Looking(look), engine=engine)


def test_jobs_come_without_their_run_times_otherwise() -> None:
    jobs: list[Job] = []
    metric = TargetMetric(target=0.5, max_epochs=4, curve=[0.1, 0.6])
    own = DeadlineJob(id="a", gpus=1, work=60, stopping=metric, rewards=[(90, 5)])
    instance = Instance(Cluster.of_sizes([1]), [own])
    policy = Looking(lambda state: jobs.append(state.job(0)), information=None)
    drive(instance, policy)
    assert jobs == [replace(own, work=None, stopping=Iterations())]
    policy.information = "known"
    drive(instance, policy)
    assert jobs[1] is own


def test_other_information_is_refused() -> None:
    with pytest.raises(ValueError, match="'looking': information='guessed' is not None, 'known'"):
        drive(LATE, Looking(print, information="guessed"))


@both
def test_offline_policies_see_all(engine: Any) -> None:
    seen: list[Any] = []

    def look(state: State) -> None:
        seen.append((state.instance is LATE, state.release.tolist(), state.job(1).id))

    drive(LATE, Looking(look, offline=True), engine=engine)
    assert seen[0] == (True, [0, 600, 30], "late")


def test_runs_and_rows_say_what_their_policies_knew(tmp_path: Path) -> None:
    made = {
        "blind": Looking(lambda state: None, information=None),
        "known": Looking(lambda state: None),
        "seer": Looking(lambda state: state.instance, offline=True),
    }
    runs = {name: drive(LATE, policy) for name, policy in made.items()}
    known = [(run.information, run.offline) for run in runs.values()]
    assert known == [(None, False), ("known", False), ("known", True)]
    for name, run in runs.items():
        save_run(tmp_path / f"{name}.json", run)
        again = load_run(tmp_path / f"{name}.json")
        assert (again.information, again.offline) == (run.information, run.offline)
        assert again.digest() == run.digest()
    names = [row.name for row in replay(LATE, made).rows]
    assert names == ["blind", "known", "seer (offline)"]


def test_whom_a_policy_can_never_run_is_asked_of_a_session_that_does_not_run() -> None:
    asked: list[Any] = []

    class Picky:
        name = "picky"
        preempts = Preempts.NEVER

        def begin(self, *given: Any) -> Any:
            return Sessions()

    class Sessions:
        def decide(self, state: State) -> Decision:
            asked.append(self)
            return Decision(order=state.waiting)

        def unable(self, job: Job) -> str:
            asked.append((self, job.work))
            return "too late" if job.id == "late" else ""

    run = drive(LATE, Picky())  # type: ignore[arg-type]
    assert run.rejected == ((1, "too late"),)
    (first, work), (second, _), (third, _), *later = asked
    assert first is second is third
    assert work is None  # it does not declare that it knows run times
    assert first not in later


def later_changed(instance: Instance[Any], now: int) -> Instance[Any]:
    """What comes after a time is wider, longer and of other weight."""
    changed = [
        job if job.release <= now else replace(job, gpus=1, work=9 * (job.work or 0), weight=5.0)
        for job in instance.jobs
    ]
    return replace(instance, jobs=changed)


@every
@few.each_seed([*INSTANCES], name="where")
def test_what_comes_later_changes_nothing_now(name: str, where: str) -> None:
    if not takes(name, where):
        return
    instance, now = INSTANCES[where], 700
    runs = [
        drive(given, POLICIES[name](), until=now)
        for given in (instance, later_changed(instance, now))
    ]
    known = [[(s.job, s.start, s.gpus) for s in run.schedule] for run in runs]
    assert len(known[0]) > 2
    assert known[0] == known[1]


def test_policies_that_are_not_told_run_times_do_the_same_without_them() -> None:
    untold = {name for name in POLICIES if information_of(POLICIES[name]()) is None}
    assert untold == {
        *("fifo", "fifo:backfill", "las", "tiresias-l", "yarn-cs", "yarn-cs:backfill", "hived"),
        *("hived:backfill", "gandiva-fair", "gandiva-fair:literal", "gandiva-fair:no-trade"),
        *("max-min-fairness", "max-sum-throughput", "ltgf"),
        *("ltgf:quota", "ltgf:rho-minus", "ltgf:renewal-first", "ltgf:printed"),
    }


def test_three_sigma_alone_learns_run_times() -> None:
    """As docs/papers/unisched.md says in "What the policies know"."""
    learned = {name for name in POLICIES if information_of(POLICIES[name]()) == "learned"}
    assert learned == {"three-sigma"}


def test_no_policy_of_the_project_is_offline() -> None:
    assert not [name for name in POLICIES if getattr(POLICIES[name](), "offline", False)]


def test_unable_jobs_are_those_that_a_drive_rejects() -> None:
    jobs = [*plain_jobs(6), Job(id="wide", gpus=12, work=60, user="u")]
    instance = Instance(Cluster.of_sizes([4, 4, 4]), jobs, USERS)
    for name in ("yarn-cs", "hived", "unisched", "fifo"):
        policy = POLICIES[name]()
        found = unable_jobs(policy, instance, Rules())
        assert found == dict(drive(instance, policy, until=0).rejected)
    assert set(unable_jobs(POLICIES["yarn-cs"](), instance, Rules())) >= {6}
