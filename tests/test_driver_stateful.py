"""The driver as a machine: jobs are submitted, time goes on, the run is taken up again."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from driven import Mover, Shuffle, due
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.run import Run
from gangsched.instances import Cluster, Instance, Job, Node, User
from gangsched.solvers import Fifo, LtgfPolicy, Srtf, ThemisGreedy, TiresiasL
from reference_driver import drive

POLICIES = [
    Fifo(),
    Fifo(blocking=False),
    Srtf(),
    TiresiasL(thresholds=(60, 300)),
    ThemisGreedy(),
    LtgfPolicy(),
    LtgfPolicy(fair_share="quota", job_key="rho-minus"),
    Shuffle(),
    Shuffle(seed=1, cycle=1, orders=True, always_asked=False),
    Mover(),
]


class Driven(RuleBasedStateMachine):
    """Submit, advance, resume: the past never changes, and every state keeps the rules.

    Jobs know their speeds where they are to: some policies profile, split and resize those. Where
    not, nodes may be of two GPU models, and jobs as fast on each as they say.
    """

    @initialize(
        sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
        policy=st.sampled_from(POLICIES),
        synchronous=st.booleans(),
        overhead=st.integers(0, 30),
        migration=st.none() | st.integers(0, 30),
        known=st.booleans(),
    )
    def begin(
        self,
        sizes: list[int],
        policy: Any,
        synchronous: bool,
        overhead: int,
        migration: int | None,
        known: bool,
    ) -> None:
        self.policy = policy
        self.known = known or isinstance(policy, Shuffle)
        models = [""] if self.known else ["k80", "v100"]
        self.cluster = Cluster(
            [Node(f"n{i}", size, models[i % len(models)]) for i, size in enumerate(sizes)]
        )
        self.rules = {
            "round_length": 20,
            "lease": 60,
            "synchronous": synchronous,
            "overhead": overhead,
            "migration": migration,
            "patience": 120,
        }
        self.users = [User("u"), User("v", 2.0)]
        self.jobs: list[Job] = []
        self.now = 0
        self.run: Run | None = None

    def _instance(self) -> Instance[Job]:
        return Instance(self.cluster, self.jobs, self.users)

    def _drive(self, **how: Any) -> Run:
        return drive(self._instance(), self.policy, until=self.now, **self.rules, **how)

    @rule(
        wait=st.integers(1, 90),
        gpus=st.integers(1, 5),
        work=st.integers(1, 300),
        user=st.sampled_from("uv"),
        split_speed=st.sampled_from([1.0, 0.7, 0.3]),
        cost=st.sampled_from([None, 0, 50]),
        by_model=st.sampled_from([{}, {"k80": 0.7, "v100": 2.5}, {"v100": 0.6}]),
    )
    def submit(
        self,
        wait: int,
        gpus: int,
        work: int,
        user: str,
        split_speed: float,
        cost: int | None,
        by_model: dict[str, float],
    ) -> None:
        """A job of the future: what has happened must not depend on it."""
        id = f"j{len(self.jobs)}"
        release = self.now + wait
        job = Job(id=id, gpus=gpus, work=work, release=release, user=user, speeds=by_model)
        speeds = {"split_speed": split_speed, "preemption_cost": cost}
        self.jobs.append(due(job, **speeds) if self.known else job)
        before, self.run = self.run, self._drive()
        if before is not None and before.checkpoint is not None:
            assert self._past(before) == self._past(self.run)

    @rule(seconds=st.integers(1, 200))
    def advance(self, seconds: int) -> None:
        before = self.run
        self.now += seconds
        self.run = self._drive()
        if before is None or before.instance_hash != self.run.instance_hash:
            return
        if before.checkpoint is not None:
            assert self._drive(resume=before.checkpoint) == self.run
            assert self._past(self.run)[: len(before.events)] == self._past(before)

    @rule()
    def compare(self) -> None:
        if self.run is not None:
            assert self._drive(engine="reference") == self.run
            assert self._drive(skip=False) == self.run

    @staticmethod
    def _past(run: Run) -> list[tuple[int, int, int]]:
        events = run.events
        return list(
            zip(events.time.tolist(), events.job.tolist(), events.kind.tolist(), strict=True)
        )

    @invariant()
    def keeps_the_rules(self) -> None:
        if getattr(self, "run", None) is not None:
            assert self.run is not None
            assert violations(self.run, preempts=self.policy.preempts) == []


TestDriven = Driven.TestCase
TestDriven.settings = settings(max_examples=30, stateful_step_count=12, deadline=None)
