"""Proofs of bounds as VIPR files, which a checker that is not ours accepts or refuses.

A VIPR file [1]_ states a linear program, some of whose variables may be integers, and derives from
its rows what its optimum cannot beat, by sums of rows and by rounding alone; ``viprchk`` checks it
in exact rationals. The programs below are small relaxations: every schedule gives a solution of
them that is no worse. That they are relaxations is argued here, and no file can prove it; nor that
the numbers in the rows are those of the instance. All else is in the file.

They are written from the instance and from the numbers in the certificate (prices, duals, the step
of a function). Nothing is shared with the code that finds bounds.

RAR-DDLS
--------
N GPUs; G_j and d_j are gang and shortest duration of job j (:mod:`~gangsched.verify.rar_ddls`). In
a schedule of makespan C each GPU g is busy for L_g <= C slots, and job j takes W_j >= G_j d_j::

    (loads)    min C:  C - L_g >= 0,  sum_g L_g - sum_j W_j = 0,  W_j >= G_j d_j,  C >= d_j

with C an integer. ``area`` adds up the first three kinds of rows, divides by N and rounds up;
``longest job`` is one row. A GPU's jobs take no more than C slots together. Job by job, longest
first, let w be the slots that those so far take: a GPU goes a path from (0, 0) to the last job, on
which job i is left out, to (i, w), or taken, to (i, w + d_i) if that is at most C. All N paths
together are a flow of N units of which G_i take job i::

    (paths)    flow out of (0, 0) is N,  flow is kept at every (i, w),  what takes i is >= G_i

For the C of the certificate ("target") the file shows that there is no such flow, so that every
makespan is C + 1 or more: with v_i for what takes job i, and V(i, w), the most that a path from
there on can be worth, for the rows of (i, w), the rows add up to 0 >= sum_i G_i v_i - N V(0, 0),
which is above 0. v_i are the duals of the ``configuration lp``, or g(d_i) of the ``dff``. A job
with v_i = 0 is left out of the program, which makes it weaker still.

UniSched
--------
x_o: an option of a job is chosen (value V_o, Q leases out of a window), y_ok: in lease k it holds
its GPUs; a row r counts what a gang takes of a node, C_rk is the most that fits
(:mod:`gangsched.verify.unisched`)::

    (leases)   max sum V_o x_o:  sum of x_o over the options of a job <= 1,  0 <= y_ok <= x_o,
               sum_k y_ok >= Q x_o,  sum_o w_ro y_ok <= C_rk,  x_o >= 0 and an integer

Prices p_rk of the certificate, over its scale, are the duals of the last kind of rows; the others
follow from them. Where all values are multiples of a number, the bound is rounded down to one.

References
----------
.. [1] K. K. H. Cheung, A. Gleixner, D. E. Steffy. Verifying integer programming results.
   IPCO 2017. Format: version 1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import gcd
from typing import Any

from ...formulations.rar_ddls.problem import RarDdls
from ...formulations.unisched.problem import UniSched
from ...solvers.result import Bound
from ...verify.fields import stepped, thresholded
from ...verify.rar_ddls import RingProblem
from ...verify.unisched import LeaseProblem, capacities, read_prices
from .problem_data import data_of
from .verify import NoCertificate, verify_bound

Number = int | Fraction
MOST_VARIABLES = 500_000  #: of a file; more would be hundreds of megabytes


# --- a program and what follows from it ----------------------------------------------------------


@dataclass
class ViprProgram:
    """A linear program in the order of a VIPR file, and multipliers of its rows.

    Parameters
    ----------
    goal : {"min", "max"}
    """

    goal: str = "min"
    names: list[str] = field(default_factory=list)
    integers: list[int] = field(default_factory=list)
    objective: dict[int, Number] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    multipliers: dict[int, Number] = field(default_factory=dict)
    total: Number = 0  #: right-hand side of the sum of the rows
    bounds: int = 0

    def variable(self, name: str, *, integer: bool = False, cost: Number = 0) -> int:
        """Add a variable, and return its number."""
        at = len(self.names)
        _check_size(at + 1)
        self.names.append(name)
        if integer:
            self.integers.append(at)
        if cost:
            self.objective[at] = cost
        return at

    def row(
        self, name: str, sense: str, right: Number, terms: Mapping[int, Number], by: Number
    ) -> None:
        """Add a row, `by` which it is multiplied."""
        if by:
            self.multipliers[len(self.rows)] = by
            self.total += by * right
        self.rows.append(f"{name} {sense} {right} {_listed(terms)}")

    def not_negative(self, variable: int, by: Number) -> None:
        """Add a row that a variable is not negative; before all others."""
        self.row(f"B{variable}", "G", 0, {variable: 1}, by)
        self.bounds += 1

    def text(self, relation: str, derived: Sequence[str]) -> str:
        """The file that proves a relation by derived rows."""
        lines = ["VER 1.0", f"VAR {len(self.names)}", *self.names, f"INT {len(self.integers)}"]
        lines += map(str, self.integers)
        lines += [f"OBJ {self.goal}", _listed(self.objective)]
        rows = self.rows or ["nothing G 0 0"]  # viprchk reads no file without rows
        lines += [f"CON {len(rows)} {self.bounds}", *rows]
        lines += [f"RTP {relation}", "SOL 0", f"DER {len(derived)}", *derived]
        return "\n".join([*lines, ""])

    def sum_of_rows(self, by: Number = 1) -> str:
        """The reason of a derived row: the sum of the rows by their multipliers, and by this."""
        return _listed({row: by * own for row, own in self.multipliers.items()})


def _check_size(variables: int) -> None:
    """Refuse programs with more variables than that."""
    if variables > MOST_VARIABLES:
        raise ValueError(f"proof: the program has more than {MOST_VARIABLES:,} variables")


def _listed(terms: Mapping[int, Number]) -> str:
    """Numbers of variables or rows and their factors, after how many they are."""
    return " ".join([str(len(terms)), *(f"{at} {value}" for at, value in sorted(terms.items()))])


def _each(variables: Iterable[int], value: Number) -> dict[int, Number]:
    """The same factor for all of these."""
    return dict.fromkeys(variables, value)


# --- RAR-DDLS ------------------------------------------------------------------------------------


def _loads(problem: RarDdls) -> tuple[ViprProgram, int]:
    """The program of loads, without multipliers, and the row from which those of jobs begin."""
    gpus, jobs, made = problem.instance.cluster.gpus, problem.jobs, ViprProgram()
    span = made.variable("C", integer=True, cost=1)
    loads = [made.variable(f"L{g}") for g in range(gpus)]
    work = [made.variable(f"W{j}") for j in range(len(jobs))]
    for g, load in enumerate(loads):
        made.row(f"gpu{g}", "G", 0, {span: 1, load: -1}, 1)
    made.row("all", "E", 0, {**_each(loads, 1), **_each(work, -1)}, 1)
    lengths = _durations(problem)
    for j, length in enumerate(lengths):
        made.row(f"work{j}", "G", jobs[j].gpus * length, {work[j]: 1}, 1)
    first = len(made.rows)
    for j, length in enumerate(lengths):
        made.row(f"length{j}", "G", length, {span: 1}, 0)
    return made, first


def _durations(problem: RarDdls) -> list[int]:
    """d_j of all jobs."""
    return RingProblem(data_of(problem)).shortest


def _area(problem: RarDdls, _: Mapping[str, Any]) -> str:
    made = _loads(problem)[0]
    least = -(-made.total // problem.instance.cluster.gpus)
    by = Fraction(1, problem.instance.cluster.gpus)
    return made.text(
        f"range {least} inf", [f"area G {least} OBJ {{ rnd {made.sum_of_rows(by)} }} -1"]
    )


def _longest_job(problem: RarDdls, certificate: Mapping[str, Any]) -> str:
    made, first = _loads(problem)
    job = certificate["job"]
    least = _durations(problem)[job]
    return made.text(
        f"range {least} inf", [f"longest G {least} OBJ {{ lin 1 {first + job} 1 }} -1"]
    )


def _dff(problem: RarDdls, certificate: Mapping[str, Any]) -> str:
    target, k, eps = (certificate[name] for name in ("target", "k", "eps"))
    worth = [stepped(thresholded(d, target, eps), target, k) for d in _durations(problem)]
    return _paths(problem, target, worth)


def _configuration(problem: RarDdls, certificate: Mapping[str, Any]) -> str:
    return _paths(problem, certificate["target"], certificate["duals"])


def _paths(problem: RarDdls, target: int, worth: Sequence[int]) -> str:
    """The program of paths, and that it has no solution."""
    lengths = _durations(problem)
    taken = sorted((j for j, v in enumerate(worth) if v), key=lambda j: (-lengths[j], j))
    layers = [[0]]  # loads that jobs so far can have
    least = 0  # variables, as every load has a way on
    for j in taken:
        least += len(layers[-1])
        _check_size(least)
        more = {w + lengths[j] for w in layers[-1] if w + lengths[j] <= target}
        layers.append(sorted(more.union(layers[-1])))
    best: list[dict[int, int]] = [dict.fromkeys(layers[-1], 0)]  # V, from the last job on
    for j, loads in zip(reversed(taken), reversed(layers[:-1]), strict=True):
        after, long = best[-1], lengths[j]
        best.append({w: max(after[w], worth[j] + after.get(w + long, -worth[j])) for w in loads})
    best.reverse()

    made = ViprProgram()
    into: dict[tuple[int, int], list[int]] = {}
    out: dict[tuple[int, int], list[int]] = {}
    takes: list[list[int]] = []
    for i, j in enumerate(taken):
        takes.append([])
        for w in layers[i]:
            for load, own in ((w, 0), (w + lengths[j], worth[j])):
                if load not in best[i + 1]:
                    continue
                arc = made.variable(f"{'t' if own else 's'}{i}_{w}")
                made.not_negative(arc, best[i][w] - best[i + 1][load] - own)
                out.setdefault((i, w), []).append(arc)
                into.setdefault((i + 1, load), []).append(arc)
                if own:
                    takes[-1].append(arc)
    gpus = problem.instance.cluster.gpus
    made.row("source", "E", gpus, _each(out.get((0, 0), ()), 1), -best[0][0])
    for i in range(1, len(taken)):
        for w in layers[i]:
            kept = {**_each(into[i, w], 1), **_each(out[i, w], -1)}
            made.row(f"n{i}_{w}", "E", 0, kept, best[i][w])
    for i, j in enumerate(taken):
        made.row(f"job{j}", "G", problem.jobs[j].gpus, _each(takes[i], 1), worth[j])
    return made.text("infeas", [f"none G {made.total} 0 {{ lin {made.sum_of_rows()} }} -1"])


# --- UniSched ------------------------------------------------------------------------------------


def _leases(problem: UniSched, certificate: Mapping[str, Any]) -> str:
    """The program of leases, and a bound of it by prices."""
    read = LeaseProblem(data_of(problem))
    scale, weights, prices = read_prices(read, certificate)
    options = list(problem.options())
    made = ViprProgram("max")
    chosen = [
        made.variable(f"x{o}", integer=True, cost=Fraction(option.value))
        for o, option in enumerate(options)
    ]
    held, paid, level = list[list[int]](), list[list[int]](), list[int]()
    gain: dict[int, Fraction] = {}
    for o, option in enumerate(options):
        first = problem.first_slot(option.job)
        window = range(first, first + option.within)
        held.append([made.variable(f"y{o}_{k}") for k in window])
        loads = [sum(row[piece - 1] for piece in option.allocation.pieces) for row in weights]
        paid.append([
            sum(load * own[k] for load, own in zip(loads, prices, strict=True) if k < len(own))
            for k in window
        ])  # fmt: skip
        level.append(sorted(paid[o])[option.needed - 1] if option.needed else 0)
        cost = sum(sorted(paid[o])[: option.needed])
        gain[option.job] = max(
            gain.get(option.job, Fraction(0)), Fraction(option.value) * scale - cost
        )
    for o, option in enumerate(options):
        cost = sum(sorted(paid[o])[: option.needed])
        made.not_negative(chosen[o], Fraction(option.value) * scale - cost - gain[option.job])
        for own, price in zip(held[o], paid[o], strict=True):
            made.not_negative(own, -max(0, price - level[o]))
    _lease_rows(made, problem, chosen, held, paid, level, gain)
    most = capacities(read, weights)
    for r, row in enumerate(prices):
        for k, price in enumerate(row):
            terms = {
                held[o][k - problem.first_slot(option.job)]: load
                for o, option in enumerate(options)
                if 0 <= k - problem.first_slot(option.job) < option.within
                and (load := sum(weights[r][piece - 1] for piece in option.allocation.pieces))
            }
            made.row(f"room{r}_{k}", "L", most[r][bool(k)], terms, price)
    return _rounded(made, scale)


def _lease_rows(
    made: ViprProgram,
    problem: UniSched,
    chosen: list[int],
    held: list[list[int]],
    paid: list[list[int]],
    level: list[int],
    gain: Mapping[int, Fraction],
) -> None:
    """Add the rows of options and of jobs."""
    of_job: dict[int, list[int]] = {}
    for o, option in enumerate(problem.options()):
        of_job.setdefault(option.job, []).append(chosen[o])
        needs = {**_each(held[o], 1), chosen[o]: -option.needed}
        made.row(f"needs{o}", "G", 0, needs, -level[o])
        for k, (own, price) in enumerate(zip(held[o], paid[o], strict=True)):
            made.row(f"part{o}_{k}", "G", 0, {chosen[o]: 1, own: -1}, -max(0, level[o] - price))
    for job, ways in of_job.items():
        made.row(f"job{job}", "L", 1, _each(ways, 1), gain[job])


def _rounded(made: ViprProgram, scale: int) -> str:
    """The objective is at most the sum of the rows over the scale, rounded down where it can be."""
    most = Fraction(made.total) / scale
    derived = [f"prices L {most} OBJ {{ lin {made.sum_of_rows(Fraction(1, scale))} }} -1"]
    values = [Fraction(value) for value in made.objective.values()]
    if values and all(value.denominator == 1 for value in values):
        step = reduce(gcd, (value.numerator for value in values))
        fewer = {at: Fraction(value) / step for at, value in made.objective.items()}
        above, down = len(made.rows), most / step // 1
        derived.append(f"steps L {down} {_listed(fewer)} {{ rnd 1 {above} 1/{step} }} -1")
        most = Fraction(down * step)
        derived.append(f"most L {most} OBJ {{ lin 1 {above + 1} {step} }} -1")
    return made.text(f"range -inf {most}", derived)


# --- the proofs ----------------------------------------------------------------------------------

Writer = Callable[[Any, Mapping[str, Any]], str]
#: by class of problem and kind of certificate
WRITERS: Mapping[type, Mapping[str, Writer]] = {
    RarDdls: {
        "area": _area,
        "longest job": _longest_job,
        "dff": _dff,
        "configuration lp": _configuration,
    },
    UniSched: {"lease prices": _leases},
}


def vipr_proof(problem: Any, bound: Bound) -> str:
    """Return the text of a VIPR file that proves a bound.

    Parameters
    ----------
    problem : RarDdls or UniSched
    bound : Bound
        With a certificate, which is verified first.

    Returns
    -------
    str
        Format 1.0. That a program has no solution (``RTP infeas``) proves that no schedule is as
        short as the certificate's target; else the file proves a range of the objective.

    Raises
    ------
    NoCertificate, InvalidCertificate
        As :func:`~gangsched.verify_bound`.
    ValueError
        Where no program is known for such a certificate, or it has more than 500,000 variables.

    Notes
    -----
    Programs and proofs are those of :mod:`gangsched.analysis.proofs.vipr`. O(jobs x target) rows
    for dual feasible functions and configurations, O(jobs + GPUs) for the area, O(options x leases)
    for leases.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=1, iterations=50, gradient=0, base_time=0.7) for i in "abc"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))
    >>> print(vipr_proof(problem, Bound(75, "area", {"kind": "area"})))  # doctest: +ELLIPSIS
    VER 1.0
    VAR 6
    C
    ...
    RTP range 75 inf
    SOL 0
    DER 1
    area G 75 OBJ { rnd 6 0 1/2 1 1/2 2 1/2 3 1/2 4 1/2 5 1/2 } -1
    <BLANKLINE>
    """
    verify_bound(problem, bound)
    if bound.certificate is None:
        raise NoCertificate(f"bound {bound.value} ({bound.method}): no certificate")
    kind, known = bound.certificate["kind"], WRITERS.get(type(problem), {})
    if kind not in known:
        what = f"{type(problem).__name__} by {kind!r}"
        can = ", ".join(f"{c.__name__} by {k}" for c, kinds in WRITERS.items() for k in kinds)
        raise ValueError(f"proof: no linear program is known for a bound of {what}, only for {can}")
    return known[kind](problem, bound.certificate)
