"""The trace driver in plain Python: the readable reference of the compiled one.

One method per step of a round, in the order in which the steps happen. Both engines give the same
event log for the same input; this one is for reading and for tests, and costs O(jobs) a round.
`drive` runs either.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gangsched.analysis.driving import drive as driver
from gangsched.analysis.driving.decisions import (
    check_decision,
    give_ps,
    left_out,
    withheld,
)
from gangsched.analysis.driving.run import EventKind, Events, Run
from gangsched.analysis.driving.simulation import Simulation
from gangsched.formulations.fair_shares import FairShares
from gangsched.instances import Schedule, Segment
from gangsched.instances.model import FULL_SPEED
from gangsched.solvers.machine.const import MOST_FRUITLESS
from gangsched.solvers.machine.tables import Ints, of_rows, to_rows
from gangsched.solvers.placement import place_by_speed
from gangsched.solvers.policy import Decision, Phase, Preempts, Start, State

Nodes = dict[int, int]


@contextmanager
def by(engine: str) -> Iterator[None]:
    """Let the trace driver have this engine: "compiled", or "reference"."""
    with pytest.MonkeyPatch.context() as patch:
        if engine == "reference":
            patch.setattr(driver, "ENGINE", Reference)
        yield


def drive(instance: Any, policy: Any, *, engine: str = "compiled", **how: Any) -> Run:
    """Drive a policy by an engine."""
    with by(engine):
        return driver.drive(instance, policy, **how)


#: what a checkpoint holds as it is
PLAIN = (
    *("coming", "waiting", "running", "fair", "events", "active", "active_start", "now"),
    *("rounds", "decisions", "idle", "fruitless", "deciding"),
)


@dataclass
class _Selection:
    """What becomes of an order of jobs in one round."""

    order: list[int]
    waiting: list[int]  # selected, and need nodes
    keep: list[int]  # selected, and run: they have theirs
    old: dict[int, Nodes]  # of open jobs that do not keep them
    opened: bool  # whether there are open jobs
    placed: dict[int, Nodes] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)  # selected, but without a place


class Reference(Simulation):
    """The engine in plain Python."""

    rule = None

    def begin(self) -> None:
        """Set everything to its state before the first round."""
        instance, tables = self.instance, self.book
        weights = [user.weight for user in instance.users] or [1.0]
        self.shares = FairShares(instance.cluster.gpus, weights, by="demand")
        able = np.flatnonzero(tables.phase != Phase.REJECTED)
        self.coming = [int(j) for j in able[np.lexsort((tables.rank[able], tables.visible[able]))]]
        number = {job.id: j for j, job in enumerate(instance.jobs)}
        every = [[number[id] for id in job.after] for job in instance.jobs]
        self.after = [self._kept(every, j) for j in range(len(every))] if any(every) else []
        self.waiting: list[int] = []  # by rank
        self.running: list[int] = []  # by rank
        self.held: dict[int, Nodes] = {}
        self.last: dict[int, Nodes] = {}  # what jobs that hold nothing held last
        self.fair = np.zeros(len(instance.jobs))
        self.events: list[tuple[int, int, int]] = []
        self.segments: list[tuple[int, int, int, Nodes]] = []
        self.active = [0, 0, 0]  # time, job seconds until then, jobs active now
        self.active_start = np.zeros(len(instance.jobs), dtype=np.int64)
        self.now, self.rounds, self.decisions = -1, 0, 0
        self.fruitless = 0  # segments that ended without progress since something went on

    def _kept(self, every: list[list[int]], j: int) -> set[int]:
        """Whom j waits for; rejected jobs stand for those that they wait for."""
        found: set[int] = set()
        for i in every[j]:
            rejected = self.book.phase[i] == Phase.REJECTED
            found |= self._kept(every, i) if rejected else {i}
        return found

    def _comes(self, j: int) -> int | None:
        """When j is released; None as long as it waits for others."""
        ends = [int(self.book.end[i]) for i in self.after[j]] if self.after else []
        return None if -1 in ends else max([self.instance.jobs[j].release, *ends])

    # --- checkpoints ---

    def save(self) -> dict[str, Any]:
        """Return what has changed since the begin, as plain data."""
        book = self.book
        return {
            **{name: getattr(self, name) for name in PLAIN},
            "book": [book.jobs, book.nodes, book.users],
            "held": to_rows(self.held),
            "last": to_rows(self.last),
            "segments": [[*row[:3], [[n, g] for n, g in row[3].items()]] for row in self.segments],
            "ps": to_rows(book.ps),
            "shares": self.shares.save(),
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there, in a run that has just begun."""
        book = self.book
        for own, saved in zip((book.jobs, book.nodes, book.users), data["book"], strict=True):
            if own.dtype != saved.dtype or own.shape != saved.shape:
                raise ValueError("its records are not those of this instance")
            own[:] = saved
        for name in PLAIN:
            setattr(self, name, data[name])
        self.events = [(time, job, kind) for time, job, kind in data["events"]]
        self.held, self.last = of_rows(data["held"]), of_rows(data["last"])
        self.segments = [(j, start, end, dict(nodes)) for j, start, end, nodes in data["segments"]]
        book.ps = of_rows(data["ps"])
        self.shares.load(data["shares"])
        come = np.flatnonzero((book.phase != Phase.UNSEEN) & (book.phase != Phase.REJECTED))
        self.seen.arrive(come[np.argsort(book.rank[come])])

    # --- the rounds ---

    def advance(self, until: int | None, most: int) -> bool | None:
        """Visit at most `most` rounds; True when all jobs have finished, False at `until`."""
        if self.deciding:
            self._decide()
        for _ in range(most):
            time = self._next_round()
            if time is None:
                return True
            if until is not None and time > until:
                return False
            self._visit(time)
        return None

    def _next_round(self) -> int | None:
        """The next round that can change anything, or simply the next one."""
        if not (self.coming or self.running) and (
            not self.waiting or left_out(self.session, self._state())
        ):
            return None
        if self.fruitless > MOST_FRUITLESS:
            raise RuntimeError(
                f"policy {self.policy.name!r} lets {self.fruitless:,} segments in a row end "
                "without progress"
            )
        if self.now < 0:
            return 0 if not self.skip else self._next_release()
        if not self.skip:
            return self.now + self.rules.round_length
        times = [self.rules.round_up(self._finish(j)) for j in self.running]
        times.append(self._next_release())
        if self._is_asked():
            times += self._changes()
        times = [time for time in times if time > self.now]
        if not times:
            raise RuntimeError(
                f"policy {self.policy.name!r} leaves {len(self.waiting)} jobs waiting for ever"
            )
        return min(times)

    def _next_release(self) -> int:
        """The next round at which a job can come by itself; -1 if none is to come."""
        if not self.after:
            return int(self.book.visible[self.coming[0]]) if self.coming else -1
        rounds = [self.rules.round_up(self.instance.jobs[j].release) for j in self.coming]
        return min((time for time in rounds if time > self.now), default=-1)

    def _is_asked(self) -> bool:
        return bool(self.waiting or (self.asked and self.running))

    def _changes(self) -> list[int]:
        """Rounds at which a decision can differ though no job arrives or completes."""
        times: list[int] = []
        preempts = self.policy.preempts
        if preempts is Preempts.LEASE:
            times += [self._lease_end(j) for j in self.running]
        if preempts is Preempts.ALWAYS and self.rules.patience is not None:
            blocked = [int(self.book.blocked[j]) for j in self.waiting]
            after = max(1, self.rules.patience)
            times += [self.rules.round_up(b + after) for b in blocked if b >= 0]
        ask: Callable[[State], int | None] | None = getattr(self.session, "next_change", None)
        change = self.now + self.rules.round_length if ask is None else ask(self._state())
        if change is not None:
            times.append(self.rules.round_up(max(change, self.now + 1)))
        if ask is None and not self.running and not self.coming:
            self.idle += 1
            if self.idle * self.rules.round_length > 2 * 86_400:
                return []
        return times

    def _lease_end(self, job: int) -> int:
        """The end of a lease that is renewed silently while nobody waits."""
        end, length = int(self.book.lease_end[job]), self.rules.lease_length
        return end if end > self.now else end + ((self.now - end) // length + 1) * length

    def _visit(self, time: int) -> None:
        self.now = time
        self.rounds += 1
        self._complete()
        self._arrive()
        if self._is_asked():
            if self.policy.preempts is Preempts.LEASE:
                self._renew_silently()
            self.decisions += 1
            self._decide()

    def _decide(self) -> None:
        self.deciding = True
        decision = self.session.decide(self._state())
        self.deciding = False
        aside = withheld(decision, self._state(), self.dedicated, self.policy.name)
        self._take(aside)
        self._execute(decision)
        self._give(aside)

    def _complete(self) -> None:
        """Completions since the last round, at their exact times, and profiling that ends."""
        done = sorted((self._finish(j), j) for j in self.running if self._finish(j) <= self.now)
        book = self.book
        for time, j in done:  # before anyone's share changes
            self.fair[j] = self._job_fair(j, time)
        for time, j in done:
            self._give(self.held[j])
            if not book.speed[j]:
                self._stop(j, time, EventKind.PROFILED)
                self._wait(j, fruitful=False)
                book.profiled[j] += 1
                continue
            self._stop(j, time, EventKind.FINISH)
            self.fruitless = 0
            book.left[j], book.end[j], book.phase[j] = 0, time, Phase.FINISHED
            self.shares.depart(self.now, *self._kind(j))
            self._count_active(-1)

    def _arrive(self) -> None:
        book, new = self.book, []
        for j in self.coming:
            if self.book.visible[j] > self.now and not self.after:
                break  # by when they are visible
            time = self._comes(j)
            if time is not None and time <= self.now:
                new.append(j)
                book.release[j], book.visible[j] = time, self.now
        new.sort(key=lambda j: (int(book.release[j]), j))
        if new:
            gone = set(new)
            self.coming = [j for j in self.coming if j not in gone]
        if self.after:
            come = int(np.count_nonzero(book.visible <= self.now)) - len(new)
            book.rank[new] = np.arange(come, come + len(new))
        self.seen.arrive(np.array(new, dtype=np.int64))
        for j in new:
            self.shares.arrive(self.now, *self._kind(j))
            self._count_active(1)
            self._log(EventKind.VISIBLE, j, self.now)
            self._wait(j, fruitful=True)
        for j in new:  # after all of them count
            self.active_start[j] = self.active[1]
            book.fair_start[j] = self.shares.job_time(*self._kind(j), self.now)
            share = self.shares.job_share(*self._kind(j))
            book.fair_before[j] = share * float(self.now - book.release[j])
        self._sort()

    def _count_active(self, by: int) -> None:
        since, total, count = self.active
        self.active = [self.now, total + count * (self.now - since), count + by]

    def _mean_active(self, j: int, time: int) -> float:
        since, total, count = self.active
        life = time - int(self.book.visible[j])
        if life == 0:
            return float(count)
        return (total + count * (time - since) - int(self.active_start[j])) / life

    def _renew_silently(self) -> None:
        length = self.rules.lease_length
        for j in self.running:
            late = self.now - int(self.book.lease_end[j])
            if late > 0:
                self.book.lease_end[j] += -(-late // length) * length

    # --- decisions ---

    def _execute(self, decision: Decision) -> None:
        state = self._state()
        check_decision(decision, state, self.policy.name)
        if state.preemptible.size:
            for j in decision.passed:
                if self.book.blocked[j] < 0:
                    self.book.blocked[j] = self.now
        self._stop_and_start(decision, state)
        self._sort()
        if len(decision.order):
            self._follow([int(j) for j in decision.order], decision)
        self._sort()

    def _stop_and_start(self, decision: Decision, state: State) -> None:
        """Who is suspended and gets the very GPUs that it had goes on: that is a renewal."""
        suspended, killed = ([int(j) for j in jobs] for jobs in (decision.suspend, decision.kill))
        for j in [*suspended, *killed]:
            self._give(self.held[j])
        begun: dict[int, tuple[Nodes, int]] = {}  # and for how long it is profiled
        for start in decision.starts:
            nodes = self._nodes_for(start, state)
            if nodes is not None:
                self._take(nodes)
                begun[int(start.job)] = nodes, int(start.profile)
        give_ps(decision.starts, state)
        for j in suspended:
            if begun.get(j) == (self.held[j], 0):
                del begun[j]
                self.book.blocked[j] = -1
                if self.policy.preempts is Preempts.LEASE:
                    self.book.lease_end[j] = self.rules.lease_end(self.now)
            else:
                self._suspend(j, EventKind.SUSPEND)
        for j in killed:
            self._suspend(j, EventKind.KILL)
        for j, (nodes, profile) in begun.items():
            if profile:
                self._profile(j, nodes, profile)
            else:
                self._start(j, nodes)

    def _nodes_for(self, start: Start, state: State) -> Nodes | None:
        if start.nodes is None:
            return self._place(start.job, start.number(int(self.book.gpus[start.job])))
        return {int(n): int(g) for n, g in start.nodes.items()}

    def _follow(self, order: list[int], decision: Decision) -> None:
        """From an order of jobs to their next segments."""
        step = self._select(order, decision.blocking)
        for nodes in step.old.values():
            self._give(nodes)
        if not (decision.repacking and self._repack(step)):
            self._place_selected(step, decision.blocking)
        if not decision.blocking:
            self._backfill(step)
        self._settle(step)

    def _select(self, order: list[int], blocking: bool) -> _Selection:
        """Select who fits by number of GPUs, of those that are free or of open jobs."""
        gpus = self.book.gpus.copy()
        gpus[self.running] = self.book.held_gpus[self.running]  # which they would keep
        opened = {int(j) for j in self._state().preemptible} & set(order)
        room = int(self.book.free.sum()) + sum(int(gpus[j]) for j in opened)
        selected = []
        for j in order:
            if gpus[j] <= room:
                selected.append(j)
                room -= int(gpus[j])
            elif blocking:
                break
        keep = [j for j in selected if j in opened]
        old = {j: self.held[j] for j in order if j in opened and j not in keep}
        return _Selection(order, [j for j in selected if j not in opened], keep, old, bool(opened))

    def _place_selected(self, step: _Selection, blocking: bool) -> None:
        """Give nodes to the selected jobs that wait, in the order."""
        for j in step.waiting:
            nodes, displaced = self._place(j), False
            if nodes is None and step.opened and self._due(j):
                nodes = self._displace(j, step)
                displaced = nodes is not None
            if nodes is not None:
                self._take(nodes)
                step.placed[j] = nodes
                if displaced:
                    self._place_failed(step)
                continue
            step.failed.add(j)
            if step.opened and self.book.blocked[j] < 0:
                self.book.blocked[j] = self.now
            if blocking:
                break

    def _repack(self, step: _Selection) -> bool:
        """Give nodes to all selected jobs, the widest first; False, and nothing, if that fails."""
        step.opened = True  # whoever finds no place is passed over, also where nobody runs
        for j in step.keep:
            self._give(self.held[j])
        placed, failed = self._packed(step)
        nobody_lost = not failed.intersection(step.keep)
        done = nobody_lost and not any(self._due(j) for j in failed)
        for j in step.keep:
            if not done or placed[j] == self.held[j]:
                self._take(self.held[j])
        if not done:
            return False
        for j, nodes in placed.items():
            if nodes == self.held.get(j):
                continue
            self._take(nodes)
            step.placed[j] = nodes
            if j in step.keep:
                step.keep.remove(j)
                step.old[j] = self.held[j]
        for j in failed:
            step.failed.add(j)
            if self.book.blocked[j] < 0:
                self.book.blocked[j] = self.now
        return True

    def _packed(self, step: _Selection) -> tuple[dict[int, Nodes], set[int]]:
        """Nodes for all selected jobs, the widest first, and who finds none.

        In each width first those whose nodes are free, then others that run, then those that wait.
        """
        free, book = self.book.free.tolist(), self.book
        wanted = [0] * len(free)  # by running jobs that have no nodes yet
        for j in step.keep:
            for n, g in self.held[j].items():
                wanted[n] += g
        width = {j: int(book.held_gpus[j] or book.gpus[j]) for j in step.keep + step.waiting}
        placed: dict[int, Nodes] = {}

        def change(counts: list[int], nodes: Nodes) -> None:
            for n, g in nodes.items():
                counts[n] -= g

        for gang in sorted(set(width.values()), reverse=True):
            for j in step.keep:
                if width[j] == gang and all(free[n] >= g for n, g in self.held[j].items()):
                    placed[j] = self.held[j]
                    change(wanted, placed[j])
                    change(free, placed[j])
            for j in step.keep + step.waiting:
                if width[j] == gang and j not in placed:
                    change(wanted, self.held.get(j, {}))
                    nodes = self._place(j, free=free, wanted=wanted)
                    if nodes is not None:
                        placed[j] = nodes
                        change(free, nodes)
        return placed, width.keys() - placed.keys()

    def _place_failed(self, step: _Selection) -> None:
        """Give nodes to those before: who was displaced may have left room."""
        for j in [j for j in step.waiting if j in step.failed]:
            nodes = self._place(j)
            if nodes is not None:
                self._take(nodes)
                step.placed[j] = nodes
                step.failed.remove(j)

    def _due(self, j: int) -> bool:
        blocked, patience = int(self.book.blocked[j]), self.rules.patience
        return patience is not None and blocked >= 0 and self.now - blocked >= patience

    def _displace(self, j: int, step: _Selection) -> Nodes | None:
        """Make room for j among GPUs that jobs later in the order would keep, the last one first.

        Those that still fit on their nodes beside it keep them, the more important ones first.
        """
        turn = {k: i for i, k in enumerate(step.order)}
        gone: list[int] = []
        nodes = None
        for k in reversed([k for k in step.keep if turn[k] > turn[j]]):
            self._give(self.held[k])
            gone.append(k)
            nodes = self._place(j)
            if nodes is not None:
                break
        if nodes is not None:
            self._take(nodes)
        for k in reversed(gone):
            if nodes is None or self._fits(self.held[k]):
                self._take(self.held[k])
            else:
                step.old[k] = self.held[k]
                step.keep.remove(k)
                self.book.blocked[k] = self.now  # it is selected, and finds no place
        if nodes is not None:
            self._give(nodes)
        return nodes

    def _backfill(self, step: _Selection) -> None:
        """Let all others in the order take the room that is left, on their old nodes or others."""
        for j in step.order:
            if j in step.placed or j in step.keep or j in step.failed:
                continue
            nodes = step.old.get(j)
            if nodes is None or not self._fits(nodes):
                nodes = self._place(j)
            if nodes is not None:
                self._take(nodes)
                step.placed[j] = nodes

    def _settle(self, step: _Selection) -> None:
        """Suspension is decided only now: the same nodes as before are a renewal."""
        for j in step.order:
            if j in step.old and step.placed.get(j) != step.old[j]:
                self._suspend(j, EventKind.SUSPEND)
        for j, nodes in step.placed.items():
            if nodes != step.old.get(j):
                self._start(j, nodes)
            self.book.blocked[j] = -1
        if self.policy.preempts is Preempts.LEASE:
            for j in self.running:
                if self.book.lease_end[j] <= self.now:  # renewed, or not named by the policy
                    self.book.lease_end[j] = self.rules.lease_end(self.now)

    # --- jobs and nodes ---

    def _place(
        self,
        j: int,
        gpus: int | None = None,
        *,
        free: list[int] | None = None,
        wanted: list[int] | None = None,
    ) -> Nodes | None:
        book = self.book
        number = int(book.gpus[j]) if gpus is None else gpus
        columns = (c.tolist() for c in (book.sizes, book.node_model, book.speeds[j]))
        room = book.free.tolist() if free is None else free
        return place_by_speed(
            number, room, *columns, spread=self.rules.spread, wanted=wanted, pod=int(book.pod[j])
        )

    def _fits(self, nodes: Nodes) -> bool:
        return all(self.book.free[n] >= g for n, g in nodes.items())

    def _take(self, nodes: Nodes) -> None:
        for n, g in nodes.items():
            self.book.free[n] -= g

    def _give(self, nodes: Nodes) -> None:
        for n, g in nodes.items():
            self.book.free[n] += g

    def _finish(self, j: int) -> int:
        """When j completes, or has been profiled."""
        book, speed = self.book, int(self.book.speed[j])
        if not speed:
            return int(book.lease_end[j])
        seconds = -(-int(book.left[j]) * FULL_SPEED // speed)
        return int(book.since[j] + book.delay[j]) + seconds

    def _done(self, j: int, time: int) -> int:
        """Seconds of service that j got until `time` in its segment."""
        seconds = max(0, time - int(self.book.since[j]) - int(self.book.delay[j]))
        return seconds * int(self.book.speed[j]) // FULL_SPEED

    def _start(self, j: int, nodes: Nodes) -> None:
        """Give j the GPUs of `nodes`, which are already taken from the free ones."""
        book, gpus = self.book, sum(nodes.values())
        size = max(int(book.sizes[n]) for n in nodes)
        on_model = int(book.speeds[j, book.node_model[next(iter(nodes))]])
        book.speed[j] = self.instance.jobs[j].speed_on(gpus, len(nodes), size, on_model)
        book.delay[j] = 0
        if book.starts[j]:
            in_place = nodes == self.last[j]
            book.delay[j] = book.overhead[j] if in_place else book.migration[j]
        book.lease_end[j] = self.rules.lease_end(self.now)
        book.starts[j] += 1
        self._hold(j, nodes, EventKind.START)

    def _profile(self, j: int, nodes: Nodes, seconds: int) -> None:
        self.book.delay[j] = 0
        self.book.lease_end[j] = self.now + seconds
        self._hold(j, nodes, EventKind.PROFILE)

    def _hold(self, j: int, nodes: Nodes, kind: EventKind) -> None:
        book, gpus = self.book, sum(nodes.values())
        book.phase[j], book.since[j], book.held_gpus[j] = Phase.RUNNING, self.now, gpus
        book.blocked[j] = -1
        if book.first[j] < 0:
            book.first[j] = self.now
        book.user_rate[book.user[j]] += gpus
        book.user_base[book.user[j]] -= gpus * self.now
        self.held[j] = nodes
        self.waiting.remove(j)
        self.running.append(j)
        self._log(kind, j, self.now)

    def _stop(self, j: int, time: int, kind: EventKind) -> None:
        book = self.book
        nodes = self.last[j] = self.held.pop(j)
        self.segments.append((j, int(book.since[j]), time, nodes))
        gpus = int(book.held_gpus[j])
        book.held[j] += gpus * (time - book.since[j])
        book.user_rate[book.user[j]] -= gpus
        book.user_base[book.user[j]] += gpus * time
        book.held_gpus[j] = book.speed[j] = 0
        self.running.remove(j)
        self._log(kind, j, time)

    def _suspend(self, j: int, kind: EventKind) -> None:
        """Stop j, which gave its GPUs, at this round; what it did in its overhead is lost."""
        until = self.now if kind is EventKind.SUSPEND else self._lease_start(j)
        done = self._done(j, until)
        self.book.left[j] -= done
        self._stop(j, self.now, kind)
        self._wait(j, fruitful=done > 0)

    def _wait(self, j: int, *, fruitful: bool) -> None:
        self.book.phase[j], self.book.since[j] = Phase.WAITING, self.now
        self.waiting.append(j)
        self.fruitless = 0 if fruitful else self.fruitless + 1

    def _lease_start(self, j: int) -> int:
        """The last lease boundary until now, or the start of the segment."""
        since, length = int(self.book.since[j]), self.rules.lease_length
        if self.rules.synchronous:
            return max(since, self.now // length * length)
        return since + (self.now - since) // length * length

    # --- what a policy sees ---

    def _state(self) -> State:
        return State(self.now, self.rules, self.seen, self)

    def list_waiting(self) -> Ints:
        """Visible jobs that hold nothing, by rank."""
        return np.array(self.waiting, dtype=np.int64)

    def list_running(self) -> Ints:
        """Jobs that hold GPUs, by rank."""
        return np.array(self.running, dtype=np.int64)

    def nodes_of(self, j: int) -> Nodes:
        """The GPUs that j holds by node."""
        return dict(self.held.get(j, {}))

    def job_fair(self, jobs: Ints, time: int) -> NDArray[np.float64]:
        """F_i of jobs at a time."""
        return np.array([self._job_fair(int(j), time) for j in jobs])

    def user_fair(self, time: int) -> NDArray[np.float64]:
        """F_j of all users at a time."""
        return np.array([self.shares.user_time(u, time) for u in range(self.book.users.size)])

    def user_share(self) -> NDArray[np.float64]:
        """Fair shares of all users now."""
        return np.array([self.shares.share(u) for u in range(self.book.users.size)])

    def fair_rate(self, jobs: Ints) -> NDArray[np.float64]:
        """Fair shares of jobs now."""
        return np.array([self.shares.job_share(*self._kind(j)) for j in jobs])

    def mean_active(self, jobs: Ints, time: int) -> NDArray[np.float64]:
        """Mean number of active jobs since each of these came."""
        return np.array([self._mean_active(int(j), time) for j in jobs])

    def places(self, jobs: Ints) -> tuple[Ints, Ints, Ints]:
        """What jobs hold: (ptr, node, gpus)."""
        held = [self.held[int(j)] for j in jobs]
        return (
            np.cumsum([0, *map(len, held)], dtype=np.int64),
            np.array([n for own in held for n in own], dtype=np.int64),
            np.array([g for own in held for g in own.values()], dtype=np.int64),
        )

    def _kind(self, j: int) -> tuple[int, int, float]:
        """What a job's share depends on: its user, its gang and its weight."""
        book = self.book
        return int(book.user[j]), int(book.gpus[j]), float(book.weight[j])

    def _job_fair(self, j: int, time: int) -> float:
        return self.shares.job_time(*self._kind(j), time) - float(self.book.fair_start[j])

    def _sort(self) -> None:
        self.waiting.sort(key=lambda j: int(self.book.rank[j]))
        self.running.sort(key=lambda j: int(self.book.rank[j]))

    def _log(self, kind: EventKind, j: int, time: int) -> None:
        self.events.append((time, j, int(kind)))

    # --- what the driver reads ---

    def fair_at(self, time: int) -> NDArray[np.float64]:
        """F_i of every job: at its completion, or at `time`."""
        fair = self.fair.copy()
        for j in [*self.waiting, *self.running]:
            fair[j] = self._job_fair(j, time)
        return fair

    def schedule(self, time: int) -> Schedule:
        """The segments; running jobs have a last one up to `time`."""
        last = [(j, int(self.book.since[j]), time, self.held[j]) for j in self.running]
        rows = [*self.segments, *(row for row in last if row[1] < time)]
        return Schedule.of(Segment(*row) for row in rows)

    def event_log(self) -> Events:
        """What has happened."""
        table = np.array(self.events, dtype=np.int64).reshape(-1, 3)
        return Events(table[:, 0], table[:, 1], table[:, 2])  # type: ignore[arg-type]
