"""References that share no code with the package: the model of eqs. (1)-(9), slot by slot.

Only the data of the problem are read; rates come from eq. (8) written out again, and the optimum
from a search over all decisions, one slot after the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, floor

from gangsched.formulations.rar_ddls.problem import RarDdls

Placement = Mapping[int, int]


def rational(value: float) -> Fraction:
    """Return the decimal number that was typed in."""
    return Fraction(str(value))


def degraded(problem: RarDdls, k: Fraction) -> Fraction:
    """Return f(alpha, k): the paper's example, the power law, or the problem's own function."""
    alpha = rational(problem.alpha)
    if problem.degradation == "linear":
        return k + alpha * (k - 1)
    if problem.degradation == "power":
        return rational(float(k) ** float(1 + alpha))
    assert callable(problem.degradation)
    return Fraction(str(problem.degradation(alpha, k)))


@cache
def speed(problem: RarDdls, job: int, servers: int, contenders: int) -> Fraction:
    """Return iterations per slot, eqs. (7) and (8) with errata E4 and E6."""
    data, xi1 = problem.instance.jobs[job], rational(problem.xi1)
    if problem.contention == "clipped":
        k = max(Fraction(1), xi1 * contenders)
    else:
        k = 1 + xi1 * (contenders - 1)
    if servers == 1:
        bandwidth = rational(problem.bandwidth_within)
    else:
        bandwidth = rational(problem.bandwidth_between) / degraded(problem, k)
    exchanged = rational(data.gradient) / data.gpus * (data.gpus - 1)
    tau = (
        2 * exchanged / bandwidth
        + exchanged / rational(problem.compute_speed)
        + rational(problem.xi2) * servers
        + rational(data.base_time)
    )
    if problem.rate == "floor":
        return Fraction(floor(1 / tau))
    return Fraction(ceil(10**9 / tau), 10**9)


def contenders(job: int, active: Sequence[int], placement: Sequence[Placement]) -> int:
    """Return p_j, eq. (6): spanning jobs on the busiest server of a spanning job."""
    spanning = [i for i in active if len(placement[i]) > 1]
    if job not in spanning:
        return 0
    return max(sum(s in placement[i] for i in spanning) for s in placement[job])


def slot_by_slot(
    problem: RarDdls, start: Sequence[int], placement: Sequence[Placement], limit: int = 1000
) -> list[int] | None:
    """Return the ends of all jobs, or None where one has not ended after `limit` slots."""
    remaining = [Fraction(job.iterations) for job in problem.instance.jobs]
    end: list[int] = [0] * len(remaining)
    for t in range(limit):
        active = [j for j, a in enumerate(start) if a <= t and remaining[j] > 0]
        speeds = {
            j: speed(problem, j, len(placement[j]), contenders(j, active, placement))
            for j in active
        }
        for j, phi in speeds.items():
            remaining[j] -= phi
            if remaining[j] <= 0:
                end[j] = t + 1
        if max(remaining, default=0) <= 0:
            return end
    return None


def fits(
    problem: RarDdls, start: Sequence[int], end: Sequence[int], placement: Sequence[Placement]
) -> bool:
    """Say whether no server ever holds more than its GPUs."""
    for t in range(max(end, default=0)):
        for s, room in enumerate(problem.instance.cluster.sizes):
            on = (placement[j].get(s, 0) for j in range(len(start)) if start[j] <= t < end[j])
            if sum(on) > room:
                return False
    return True


def placements(gpus: int, room: Sequence[int]) -> Iterator[dict[int, int]]:
    """All ways to put a gang on servers with so many free GPUs."""
    for counts in product(*(range(min(gpus, r) + 1) for r in room)):
        if sum(counts) == gpus:
            yield {s: count for s, count in enumerate(counts) if count}


def every_schedule(
    problem: RarDdls, horizon: int
) -> Iterator[tuple[tuple[int, ...], tuple[Placement, ...], list[int]]]:
    """All feasible (starts, placements, ends) that end by `horizon`. Explodes: 2 or 3 jobs."""
    room = problem.instance.cluster.sizes
    options = [list(placements(job.gpus, room)) for job in problem.instance.jobs]
    for placement in product(*options):
        for start in product(range(horizon), repeat=len(options)):
            end = slot_by_slot(problem, start, placement, limit=horizon)
            if end is not None and fits(problem, start, end, placement):
                yield start, placement, end


# A job on the way: its number, what it still has to do, its GPUs on every server.
Run = tuple[int, Fraction, tuple[int, ...]]
# Jobs that run and jobs that wait.
State = tuple[tuple[Run, ...], tuple[int, ...]]


def optimum(problem: RarDdls, *, contention: bool = True, limit: int = 60) -> int | None:
    """Return the least makespan, None where no schedule ends by `limit`.

    Breadth first: from the states that can be reached after t slots to those after t + 1, by every
    set of starts and every placement of them, also when that leaves GPUs idle. States that differ
    in the names of equal servers or of equal jobs only are one state.

    With `contention` false, a spanning job runs as if it were alone (p = 1).
    """
    everyone = tuple(range(len(problem.instance.jobs)))
    states: set[State] = {((), everyone)}
    for t in range(limit + 1):
        if ((), ()) in states:
            return t
        states = {
            canonical(problem, advance(problem, running, waiting, contention))
            for state in states
            for running, waiting in decisions(problem, *state)
        }
    return None


def decisions(
    problem: RarDdls, running: tuple[Run, ...], waiting: tuple[int, ...]
) -> Iterator[State]:
    """All ways to start some of the waiting jobs now."""
    sizes = problem.instance.cluster.sizes
    if not waiting:
        yield running, ()
        return
    first, rest = waiting[0], waiting[1:]
    for begun, later in decisions(problem, running, rest):
        yield begun, (first, *later)
        room = [o - sum(run[2][s] for run in begun) for s, o in enumerate(sizes)]
        job = problem.instance.jobs[first]
        for chosen in placements(job.gpus, room):
            held = tuple(chosen.get(s, 0) for s in range(len(sizes)))
            yield (*begun, (first, Fraction(job.iterations), held)), later


def advance(
    problem: RarDdls, running: tuple[Run, ...], waiting: tuple[int, ...], contention: bool
) -> State:
    """Let one slot pass."""
    spanning = [[g > 0 for g in held] for _, _, held in running if sum(g > 0 for g in held) > 1]
    crowd = [sum(column) for column in zip(*spanning, strict=True)]
    after = []
    for j, left, held in running:
        span = [s for s, g in enumerate(held) if g]
        p = 0 if len(span) == 1 else max(crowd[s] for s in span) if contention else 1
        left -= speed(problem, j, len(span), p)
        if left > 0:
            after.append((j, left, held))
    return tuple(after), waiting


def canonical(problem: RarDdls, state: State) -> State:
    """Name equal jobs and equal servers by what they do."""
    running, waiting = state
    runs = sorted((_twin(problem, j), left, held) for j, left, held in running)
    sizes = problem.instance.cluster.sizes
    columns = sorted((size, tuple(run[2][s] for run in runs)) for s, size in enumerate(sizes))
    # put the columns back on servers of their size, in sorted order
    slots = sorted(range(len(sizes)), key=lambda s: (sizes[s], s))
    held = [[0] * len(sizes) for _ in runs]
    for s, (_, column) in zip(slots, columns, strict=True):
        for row, count in zip(held, column, strict=True):
            row[s] = count
    named = sorted((j, left, tuple(row)) for (j, left, _), row in zip(runs, held, strict=True))
    return tuple(named), tuple(sorted(_twin(problem, j) for j in waiting))


@cache
def _twin(problem: RarDdls, job: int) -> int:
    """Number of the first job with the same data."""
    jobs = problem.instance.jobs
    key = [(i.gpus, i.iterations, i.gradient, i.base_time) for i in jobs]
    return key.index(key[job])
