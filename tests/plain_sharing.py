"""The decisions of Gandiva_fair in plain Python, with which its machine code agrees bit for bit.

Each method is a step of the paper and names its section; how they follow one another is in
:meth:`PlainSharing.decide`.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gangsched.instances.model import FULL_SPEED
from gangsched.solvers.gandiva_fair.sharing import Columns, Models, SharingLimits, Start
from gangsched.solvers.gandiva_fair.stride import STEPS, StridePool
from gangsched.solvers.policy import Floats, Ints

#: GPUs of a model that a user with jobs there has at least
LEAST_SHARE = 1e-3
#: measurements that an average forgets after
MEMORY = 10
#: steps in one, to which gains and speeds are compared, so that rounding breaks no ties
FINE = 1e9
#: a user whose tickets per GPU are below this has jobs that take turns
TURNS = 1 - 1e-9
#: a model, and the GPUs on each of its nodes
Place = tuple[int, dict[int, int]]


class KnownJob(NamedTuple):
    """A job that has come; `kind` are a user's jobs of one group, `able` models it can run on."""

    user: int
    gang: int
    rank: int
    weight: float
    kind: int
    able: tuple[int, ...]


def tickets_by_demand(tickets: Floats, demand: Ints, gpus: float) -> Floats:
    """Return the GPUs that tickets are worth (Section 3.2), of users with a demand.

    In proportion to tickets, at most what a user demands: who asks for less than its share gets
    what it asks for, and the others share what is left, until nobody does.

    Examples
    --------
    >>> tickets_by_demand(np.array([4.0, 4, 4]), np.array([4, 4, 2]), 8.0).tolist()
    [3.0, 3.0, 2.0]
    """
    there = [u for u in range(demand.size) if demand[u] > 0]
    found = np.zeros(demand.size)
    found[there] = demand[there]
    if demand.sum() <= gpus:
        return found
    room, total, short, before = gpus, 0.0, there, 0
    for u in there:
        total += tickets[u]
    while len(short) != before:
        level, before, left = room / total, len(short), []
        for u in short:
            if demand[u] <= level * tickets[u]:
                room -= demand[u]
                total -= tickets[u]
            else:
                left.append(u)
        short = left
    for u in short:
        found[u] = level * tickets[u]
    return found


def turn(value: float, steps: float = FINE) -> float:
    """A number as it is compared."""
    return math.floor(value * steps + 0.5)


class PlainPool(StridePool):
    """Nodes of one model, with what happens to their jobs within quanta and between nodes."""

    def move(self, job: int, server: int, now: int) -> None:
        """Let a job share another node than its only one until now."""
        old = self.claims[job]
        self.remove(job)
        self._add(job, replace(old, servers=(server,)), now)

    def left(self) -> Ints:
        """Return how many GPUs of each node would be free if all its jobs ran."""
        return np.asarray(self.sizes - self.gpus.sum(axis=1))

    def passes(self) -> tuple[dict[int, float], dict[int, float]]:
        """Return the passes of jobs, and of nodes with jobs of their own."""
        wide = {number: value for (is_job, number), value in self._central.items() if is_job}
        servers = {number: value for (is_job, number), value in self._central.items() if not is_job}
        return self._value | wide, servers

    def fill(
        self, free: ArrayLike, running: Collection[int], strides: ArrayLike, part: float
    ) -> set[int]:
        """Return the jobs that begin now, in the middle of a quantum, on what is free.

        By rising pass: jobs of several nodes where nobody runs, others where they find room.
        Right after :meth:`quantum` nobody can begin.
        """
        room, own = np.array(free, dtype=np.int64), self._checked(strides)
        begin: set[int] = set()
        for is_job, number in self._in_turn(self._central, own):
            if not is_job:
                begun = self._share(number, int(room[number]), own, part, running)
                room[number] -= sum(self.claims[job].gang for job in begun)
                begin.update(begun)
            elif number not in running:
                nodes = self._nodes[number]
                if all(room[n] == self.sizes[n] for n in nodes):
                    for n, count in nodes.items():
                        room[n] -= count
                    self._central[True, number] += part * self._stride(number, own)
                    begin.add(number)
        return begin

    def forgive(self, strides: ArrayLike) -> None:
        """Let nobody owe more than a stride: cut passes that are further above the least.

        Where strides have changed, passes from before say little: a job that ran on what was left
        over, of a user without tickets there, would wait for ever once its user has some.
        """
        own = self._checked(strides)
        for local in self._local:
            least = min((self._value[job] for job in local), default=0.0)
            for job in local:
                self._value[job] = min(self._value[job], least + self._stride(job, own))
        least = min(self._central.values(), default=0.0)
        for entry, value in self._central.items():
            self._central[entry] = min(value, least + self._aggregate(entry, own)[0])


class PlainSharing:
    """Who is where, what is known of speeds, and who runs: models and nodes are numbers.

    Parameters
    ----------
    sizes, nodes : sequence of sequences of int
        GPUs of the nodes of each model, from the slowest to the newest model, and their numbers
        in the cluster.
    quota : (users,) float array
        GPUs in proportion to tickets.
    limits : SharingLimits
    """

    def __init__(
        self,
        sizes: Sequence[Sequence[int]],
        nodes: Sequence[Sequence[int]],
        quota: Floats,
        limits: SharingLimits,
    ) -> None:
        self.nodes, self.quota, self.limits, users = nodes, quota, limits, quota.size
        self.pools = [
            PlainPool(own, users, debt_cap=limits.debt_cap, normalised=limits.normalised)
            for own in sizes
        ]
        self.gpus = np.array([sum(own) for own in sizes], dtype=np.float64)
        self.models = range(len(sizes))
        self.jobs: dict[int, KnownJob] = {}
        self.at: dict[int, int] = {}  # the model of each job's home
        self.place: dict[int, Place] = {}  # of those that run
        self.active: list[int] = []  # by rank those that wait, then those that run
        self.shares = np.zeros((users, len(sizes)))
        self.worth = np.zeros(users)
        self._mean: dict[int, Floats] = {}
        self._count: dict[int, Ints] = {}

    # --- what has happened ---

    def meet(self, new: Ints, columns: Columns, kinds: Sequence[int], able: Models) -> None:
        """Take note of jobs that have come, with what is known of all, and of each of these."""
        known = zip(*(own[new].tolist() for own in columns), kinds, able, strict=True)
        self.jobs |= zip(new.tolist(), map(KnownJob._make, known), strict=True)

    @property
    def known(self) -> int:
        """How many jobs have come."""
        return len(self.jobs)

    def open(self, waiting: Ints, running: Ints, ran: Ints, speed: Ints) -> None:
        """Forget jobs that have ended, profile those that `ran`, count tickets (3.2)."""
        self.active = [*waiting.tolist(), *running.tolist()]
        for job in sorted(set(self.at) - set(self.active)):
            self.pools[self.at.pop(job)].remove(job)
            self.place.pop(job, None)
        for job, one in zip(ran.tolist(), speed.tolist(), strict=True):
            self._measure(self.jobs[job].kind, self.place[job][0], one / FULL_SPEED)
        demand = np.zeros(self.quota.size, dtype=np.int64)
        for job in self.active:
            demand[self.jobs[job].user] += self.jobs[job].gang
        self.worth = tickets_by_demand(self.quota, demand, float(self.gpus.sum()))
        if len(self.pools) == 1:
            self.shares = self.worth[:, None]

    def _measure(self, kind: int, model: int, speed: float) -> None:
        """Section 3.5, Profiling: the average of the most recent statistics."""
        mean = self._mean.setdefault(kind, np.full(len(self.models), np.nan))
        count = self._count.setdefault(kind, np.zeros(len(self.models), dtype=np.int64))
        if not count[model]:
            mean[model] = speed
        count[model] = min(count[model] + 1, MEMORY)
        mean[model] += (speed - mean[model]) / count[model]

    def _speed(self, kind: int, model: int) -> float:
        """What is known of a speed, or nan."""
        mean = float(self._mean[kind][model]) if kind in self._mean else math.nan
        return mean if math.isnan(mean) else turn(mean) / FINE

    def user_speeds(self) -> tuple[Floats, Floats]:
        """Return each user's mean speeds on the models, nan where unknown, and its demand."""
        total, demand = np.zeros(self.shares.shape), np.zeros(self.worth.size)
        for job in self.active:
            known = self.jobs[job]
            demand[known.user] += known.gang
            bound = len(known.able) < len(self.models)  # such users do not trade
            for g in self.models:
                one = math.nan if bound else self._speed(known.kind, g)
                total[known.user, g] += known.gang * one
        for u in range(demand.size):
            for g in self.models:
                total[u, g] = turn_or_nan(total[u, g] / demand[u]) if demand[u] else math.nan
        return total, demand

    # --- tickets ---

    def set_shares(self, shares: Floats) -> None:
        """Let users own these GPUs of each model."""
        changed = not np.array_equal(shares, self.shares)
        self.shares = shares
        if changed and len(self.pools) > 1:
            for g in self.models:
                self.pools[g].forgive(self._strides(g))

    def _tickets(self, model: int, user: int = 0, more: int = 0) -> tuple[Floats, Ints]:
        """Effective tickets on a model, where a user asks for `more` GPUs, and what all ask for."""
        demand = self.pools[model].demand.copy()
        demand[user] += more
        if len(self.pools) == 1:
            return np.where(demand > 0, self.shares[:, 0], 0.0), demand
        owned = np.maximum(self.shares[:, model], LEAST_SHARE)
        return tickets_by_demand(owned, demand, float(self.gpus[model])), demand

    def _per_gpu(self, model: int, user: int = 0, more: int = 0) -> Floats:
        """Tickets per GPU, equation (1)."""
        tickets, demand = self._tickets(model, user, more)
        return np.divide(tickets, demand, out=np.zeros_like(tickets), where=demand > 0)

    def _strides(self, model: int) -> Floats:
        """GPUs over tickets of each user's jobs, the inverse of (1); (3) over GPUs."""
        own = self._per_gpu(model)
        return np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)

    def _loads(self, model: int, user: int = 0, more: int = 0) -> Floats:
        """Tickets per GPU of each node, equation (2)."""
        pool, price = self.pools[model], self._per_gpu(model, user, more)
        return np.asarray(np.cumsum(pool.gpus * price, axis=1)[:, -1] / np.array(pool.sizes))

    # --- one decision ---

    def decide(self, now: int, part: float, *, begins: bool) -> tuple[list[int], list[Start]]:
        """Return who stops, and who starts on which nodes; `part` of the quantum is left."""
        self._allocate(now)
        if begins:
            moved = 0 if self.limits.literal else self._explore(now)
            self._migrate(now, moved)
            for g in self.models:
                self._balance(g, now)
        runs = self._take_turns(part, begins=begins)
        if not self.limits.literal:
            self._use_idle(runs)
        stop = sorted(job for job, one in self.place.items() if runs.get(job) != one)
        start = sorted(job for job, one in runs.items() if self.place.get(job) != one)
        self.place = runs
        return stop, [(job, self._nodes_of(*runs[job])) for job in start]

    def _nodes_of(self, model: int, taken: Mapping[int, int]) -> dict[int, int]:
        return {self.nodes[model][server]: count for server, count in taken.items()}

    def _allocate(self, now: int) -> None:
        """Algorithm 2: give new jobs their home."""
        queues: dict[int, list[int]] = {}
        for job in self.active:
            if job not in self.at:
                queues.setdefault(self.jobs[job].user, []).append(job)
        while queues:
            placed = [
                sum(int(pool.demand[u]) for pool in self.pools) for u in range(self.worth.size)
            ]
            user = min(queues, key=lambda u: (placed[u] / self.worth[u], u))  # line 2
            queue = queues[user]
            job = min(queue, key=lambda j: (-self.jobs[j].weight, self.jobs[j].rank))  # line 3
            queue.remove(job)
            self._add(job, self._model_for(job), now)
            if not queue:
                del queues[user]

    def _model_for(self, job: int) -> int:
        """Algorithm 2, lines 4 to 7; Section 3.5, Profiling: the next one once a share is used up.

        The fastest by what the job would get there; if not all speeds are known, the newest on
        which it would always run, or else the one on which it would run most of the time.
        """
        user, gang, _, _, kind, able = self.jobs[job]
        rate = [self._speed(kind, g) for g in able]  # line 4
        if any(map(math.isnan, rate)):
            rate = [1.0] * len(able)
        part = [float(self._per_gpu(g, user, gang)[user]) for g in able]
        return max(zip(able, rate, part, strict=True), key=lambda o: (turn(o[1] * o[2]), o[0]))[0]

    def _add(self, job: int, model: int, now: int) -> None:
        """Algorithm 2, lines 8 to 11: give a job a home among the nodes of a model."""
        user, gang, *_ = self.jobs[job]
        pool = self.pools[model]
        loads = self._loads(model, user, gang).tolist()
        beside = not self.limits.literal
        servers = packed(gang, loads, pool.left().tolist(), pool.sizes, beside=beside)
        pool.add(job, gang, user, servers, now)
        self.at[job] = model

    def _move(self, job: int, model: int, now: int) -> None:
        """Give a job a home on another model."""
        self.pools[self.at[job]].remove(job)
        self._add(job, model, now)

    def _alike(self, job: int) -> tuple[int, int]:
        """The kind of a job, to the letter with its gang."""
        return self.jobs[job].kind, self.jobs[job].gang if self.limits.literal else 0

    def _last(self, kind: tuple[int, int], model: int, other: int) -> int:
        """The last job of a kind at home on a model that can run on another; -1 for none."""
        own = (j for j, g in self.at.items() if g == model and self._alike(j) == kind)
        able = (j for j in own if other in self.jobs[j].able)
        return max(able, key=lambda j: self.jobs[j].rank, default=-1)

    def _kinds(self) -> list[tuple[int, int]]:
        return sorted(set(map(self._alike, self.at)))

    def _explore(self, now: int) -> int:
        """Section 3.4: where jobs take turns, one goes to an older model that is not profiled.

        It has to fit in memory there: models on which it does not are none on which it can run.
        Newer models likewise; one job of each kind in a quantum.
        """
        moved = 0
        for kind in self._kinds() if len(self.pools) > 1 else ():
            if moved < self.limits.most and self._explored(kind, now):
                moved += 1
        return moved

    def _explored(self, kind: tuple[int, int], now: int) -> bool:
        """Move a job of a kind to a model on which none is known."""
        homes = {g for j, g in self.at.items() if self._alike(j) == kind}
        for model in sorted(homes, reverse=True):
            for other in reversed(self.models):
                job = self._last(kind, model, other)
                if job < 0 or other in homes or not math.isnan(self._speed(kind[0], other)):
                    continue
                if self._per_gpu(model)[self.jobs[job].user] < TURNS:
                    self._move(job, other, now)
                    return True
        return False

    def _migrate(self, now: int, moved: int) -> None:
        """Section 3.5, Migration between models: one job of the user and models that gain most.

        One for each minute of a quantum, as the paper's quantum is of one or two. Its own progress
        has to gain by the threshold; first comes what its user's jobs gain together.
        """
        while moved < self.limits.most and len(self.pools) > 1:
            best, found = (-math.inf, 0.0), None
            for kind in self._kinds():
                for model in self.models:
                    for other in self.models:
                        job = self._last(kind, model, other)
                        if job < 0 or other == model:
                            continue
                        gain = self._gain(job, kind[0], model, other)
                        if gain[1] > turn(self.limits.gain) and gain > best:
                            best, found = gain, (job, other)
            if found is None:
                return
            self._move(*found, now)
            moved += 1

    def _gain(self, job: int, kind: int, model: int, other: int) -> tuple[float, float]:
        """What a move brings the user's jobs together, and the job itself."""
        user, gang, *_ = self.jobs[job]
        slow, fast = self._speed(kind, model), self._speed(kind, other)
        if math.isnan(slow) or math.isnan(fast):
            return -math.inf, 0.0

        def progress(g: int, speed: float, more: int) -> tuple[float, float]:
            tickets, demand = self._tickets(g, user, more)
            total = speed * float(tickets[user])
            return total / max(int(demand[user]), 1), total

        each, total = progress(model, slow, 0)
        lost = total - progress(model, slow, -gang)[1]
        after, gained = progress(other, fast, gang)
        gained -= progress(other, fast, 0)[1]
        return turn(gained - lost), turn(after / each)

    def _balance(self, model: int, now: int) -> None:
        """Section 3.5, Migration between the nodes of a model, one for each minute of a quantum.

        From the most loaded node on which jobs take turns: where all run at once, nobody gains,
        and jobs that are packed (3.2, 3.3) stay so. First go jobs that run at once where they come.
        """
        pool = self.pools[model]
        for _ in range(1 if self.limits.literal else self.limits.most):
            move = self._to_balance(pool, self._per_gpu(model), self._loads(model))
            if move is None:
                return
            pool.move(*move, now)

    def _to_balance(self, pool: PlainPool, price: Floats, loads: Floats) -> tuple[int, int] | None:
        """The job that moves, and its new node."""
        left = pool.left().tolist()
        crowded = [n for n, room in enumerate(left) if room < 0 or self.limits.literal]
        if not crowded:
            return None
        source = max(crowded, key=lambda n: (loads[n], -n))
        target = int(loads.argmin())
        gap = float(loads[source] - loads[target])
        if gap <= self.limits.threshold * float(np.cumsum(loads)[-1] / loads.size):
            return None

        def after(job: int) -> float:
            moved = pool.claims[job].gang * float(price[pool.claims[job].user])
            return turn(abs(gap - moved / pool.sizes[source] - moved / pool.sizes[target]), STEPS)

        able = [
            j for j, own in pool.claims.items()
            if own.servers == (source,) and own.gang <= pool.sizes[target]
            and after(j) < turn(gap, STEPS)
        ]  # fmt: skip
        best = min(
            able,
            key=lambda j: (
                pool.claims[j].gang > left[target] and not self.limits.literal, after(j), j
            ),
            default=-1,
        )  # fmt: skip
        return (best, target) if able else None

    def _take_turns(self, part: float, *, begins: bool) -> dict[int, Place]:
        """Algorithm 1, split (3.1): who runs at home; within a quantum, on what has become free."""
        if begins:
            chosen = [self.pools[g].quantum(self._strides(g)) for g in self.models]
            runs: dict[int, Place] = {}
        else:
            runs, free = dict(self.place), self._free(self.place)
            chosen = [
                self.pools[g].fill(free[g], set(runs), self._strides(g), part) for g in self.models
            ]
        return runs | {j: (g, self.pools[g].nodes(j)) for g in self.models for j in chosen[g]}

    def _free(self, runs: Mapping[int, Place]) -> list[list[int]]:
        """GPUs of each node that nobody has."""
        free = [list(pool.sizes) for pool in self.pools]
        for g, taken in runs.values():
            for server, count in taken.items():
                free[g][server] -= count
        return free

    def _use_idle(self, runs: dict[int, Place]) -> None:
        """Section 3.3, work conservation: on-demand migration to GPUs that would idle.

        Users in the order of Algorithm 2, line 2: who runs least for its tickets comes first; of
        its jobs by priority, then those that need not move, then by arrival (line 3). Nothing is
        charged, and the home stays, so that passes and strides are as if GPUs had idled.
        """
        free, used = self._free(runs), [0] * self.worth.size
        for job in runs:
            used[self.jobs[job].user] += self.jobs[job].gang
        queues: dict[int, list[int]] = {}
        for job in self.active:
            if job not in runs:
                queues.setdefault(self.jobs[job].user, []).append(job)
        while queues:
            user = min(queues, key=lambda u: (used[u] / self.worth[u], u))
            fit = [(j, one) for j in queues[user] if (one := self._idle_place(j, free)) is not None]
            if not fit:
                del queues[user]
                continue
            job, one = min(fit, key=lambda o: self._order(o[0]))
            runs[job] = one
            queues[user].remove(job)
            used[user] += self.jobs[job].gang
            for server, count in one[1].items():
                free[one[0]][server] -= count

    def _order(self, job: int) -> tuple[float, bool, int]:
        return -self.jobs[job].weight, job not in self.place, self.jobs[job].rank

    def _idle_place(self, job: int, free: Sequence[Sequence[int]]) -> Place | None:
        """Where a job finds room: where it has run until now, on the fastest model, or the newest.

        Section 3.5: jobs go on to the next model once what there is of one is used up.
        """
        _, gang, _, _, kind, able = self.jobs[job]
        if job in self.place:
            g, taken = self.place[job]
            if all(free[g][server] >= count for server, count in taken.items()):
                return self.place[job]
        rate = [self._speed(kind, g) for g in able]
        if any(map(math.isnan, rate)):
            rate = [1.0] * len(able)
        order = zip(able, rate, strict=True)
        for g, _ in sorted(order, key=lambda own: (turn(own[1]), own[0]), reverse=True):
            found = best_fit(gang, free[g], self.pools[g].sizes)
            if found is not None:
                return g, found
        return None


def turn_or_nan(value: float) -> float:
    """A speed as it is compared, or nan."""
    return value if math.isnan(value) else turn(value) / FINE


def packed(
    gang: int,
    loads: Sequence[float],
    left: Sequence[int],
    sizes: Sequence[int],
    *,
    beside: bool = True,
) -> tuple[int, ...]:
    """Return the nodes of a new home (Algorithm 2, lines 9 to 11; packing of 3.2, if `beside`).

    The node on which a gang fits beside all others with the fewest GPUs left: nobody has to wait
    there, so loads do not matter. Where there is none, the least loaded, or of one size as many of
    these as a gang needs.
    """
    fit = [n for n, room in enumerate(left) if room >= gang and beside]
    if fit:
        return (min(fit, key=lambda n: (left[n], n)),)
    servers, count = [n for n, size in enumerate(sizes) if size >= gang], 1
    for each in sorted(set(sizes)) if not servers else ():
        servers, count = [n for n, size in enumerate(sizes) if size == each], -(-gang // each)
        if len(servers) >= count:
            break
    assert len(servers) >= count, "others are rejected before the run"

    def key(n: int) -> tuple[Any, ...]:
        spare = left[n] - min(gang, sizes[n])
        return turn(loads[n], STEPS), spare < 0, max(spare, 0), n

    return tuple(sorted(servers, key=key)[:count])


def best_fit(gang: int, free: Sequence[int], sizes: Sequence[int]) -> dict[int, int] | None:
    """Return idle GPUs for a gang, by node: one node, or whole ones of one size and a rest."""
    fits = [n for n, room in enumerate(free) if room >= gang]
    if fits:
        return {min(fits, key=lambda n: (free[n], n)): gang}
    for each in sorted({size for size in sizes if size < gang}, reverse=True):
        whole, rest = divmod(gang, each)
        own = [n for n, size in enumerate(sizes) if size == each]
        idle = [n for n in own if free[n] == each]
        last = [n for n in own if rest <= free[n] < each] if rest else []
        if last and len(idle) >= whole:
            return {
                **dict.fromkeys(idle[:whole], each),
                min(last, key=lambda n: (free[n], n)): rest,
            }
        if len(idle) >= whole + (rest > 0):
            found = dict.fromkeys(idle[:whole], each)
            return {**found, idle[whole]: rest} if rest else found
    return None
