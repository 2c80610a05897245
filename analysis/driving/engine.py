"""The trace driver as machine code.

A policy that names a compiled :class:`~gangsched.solvers.policy.Rule` decides inside; for others
the core returns to Python at each decision. tests/reference_driver.py has the same steps in plain
Python, one method each, and gives the same event log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...instances import Schedule
from ...instances.compiled import entered
from ...solvers.machine import const, ordered
from ...solvers.machine.machine import Machine, new_machine
from ...solvers.machine.tables import Ints, of_rows, to_rows
from ...solvers.policy import (
    Key,
    Policy,
    Preempts,
    Rule,
    Session,
    State,
)
from .decisions import check_decision, give_ps, in_numbers, left_out, withheld
from .past import Past
from .run import Events
from .simulation import Simulation
from .steps import NOTHING, Steps, Written

#: arrays of a machine that a run changes
SAVED = (
    *("count", "params", "numbers", "memory", "jobs", "nodes", "users", "kinds", "gangs", "least"),
    *("entries", "level", "active", "lists"),
)
LAST = 1_000  # of the bases of a class
MOST_IDLE = 2 * 86_400  # seconds for which a policy may leave an empty cluster idle


class Compiled(Simulation):
    """The engine in machine code."""

    def begin(self) -> None:
        """Make the machine."""
        own = getattr(self.policy, "rule", None)  # a session of its own may decide otherwise
        none = self.instance.kind.needs_ps  # no rule gives parameter servers
        none = none or _decides_anew(self.policy) or _decides_anew(self.session)
        rule: Rule | None = None if none else getattr(self.session, "rule", own)
        if rule is not None and rule.able is not None and not rule.able(self.book, self.rules):
            rule = None
        self._make(rule)

    def _make(self, rule: Rule | None) -> None:
        """Make the machine for a rule; Python decides without one."""
        policy, rules, tables = self.policy, self.rules, self.book
        _check_rule(policy, rule)
        params = [
            rules.round_length,
            rules.lease_length,
            rules.synchronous,
            rules.spread,
            -1 if rules.patience is None else rules.patience,
            self.skip,
            Key.NONE if rule is None else rule.key,
            policy.preempts,
            rule is not None and rule.blocking,
            self.asked,
            rule is None,
            rule is not None and rule.by_user,
        ]
        urgent = frozenset(getattr(policy, "urgent", ()))
        tables.jobs["urgency"] = 1
        if urgent:
            tables.jobs["urgency"] = [job.id not in urgent for job in self.instance.jobs]
        self.machine = new_machine(tables, params, rule, elastic=self.instance.kind.elastic)
        self.past = Past()
        self.rule, self.plan = rule, None
        self.ask = getattr(self.session, "next_change", None)
        if rule is None:
            self.steps = Steps(self.instance, tables, rules)
            self.with_ps = self.instance.kind.needs_ps
            self._enter = entered(ordered.advance_to_decision, self.machine, 0, 0)
            like = self.machine, NOTHING, NOTHING, False, False
            self._carry_out = entered(ordered.carry_out, *like)
            return
        if rule.remember is not None:
            self.machine = rule.remember(self.machine, self.session)
        if rule.plan is not None:
            self.plan = rule.plan(tables, rules)
        self._enter = rule.advance

    def save(self) -> dict[str, Any]:
        """Return what has changed since the begin, as plain data."""
        self.past.take(self.machine)
        return {
            **{name: getattr(self.machine, name) for name in SAVED},
            "past": self.past.save(),
            **({} if self.plan is None else {"plan": self.plan._asdict()}),
            "rule": "" if self.rule is None else self.rule.name,
            "ps": to_rows(self.book.ps),
            "idle": self.idle,
            "deciding": self.deciding,
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there, in a run that has just begun."""
        if not data["rule"] and self.rule is not None:  # Python decided until then
            self._make(None)
        elif data["rule"] != ("" if self.rule is None else self.rule.name):
            raise ValueError(f"its rule is {data['rule'] or None!r}")
        if self.plan is not None:
            self.plan = type(self.plan)(**{n: np.array(c) for n, c in data["plan"].items()})
        for name in SAVED:
            own, saved = getattr(self.machine, name), data[name]
            if own.dtype != saved.dtype or own.shape != saved.shape:
                raise ValueError(f"its {name} are not those of this instance")
            own[:] = saved
        _list_ends(self.machine)
        self.past.load(data["past"])
        self.book.ps = of_rows(data["ps"])
        self.idle, self.deciding = data["idle"], data["deciding"]

    def advance(self, until: int | None, most: int) -> bool | None:
        """Visit at most `most` rounds; True when all jobs have finished, False at `until`."""
        if self.rule is None:
            return self._advance_python(until, most)
        while True:
            why = self._advance_core(until, most)
            if why not in (const.ROOM, const.NARROW):
                return {const.DONE: True, const.UNTIL: False}.get(why)

    def _advance_core(self, until: int | None, most: int) -> int:
        seen = (self.machine,) if self.plan is None else (self.machine, self.plan)
        why = self._enter(*seen, const.NONE - 1 if until is None else until, most)
        if why == const.ROOM:
            self.past.take(self.machine)
        elif why == const.NARROW and self.rule is not None and self.rule.longer is not None:
            self.plan = self.rule.longer(self.plan)
        elif why == const.STUCK and self.count[const.FRUITLESS] > const.MOST_FRUITLESS:
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

    def list_waiting(self) -> Ints:
        """Visible jobs that hold nothing, by rank where Python decides."""
        return self.machine.lists[const.WAITERS, : self.count[const.WAITS]].copy()

    def list_running(self) -> Ints:
        """Jobs that hold GPUs, by rank where Python decides."""
        return self.machine.lists[const.RUNNERS, : self.count[const.RUNS]].copy()

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
        aside = withheld(decision, state, self.dedicated, self.policy.name)
        if aside:
            self._change_free(aside, -1)
        if not self._carried_out(None if self.with_ps else self.steps.of(decision)):
            check_decision(decision, state, self.policy.name)  # which says what is wrong
            give_ps(decision.starts, state)
            done = self._carried_out(self.steps.of(in_numbers(decision)))
            assert done, f"bug: {decision} can be carried out"
        if aside:
            self._change_free(aside, 1)
        self._set_timer()

    def _carried_out(self, steps: Written | None) -> bool:
        """Carry out what is written; False, and nothing has changed, where something is wrong."""
        if steps is None:
            return False
        nothing = not (steps[0].size or steps[1].size)
        return nothing or self._carry_out(self.machine, *steps)

    def _change_free(self, gpus: Mapping[int, int], sign: int) -> None:
        """As :func:`.machine.change_free`, for few nodes."""
        nodes, level = self.machine.nodes, self.machine.level
        for n, count in gpus.items():
            kind, free = nodes["kind"][n], nodes["free"][n]
            level[kind, free] -= 1
            level[kind, free + sign * count] += 1
            nodes["free"][n] = free + sign * count
            self.count[const.FREE] += sign * count

    def _set_timer(self) -> None:
        """When the policy may decide otherwise though nothing happens."""
        if self.ask is None:
            change: int | None = self.now + self.rules.round_length
            if self.count[const.RUNS] == 0 and self.count[const.COMING] == self.count[const.ABLE]:
                self.idle += 1
                if self.idle * self.rules.round_length > MOST_IDLE:
                    change = None
        else:
            change = self.ask(self._state())
        if change is not None:
            self.count[const.TIMER] = max(change, self.now + 1)

    def _state(self) -> State:
        seen, coming = self.seen, int(self.count[const.COMING])
        if coming > seen.count:
            seen.arrive(self.machine.lists[const.COMERS, seen.count : coming])
        return State(int(self.count[const.NOW]), self.rules, seen, self)

    # --- what a state shows ---

    def job_fair(self, jobs: Ints, time: int) -> NDArray[np.float64]:
        """F_i of jobs at a time."""
        fair: NDArray[np.float64] = ordered.job_fair(
            self.machine, np.array(jobs, dtype=np.int64), time
        )
        return fair

    def user_fair(self, time: int) -> NDArray[np.float64]:
        """F_j of all users at a time."""
        fair: NDArray[np.float64] = ordered.user_fair(self.machine, time)
        return fair

    def user_share(self) -> NDArray[np.float64]:
        """Fair shares of all users now."""
        share: NDArray[np.float64] = self.machine.users["slope"].copy()
        return share

    def fair_rate(self, jobs: Ints) -> NDArray[np.float64]:
        """Fair shares of jobs now."""
        rate: NDArray[np.float64] = self.machine.kinds["slope"][self.machine.jobs["kind_of"][jobs]]
        return rate

    def mean_active(self, jobs: Ints, time: int) -> NDArray[np.float64]:
        """Mean number of active jobs since each of these came."""
        since, total, count = self.machine.active.tolist()
        life = time - self.book.visible[jobs]
        seen = total + count * (time - since) - self.machine.jobs["active_start"][jobs]
        mean: NDArray[np.float64] = np.where(life > 0, seen / np.maximum(life, 1), float(count))
        return mean

    def nodes_of(self, j: int) -> dict[int, int]:
        """The GPUs that j holds by node."""
        job = self.machine.jobs[j]
        if job["phase"] != const.RUNNING:
            return {}
        held = self.machine.entries[job["offset"] :][: job["length"]]
        return dict(zip(held["node"].tolist(), held["part"].tolist(), strict=True))

    def places(self, jobs: Ints) -> tuple[Ints, Ints, Ints]:
        """What jobs hold: (ptr, node, gpus)."""
        table, entries = self.machine.jobs, self.machine.entries
        length, offset = table["length"][jobs], table["offset"][jobs]  # whole rows would be slow
        ptr = np.zeros(length.size + 1, dtype=np.int64)
        np.cumsum(length, out=ptr[1:])
        at = np.repeat(offset - ptr[:-1], length) + np.arange(ptr[-1])
        return ptr, entries["node"][at], entries["part"][at]

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

    def schedule(self, time: int) -> Schedule:
        """The segments; running jobs have a last one up to `time`."""
        self.past.take(self.machine)
        jobs = self.list_running()
        jobs = jobs[np.argsort(self.book.rank[jobs], kind="stable")]
        jobs = jobs[self.book.since[jobs] < time]
        ptr, node, gpus = self.places(jobs)
        last = jobs, self.book.since[jobs], np.full(jobs.size, time), np.diff(ptr), node, gpus
        return Schedule.of_packed(self.past.with_segments(*last))

    def event_log(self) -> Events:
        """What has happened."""
        self.past.take(self.machine)
        return Events.of_packed({name: own.copy() for name, own in self.past.events.items()})


def _list_ends(machine: Machine) -> None:
    """List when the running jobs end, after others have been written into a machine."""
    running = np.flatnonzero(machine.jobs["phase"] == const.RUNNING)
    machine.ends[const.TIMES, : running.size] = machine.jobs["finish"][running]
    machine.ends[const.ENDERS, : running.size] = running
    machine.ends[const.PLACES, running] = np.arange(running.size)


def _decides_anew(thing: Policy | Session) -> bool:
    """Whether a subclass decides otherwise than the class that has the rule."""
    place = {
        name: k for k, base in reversed([*enumerate(type(thing).__mro__)]) for name in vars(base)
    }
    return min(place.get("decide", LAST), place.get("begin", LAST)) < place.get("rule", -1)


def _check_rule(policy: Policy, rule: Rule | None) -> None:
    """Refuse a rule that machine code has for another kind of preemption only."""
    if rule is not None and rule.leases != (policy.preempts is Preempts.LEASE):
        raise ValueError(
            f"policy {policy.name!r}: rule {rule.name!r} does not go with "
            f"preempts={Preempts(policy.preempts).name}; a policy without rule decides in Python"
        )
