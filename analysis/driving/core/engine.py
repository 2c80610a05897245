"""The trace driver as machine code: the same steps as :mod:`gangsched.analysis.driving.reference`.

A policy that names a compiled :class:`~gangsched.solvers.policy.Rule` decides inside; for others
the core returns to Python at each decision. Both engines give the same event log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....solvers.policy import Decision, Policy, Preempts, Rule, RuleKind, Start, State
from ..decisions import MOST_FRUITLESS, check_decision, check_nodes, give_ps, left_out
from ..ledger import Ints, Ledger, of_rows, to_rows
from ..simulation import Simulation
from . import const, ordered
from .auction import advance_by_auction
from .cells import advance_by_cells, with_cells
from .deficit import advance_by_deficit, with_classes
from .grouped import advance_by_groups
from .keyed import advance_by_key
from .machine import larger, new_machine
from .quotas import advance_by_quotas
from .shares import advance_by_shares, give_shares, set_fractions, with_shares

#: arrays of a machine that double when they are full, and all that a run changes
GROWING = ("segments", "parts", "events")
SAVED = (
    *("count", "params", "numbers", "memory", "jobs", "nodes", "users", "kinds", "gangs", "least"),
    *("entries", "level", "active", "lists", *GROWING),
)
#: how rules are followed; others by key or by groups
ADVANCES = {
    RuleKind.PYTHON: ordered.advance_to_decision,
    RuleKind.QUOTAS: advance_by_quotas,
    RuleKind.CELLS: advance_by_cells,
    RuleKind.AUCTION: advance_by_auction,
    RuleKind.DEFICIT: advance_by_deficit,
    RuleKind.SHARES: advance_by_shares,
}
MOST_IDLE = 2 * 86_400  # seconds for which a policy may leave an empty cluster idle


class Compiled(Simulation):
    """The engine in machine code; counterpart of :class:`..reference.Reference`."""

    def begin(self) -> None:
        """Make the machine."""
        policy, rules, ledger = self.policy, self.rules, self.book
        own = getattr(policy, "rule", None)  # a session of its own may decide otherwise
        none = self.instance.kind.needs_ps  # no rule gives parameter servers
        rule: Rule = (not none and getattr(self.session, "rule", own)) or Rule(RuleKind.PYTHON)
        _check_rule(policy, rule)
        params = [
            rules.round_length,
            rules.lease_length,
            rules.synchronous,
            rules.spread,
            -1 if rules.patience is None else rules.patience,
            self.skip,
            rule.kind,
            policy.preempts,
            rule.blocking,
            self.asked,
        ]
        urgent = frozenset(getattr(policy, "urgent", ()))
        ledger.jobs["urgency"] = 1
        if urgent:
            ledger.jobs["urgency"] = [job.id not in urgent for job in self.instance.jobs]
        self.machine = new_machine(ledger, params, rule, elastic=self.instance.kind.elastic)
        if rule.kind in (RuleKind.QUOTAS, RuleKind.CELLS):
            self.machine = with_cells(self.machine)
        elif rule.kind is RuleKind.DEFICIT:
            self.machine = with_classes(self.machine)
        elif rule.kind is RuleKind.SHARES:
            self.machine = with_shares(self.machine)
        self.kind = rule.kind

    def save(self) -> dict[str, Any]:
        """Return what has changed since the begin, as plain data."""
        return {
            **{name: getattr(self.machine, name) for name in SAVED},
            "ps": to_rows(self.book.ps),
            "idle": self.idle,
            "deciding": self.deciding,
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there, in a run that has just begun."""
        for name in GROWING:
            self.machine = self.machine._replace(**{name: np.array(data[name])})
        for name in SAVED:
            own, saved = getattr(self.machine, name), data[name]
            if own.dtype != saved.dtype or own.shape != saved.shape:
                raise ValueError(f"its {name} are not those of this instance")
            own[:] = saved
        self.book.ps = of_rows(data["ps"])
        self.idle, self.deciding = data["idle"], data["deciding"]

    def advance(self, until: int | None, most: int) -> bool | None:
        """Visit at most `most` rounds; True when all jobs have finished, False at `until`."""
        if self.kind is RuleKind.PYTHON:
            return self._advance_python(until, most)
        if self.deciding:
            self._share()
        while True:
            why = self._advance_core(until, most)
            if why == const.DECIDE:
                self._share()
                return None  # it may take long: let the driver look around
            if why != const.ROOM:
                return {const.DONE: True, const.UNTIL: False}.get(why)

    @property
    def _advance(self) -> Any:
        if self.kind in ADVANCES:
            return ADVANCES[self.kind]
        return advance_by_groups if self.kind.grouped else advance_by_key

    def _advance_core(self, until: int | None, most: int) -> int:
        why = self._advance(self.machine, const.NONE - 1 if until is None else until, most)
        if why == const.ROOM:
            self.machine = larger(self.machine)
        elif why == const.STUCK and self.count[const.FRUITLESS] > MOST_FRUITLESS:
            raise RuntimeError(
                f"policy {self.policy.name!r} lets {self.count[const.FRUITLESS]:,} segments in a "
                "row end without progress"
            )
        elif why == const.STUCK:
            raise RuntimeError(
                f"policy {self.policy.name!r} leaves {self.count[const.WAITS]} jobs waiting for "
                "ever"
            )
        return int(why)

    @property
    def count(self) -> Ints:
        """Counters."""
        return self.machine.count

    def _list(self, row: int, counter: int) -> Ints:
        return _by_rank(self.book, self.machine.lists[row, : self.count[counter]])

    def _advance_python(self, until: int | None, most: int) -> bool | None:
        if self.deciding:
            self._decide()
        for _ in range(most):
            if self._left_out():
                return True
            why = self._advance_core(until, most)
            if why == const.DECIDE:
                self._decide()
            elif why != const.ROOM:
                return {const.DONE: True, const.UNTIL: False}.get(why)
        return None

    def _share(self) -> None:
        """Let the session say which fractions of time are fair in this lease, and go on."""
        self.deciding = True
        set_fractions(self.machine, self.session)
        self.deciding = False
        give_shares(self.machine)

    def _left_out(self) -> bool:
        """Whether nothing is left but jobs that nobody will start."""
        count = self.count
        if count[const.RUNS] or not count[const.WAITS] or count[const.COMING] < count[const.ABLE]:
            return False
        return left_out(self.session, self._state())

    def _decide(self) -> None:
        state = self._state()
        self.deciding = True
        decision = self.session.decide(state)
        self.deciding = False
        check_decision(decision, state, self.policy.name)
        if len(decision.passed) and state.preemptible.size:
            blocked, passed = self.book.blocked, np.asarray(decision.passed, dtype=np.int64)
            blocked[passed] = np.where(blocked[passed] < 0, self.now, blocked[passed])
        if len(decision.suspend) or len(decision.kill) or len(decision.start):
            self._stop_and_start(decision, state)
        machine = self.machine
        if len(decision.order):
            machine.params[const.BLOCKING] = decision.blocking
            order = np.asarray(decision.order, dtype=np.int64)
            ordered.follow(machine, order, bool(decision.repacking))
        self._set_timer()

    def _stop_and_start(self, decision: Decision, state: State) -> None:
        """As in the reference: who is suspended and gets the GPUs that it had goes on."""
        machine = self.machine
        suspended, killed = ([int(j) for j in jobs] for jobs in (decision.suspend, decision.kill))
        for j in [*suspended, *killed]:
            ordered.give_gpus(machine, j)
        begun: dict[int, tuple[int, int, int]] = {}
        for start in decision.starts:
            numbers = self._take(start, state)
            if numbers is not None:
                begun[int(start.job)] = numbers
        give_ps(decision.starts, state)
        for j in suspended:
            if j in begun and not begun[j][2] and self._nodes(j, "new_") == self._nodes(j):
                del begun[j]
                ordered.renew_job(machine, j)
            else:
                ordered.stop_job(machine, j, const.SUSPEND)
        for j in killed:
            ordered.stop_job(machine, j, const.KILL)
        for j, (gpus, speed, profile) in begun.items():
            ordered.start_job(machine, j, gpus, speed, profile)

    def _take(self, start: Start, state: State) -> tuple[int, int, int] | None:
        """Take GPUs: how many, speed there (0 if the core knows), seconds of profiling."""
        j, nodes = int(start.job), start.nodes
        gpus, speed = start.number(int(self.book.gpus[j])), 0
        if nodes is not None:
            speed = check_nodes(start, state, self.policy.name)
        at = np.array([] if nodes is None else list(nodes), dtype=np.int64)
        parts = np.array([] if nodes is None else list(nodes.values()), dtype=np.int64)
        taken = ordered.take_gpus(self.machine, j, gpus, at, parts)
        return (gpus, speed, int(start.profile)) if taken else None

    def _set_timer(self) -> None:
        """When the policy may decide otherwise though nothing happens."""
        ask = getattr(self.session, "next_change", None)
        if ask is None:
            change: int | None = self.now + self.rules.round_length
            if self.count[const.RUNS] == 0 and self.count[const.COMING] == self.count[const.ABLE]:
                self.idle += 1
                if self.idle * self.rules.round_length > MOST_IDLE:
                    change = None
        else:
            change = ask(self._state())
        if change is not None:
            self.count[const.TIMER] = max(change, self.now + 1)

    def _state(self) -> State:
        m, seen = self.machine, self.seen
        if self.count[const.COMING] > seen.count:
            seen.arrive(m.lists[const.COMERS, seen.count : self.count[const.COMING]])
        return State(
            self.now,
            self.rules,
            seen,
            waiting=lambda: self._list(const.WAITERS, const.WAITS),
            running=lambda: self._list(const.RUNNERS, const.RUNS),
            held_nodes=self._nodes,
            places=self._places,
            job_fair=lambda jobs, t: ordered.job_fair(m, np.asarray(jobs, dtype=np.int64), t),
            user_fair=lambda t: ordered.user_fair(m, t),
            user_share=lambda: m.users["slope"].copy(),
            mean_active=self._mean_active,
            fair_rate=lambda jobs: m.kinds["slope"][m.jobs["kind_of"][jobs]],
            preempts=Preempts(self.policy.preempts),
        )

    def _mean_active(self, jobs: Ints, time: int) -> NDArray[np.float64]:
        since, total, count = self.machine.active.tolist()
        life = time - self.book.visible[jobs]
        seen = total + count * (time - since) - self.machine.jobs["active_start"][jobs]
        mean: NDArray[np.float64] = np.where(life > 0, seen / np.maximum(life, 1), float(count))
        return mean

    def _held(self, j: int, kind: str = "") -> NDArray[Any]:
        """The entries of what j has, or was chosen for it."""
        job = self.machine.jobs[j]
        held: NDArray[Any] = self.machine.entries[job["offset"] :][: job[f"{kind}length"]]
        return held

    def _nodes(self, j: int, kind: str = "") -> dict[int, int]:
        if self.book.phase[j] != const.RUNNING:
            return {}
        held = self._held(j, kind)
        nodes, parts = held[f"{kind}node"].tolist(), held[f"{kind}part"].tolist()
        return dict(zip(nodes, parts, strict=True))

    def _places(self, jobs: Ints) -> tuple[Ints, Ints, Ints]:
        held, m = self.machine.jobs[jobs], self.machine
        ptr = np.concatenate([[0], np.cumsum(held["length"])])
        at = np.repeat(held["offset"] - ptr[:-1], held["length"]) + np.arange(ptr[-1])
        return ptr, m.entries["node"][at], m.entries["part"][at]

    # --- what the driver reads ---

    @property
    def now(self) -> int:
        """The last round that was visited."""
        return int(self.count[const.NOW])

    @property
    def rounds(self) -> int:
        """Rounds visited."""
        return int(self.count[const.ROUNDS])

    @property
    def decisions(self) -> int:
        """Rounds at which the policy decided."""
        return int(self.count[const.DECISIONS])

    def fair_at(self, time: int) -> NDArray[np.float64]:
        """F_i of every job: at its completion, or at `time`."""
        fair: NDArray[np.float64] = self.machine.jobs["fair"].copy()
        phase = self.book.phase
        active = np.flatnonzero((phase == const.WAITING) | (phase == const.RUNNING))
        fair[active] = ordered.job_fair(self.machine, active, time)
        return fair

    def segment_columns(self, time: int) -> tuple[Ints, ...]:
        """(job, start, end, ptr, node, gpus); running jobs have a last segment up to `time`."""
        past = self.machine.segments[: self.count[const.SEGMENTS]]
        parts = self.machine.parts[: self.count[const.ENTRIES]]
        jobs = self._list(const.RUNNERS, const.RUNS)
        jobs = jobs[self.book.since[jobs] < time]
        held = [self._held(int(j)) for j in jobs]
        lengths = [np.diff(past["ptr"], append=parts.size), [part.size for part in held]]
        return (
            np.concatenate([past["job"], jobs]),
            np.concatenate([past["start"], self.book.since[jobs]]),
            np.concatenate([past["end"], np.full(jobs.size, time, dtype=np.int64)]),
            np.cumsum(np.concatenate([[0], *lengths]).astype(np.int64)),
            np.concatenate([parts["node"], *(part["node"] for part in held)]),
            np.concatenate([parts["gpus"], *(part["part"] for part in held)]),
        )

    def event_columns(self) -> tuple[Ints, Ints, NDArray[np.int8]]:
        """(time, job, kind)."""
        past = self.machine.events[: self.count[const.EVENTS]]
        return past["time"], past["job"], past["kind"]


def _by_rank(book: Ledger, jobs: Ints) -> Ints:
    out: Ints = jobs[np.argsort(book.rank[jobs], kind="stable")]
    return out


def _check_rule(policy: Policy, rule: Rule) -> None:
    """Refuse a rule that machine code has for another kind of preemption only."""
    if rule.kind is not RuleKind.PYTHON and rule.kind.grouped != (
        policy.preempts is Preempts.LEASE
    ):
        raise ValueError(
            f"policy {policy.name!r}: rule {rule.kind.name} does not go with "
            f"preempts={Preempts(policy.preempts).name}; a policy without rule decides in Python"
        )
