"""Decisions as machine code checks them and carries them out, against the readable Python."""

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driven import Case, Mover, Shuffle, cases, mixed_cases, split_cases
from gangsched.analysis.driving import engine
from gangsched.analysis.driving.drive import PolicyError, new_tables
from gangsched.analysis.driving.steps import Steps
from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers.machine import machine as machines
from gangsched.solvers.policy import Decision, Preempts, Rules, Start, State, WrittenStarts
from reference_driver import drive

NAMES = ("order", "suspend", "kill", "passed")


@dataclass(frozen=True)
class Spoiled:
    """The decisions of another policy, one of which has something changed."""

    own: Any
    at: int
    seed: int
    preempts: Preempts
    always_asked: bool = True
    name: str = "spoiled"

    def decide(self, state: State) -> Decision:
        decision: Decision = self.own.decide(state)
        # what a policy that may stop nobody decides, now and then
        if self.preempts is Preempts.NEVER:
            waiting = [j for j in decision.order if state.phase[j] == 1]
            decision = Decision(order=waiting)
        if state.now < self.at:
            return decision
        rng = np.random.default_rng([self.seed, state.now])
        return spoil(decision, state, rng)

    def next_change(self, state: State) -> int | None:
        change: int | None = self.own.next_change(state)
        return change


def spoil(decision: Decision, state: State, rng: np.random.Generator) -> Decision:
    """A decision with a number more, or others in one of its starts."""
    number = int(rng.integers(-1, state.arrived.size + 2))
    starts = [Start(*entry) for entry in decision.start]
    what, again = rng.integers(12), rng.random() < 0.5
    if what < 4:
        name = NAMES[what]
        jobs = [*getattr(decision, name)]
        jobs.insert(int(rng.integers(len(jobs) + 1)), jobs[0] if jobs and again else number)
        return replace(decision, **{name: jobs})
    if what == 4:
        return replace(decision, order=np.array([*decision.order], dtype=float))
    nodes = {int(n): int(rng.integers(1, 4)) for n in rng.integers(-1, state.sizes.size + 1, 2)}
    i = int(rng.integers(len(starts))) if starts else 0
    if what == 5 or not starts:
        entry = Start(number, nodes if rng.random() < 0.7 else None)
        return replace(decision, start=[*starts, entry])
    before = starts[i].nodes or nodes
    first = next(iter(before))
    fit: dict[int, Any] = {
        6: {"nodes": {**before, first: before[first] + 1}},
        7: {"nodes": nodes},
        8: {"gpus": int(rng.integers(0, 7))},
        9: {"profile": int(rng.integers(-1, 3)) * 30},
        10: {"nodes": {}},
        11: {"job": number},
    }[int(what)]
    starts[i] = starts[i]._replace(**fit)
    return replace(decision, start=starts)


def outcome(case: Case, policy: Any, engine: Any) -> tuple[Any, str]:
    try:
        return drive(case.instance, policy, **case.rules, engine=engine, until=4_000), ""
    except PolicyError as error:
        return error.run, str(error)


@pytest.mark.parametrize("preempts", list(Preempts))
@given(
    case=st.one_of(cases(), split_cases(), mixed_cases()),
    elastic=st.booleans(),
    at=st.integers(0, 500),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=80)
def test_what_machine_code_refuses_python_words(
    preempts: Preempts, case: Case, elastic: bool, at: int, seed: int
) -> None:
    """The same run, or the same error, by both engines."""
    known = case.instance.kind.elastic and elastic
    own = Shuffle(seed, orders=True, preempts=preempts) if known else Mover(seed, preempts=preempts)
    policy = Spoiled(own, at, seed, preempts)
    compiled, text = outcome(case, policy, "compiled")
    read, other = outcome(case, policy, "reference")
    assert text == other
    assert compiled == read


@dataclass(frozen=True)
class InOtherNumbers(Spoiled):
    """The same decisions in numbers of numpy and lists, which machine code does not read."""

    def decide(self, state: State) -> Decision:
        own: Decision = self.own.decide(state)
        starts = [Start(*entry) for entry in own.start]
        return replace(
            own,
            order=np.array(own.order, dtype=np.int32),
            start=[s._replace(nodes=s.nodes and MappingProxyType(s.nodes)) for s in starts],
        )


@given(case=st.one_of(cases(), split_cases(), mixed_cases()), seed=st.integers(0, 10_000))
@settings(max_examples=40)
def test_good_decisions_are_carried_out_by_machine_code(case: Case, seed: int) -> None:
    """None that can be done is refused there, and in other numbers it is the same."""
    checked = []
    own = Shuffle(seed, orders=True) if case.instance.kind.elastic else Mover(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "check_decision", lambda *rest: checked.append(rest))
        by_numbers = drive(case.instance, own, **case.rules)
    assert not checked
    others = InOtherNumbers(own, 0, 0, own.preempts, name=own.name)
    assert drive(case.instance, others, **case.rules).schedule == by_numbers.schedule


def test_a_run_in_many_chunks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [Job(id=f"j{i}", gpus=1 + i % 3, work=900 + i, release=7 * i) for i in range(40)]
    instance = Instance(Cluster.of_sizes([2, 3]), jobs)
    policy = Mover(3)
    whole = drive(instance, policy)
    monkeypatch.setattr(machines, "CHUNK", 8)
    small = drive(instance, policy)
    assert len(small.schedule.__dict__["_packed"]["job"].parts) > 10
    assert small == whole
    assert small.digest() == whole.digest()
    part = drive(instance, policy, until=2_000)
    assert drive(instance, policy, resume=part.checkpoint) == whole


@dataclass(frozen=True)
class SecondIsWrong:
    """Starts two jobs, the second on more GPUs of a node than there are."""

    name: str = "second-is-wrong"
    preempts: Preempts = Preempts.NEVER

    def decide(self, state: State) -> Decision:
        return Decision(start=[(0, {0: 2}), (1, {1: 5})])


def test_a_refused_decision_has_taken_nothing() -> None:
    jobs = [Job(id="a", gpus=2, work=60), Job(id="b", gpus=5, work=60)]
    case = Case(Instance(Cluster.of_sizes([2, 2, 4]), jobs), {"spread": True})
    _, text = outcome(case, SecondIsWrong(), "compiled")
    assert text.endswith("job 1 is given {1: 5}, more than is free on node 1")
    assert text == outcome(case, SecondIsWrong(), "reference")[1]


def test_written_starts_are_those_that_python_writes() -> None:
    cluster = Cluster.of_sizes([4, 4, 4])
    instance = Instance(cluster, [Job(id=i, gpus=g, work=9) for i, g in (("a", 2), ("b", 8))])
    starts = [(1, {0: 4, 2: 4}), (0, {1: 2})]
    numbers = [1, -1, 0, 0, 2, 0, 4, 2, 4, 0, -1, 0, 0, 1, 1, 2]
    written = WrittenStarts(np.array(numbers), 2)
    assert [*written] == starts
    assert written[1] == starts[1]
    assert len(written) == 2
    steps = Steps(instance, new_tables(instance, Rules(), ()), Rules())
    for stops in ([], [3, 1]):
        own = steps.of(Decision(start=written, suspend=np.array(stops, dtype=np.int64)))
        plain = steps.of(Decision(start=starts, suspend=stops))
        assert own is not None
        assert plain is not None
        assert own[0].tolist() == plain[0].tolist()
    assert steps.of(Decision(start=written, suspend=np.array([0.5]))) is None


def test_written_starts_have_profiling_runs_too() -> None:
    """On fewer GPUs than the gang, beside a start of a whole one."""
    jobs = [Job(id=i, gpus=g, work=9) for i, g in (("a", 2), ("b", 8))]
    instance = Instance(Cluster.of_sizes([4, 4, 4]), jobs)
    starts = [Start(1, {0: 4, 2: 2}, 6, 120), (0, {1: 2})]
    written = WrittenStarts(np.array([1, 6, 120, 0, 2, 0, 4, 2, 2, 0, -1, 0, 0, 1, 1, 2]), 2)
    assert [*written] == starts
    steps = Steps(instance, new_tables(instance, Rules(), ()), Rules())
    own, plain = steps.of(Decision(start=written)), steps.of(Decision(start=starts))
    assert own is not None
    assert plain is not None
    assert own[0].tolist() == plain[0].tolist()
