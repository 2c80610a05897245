"""Gandiva_fair: GPUs of several models, divided among users who may trade them.

Source: S. Chaudhary, R. Ramjee, M. Sivathanu, N. Kwatra, S. Viswanatha, "Balancing Efficiency and
Fairness in Heterogeneous GPU Clusters for Deep Learning", EuroSys 2020, Section 3.4.

Every user is due a part of each GPU model by its tickets. Jobs differ in what a faster GPU is worth
to them, so users gain by trading fast GPUs for slow ones. The paper trades greedily, at second
prices. Here is what the trades can be measured against: all ways to divide the GPUs that leave no
user below its fair share, and three aims among them.

Symbols
-------
=============================  =================================  ==============================
symbol                         here                               unit
=============================  =================================  ==============================
N_g, M                         ``gpus``, their sum                GPUs
S_ug                           ``speeds``                         1; K80 = 1 in the paper
t_u                            ``tickets``                        1
cap_u (gangs of active jobs)   ``demand``                         GPUs; inf = no limit
share_u (effective tickets)    :attr:`GpuMarket.fair_shares`,     GPUs
                               row sums
f_u                            :attr:`GpuMarket.fair_values`      GPUs of speed 1
x_ug                           ``Allocation.shares``              GPUs, on average over time
U_u                            :meth:`GpuMarket.values`           GPUs of speed 1
=============================  =================================  ==============================

Equations
---------
The paper has no numbered ones for this; these are ours.

==========  ============================================  ==========================================
name        equation                                      component
==========  ============================================  ==========================================
effective   share_u = min(cap_u, lambda t_u),             :func:`effective_tickets`
            sum_u share_u = min(M, sum_u cap_u)
fair        fair_ug = share_u N_g / M                     :attr:`GpuMarket.fair_shares`
value       U_u = sum_g S_ug x_ug                         :meth:`GpuMarket.values`
supply      sum_u x_ug <= N_g                             ``violations``; constraint ``supply``
cap         sum_g x_ug <= cap_u                           ``violations``; constraint ``cap``
floor       U_u >= f_u = sum_g S_ug fair_ug               ``violations``; constraint ``floor``
total       max sum_u U_u                                 aim "total"
max-min     max min_u U_u / f_u                           aim "max-min"; constraint ``least``
nash        max sum_u t_u log U_u / sum_u t_u             aim "nash", without ``floor``
==========  ============================================  ==========================================

What is true of them
--------------------
1. The fair allocation meets supply, cap and floor: sum_u share_u <= M, and row u adds up to
   share_u <= cap_u. So "total" and "max-min" always have a solution, and max-min is at least 1.
2. An outcome of trading that meets supply, cap and floor is one of the allocations that "total"
   maximises over: no trading, at any prices and in any order, has a larger total.
3. An optimum of "total" is Pareto optimal: who makes somebody better off and nobody worse off keeps
   all floors and raises the sum. So is one of "nash", whose objective rises in every U_u, and one
   of "max-min" where all speeds are positive and nobody has a cap: who can gain alone can give a
   little of it to everybody. Else only the worst-off users matter to "max-min".
4. "nash" (Eisenberg and Gale 1959), without caps: with prices pi_g of the supplies, its optimality
   conditions are t_u S_ug / U_u <= pi_g, with equality where x_ug > 0, and pi_g > 0 only where all
   of g is used. Multiply by x_ug and add up: pi x_u = t_u, so every user spends its tickets, on the
   GPUs that give it most per price, and pi N = sum_v t_v =: T. It is the competitive equilibrium
   from ticket incomes. Therefore

   - nobody is below its fair share: fair_u = (t_u / T) N costs pi N t_u / T = t_u, and what a user
     can afford is worth at most t_u max_g S_ug / pi_g = U_u to it;
   - it is envy-free: x_v scaled by t_u / t_v costs t_u too, so its value to u is at most U_u.

5. With caps, neither holds for "nash". One slow and one fast GPU, two users with a ticket each that
   can use one GPU each: speeds (1, 2) and (1, 3). The fair values are 3/2 and 2. Nash welfare gives
   y of the fast GPU to the first, with (1 + y) (3 - 2 y) largest: y = 1/4, and the first user has
   5/4 < 3/2. (Without the caps it would have got all of the slow GPU and some of the fast one. Its
   cap makes it waste its income.) That is why floor is no constraint of "nash", and the claim is
   one about users without caps.

Deviations from the paper
-------------------------
- GPUs are divisible: shares are averages over time, which the scheduler's tickets bring about.
- Speeds are exact and linear: a user's jobs are alike, and each can run on every model.
- The paper states no optimum. Its "overall efficiency is maximised" is refuted by "total".
- Effective tickets are a user's fair share in GPUs, whatever the model (Section 2.1's example).
  The paper does not say how demand and several models go together: here demand limits their sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Floats
from ...instances.display import counted
from ...instances.schedule import Allocation
from ..problem import Described, Goal, Model, Sense, build

Aim = Literal["total", "max-min", "nash"]

AIMS: tuple[Aim, ...] = ("total", "max-min", "nash")
#: how much, relatively, a checked allocation may be beyond a limit
TOLERANCE = 1e-9
#: numbers of a market are from one to the other: beyond, solvers' tolerances are too coarse
SMALLEST, LARGEST = 1e-6, 1e7

_DEFAULT: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class GpuMarket(Described):
    r"""Problem: divide GPUs of several models among users, with nobody below its fair share.

    .. math::

        \max \sum_u U_u, \quad \min_u \frac{U_u}{f_u} \quad \text{or} \quad
        \frac{\sum_u t_u \log U_u}{\sum_u t_u}, \qquad U_u = \sum_g S_{ug} x_{ug}, \qquad
        \sum_u x_{ug} \le N_g

    Parameters
    ----------
    gpus : (models,) int array
        N_g, 1 to 1e7. Models are listed from slow to fast.
    speeds : (users, models) float array
        S_ug, 1e-6 to 1e7, or 0 where the user cannot use the model. Every user can use one.
    tickets : (users,) float array, optional
        t_u, 1e-6 to 1e7; default 1 each.
    demand : (users,) float array, optional
        cap_u, the GPUs that a user can make use of, 1e-6 to 1e7; inf, the default, for no limit.
    users, models : sequence of str, optional
        Names; default u0, u1, ... and g0, g1, ...
    aim : {"total", "max-min", "nash"}
        What is maximised, see the module.

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Notes
    -----
    Arrays are read-only; after construction none of them is None. Floats stand for their exact
    binary value; fair shares are computed in rationals and then rounded once.

    Examples
    --------
    The paper's Table 3: 60 K80 and 12 V100, three users.

    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]], users="ABC")
    >>> market.fair_values.tolist()
    [25.0, 40.0, 45.0]
    >>> traded = Allocation(market.users, market.models, [[40, 0], [20, 4], [0, 8]])
    >>> market.violations(traded), market.objective(traded)
    ([], 130.0)
    """

    gpus: NDArray[np.int64]
    speeds: Floats
    tickets: Floats = _DEFAULT
    demand: Floats = _DEFAULT
    users: Sequence[str] = _DEFAULT
    models: Sequence[str] = _DEFAULT
    aim: Aim = "total"
    _fair: Floats = field(init=False, repr=False)

    sense: ClassVar[Sense] = Sense.MAX
    forms: ClassVar[tuple[str, ...]] = ("conic",)
    integral: ClassVar[bool] = False

    @property
    def goal(self) -> Goal:  # type: ignore[override]
        """What the aim is called."""
        names = {"total": "value", "max-min": "least gain", "nash": "mean log value"}
        return Goal(names[self.aim], solution="allocation")

    def summary(self) -> str:
        """Return the size of the market in a line."""
        gpus, models = int(self.gpus.sum()), len(self.models)
        sizes = counted(len(self.users), "user"), counted(gpus, "GPU"), counted(models, "model")
        return "{} of {} of {}".format(*sizes)

    def facts(self) -> dict[str, str]:
        """Return what there is to know of the size of the market, by name."""
        gpus = zip(self.gpus.tolist(), self.models, strict=True)
        return {
            "aim": self.aim,
            "GPUs": ", ".join(f"{number} of {model}" for number, model in gpus),
            "users": f"{len(self.users):,}",
        }

    def __post_init__(self) -> None:
        if self.aim not in AIMS:
            raise ValueError(f"GpuMarket: aim={self.aim!r} is not one of {', '.join(AIMS)}")
        speeds = np.array(self.speeds, dtype=np.float64)
        if speeds.ndim != 2 or 0 in speeds.shape:
            raise ValueError(f"GpuMarket: speeds has shape {speeds.shape}, not (users, models)")
        for axis, name in enumerate(("users", "models")):
            given = getattr(self, name)
            count = speeds.shape[axis]
            default = [f"{'ug'[axis]}{i}" for i in range(count)]
            object.__setattr__(self, name, _names(name, default if given is None else given, count))
        object.__setattr__(self, "gpus", _whole(self.gpus, self.models))
        for name, missing in (("tickets", 1.0), ("demand", math.inf)):
            given = getattr(self, name)
            values = np.full(len(self.users), missing) if given is None else given
            object.__setattr__(self, name, _positive(name, values, self.users))
        _check_speeds(speeds, self.users, self.models)
        object.__setattr__(self, "speeds", _frozen(speeds))
        object.__setattr__(self, "_fair", _frozen(_fair_shares(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return GpuMarket, (
            self.gpus, self.speeds, self.tickets, self.demand, self.users, self.models, self.aim,
        )  # fmt: skip

    @property
    def fair_shares(self) -> Floats:
        """fair_ug = share_u N_g / M: (users, models), GPUs."""
        return self._fair

    @property
    def fair_values(self) -> Floats:
        """f_u, what the fair share is worth to each user: (users,), GPUs of speed 1."""
        return np.asarray((self.speeds * self._fair).sum(axis=1))

    def values(self, solution: Allocation) -> Floats:
        """Return U_u, what each user gets: (users,), GPUs of speed 1.

        Parameters
        ----------
        solution : Allocation
        """
        return np.asarray((self.speeds * solution.shares).sum(axis=1))

    def fair(self) -> Allocation:
        """Return the allocation without any trades: everybody's fair share."""
        return Allocation(self.users, self.models, self._fair)

    # -- objective and feasibility -----------------------------------------------------------------

    def objective(self, solution: Allocation) -> float:
        """Return sum_u U_u, min_u U_u / f_u or sum_u t_u log U_u / sum_u t_u, by the aim.

        Parameters
        ----------
        solution : Allocation

        Returns
        -------
        float
            For "nash" -inf where some user gets nothing that it can use.
        """
        values = self.values(solution)
        if self.aim == "total":
            return math.fsum(values)
        if self.aim == "max-min":
            return float((values / self.fair_values).min())
        if not values.all():
            return -math.inf
        return math.fsum(self.tickets * np.log(values)) / math.fsum(self.tickets)

    def violations(self, solution: Allocation) -> list[str]:
        """Return what `solution` breaks, beyond a relative 1e-9.

        Parameters
        ----------
        solution : Allocation
            That no share is negative is its own rule.

        Returns
        -------
        list of str
            Messages begin with reference, supply, cap or floor (not for "nash").
        """
        names = (tuple(solution.users), tuple(solution.models))
        if names != (tuple(self.users), tuple(self.models)):
            return [f"reference: users and models {names} are not the market's"]
        broken = []
        used = solution.shares.sum(axis=0)
        for g in np.flatnonzero(used > self.gpus * (1 + TOLERANCE)).tolist():
            broken.append(
                f"supply: {used[g]} of {self.gpus[g]} GPUs of {self.models[g]!r} are in use"
            )
        held = solution.shares.sum(axis=1)
        for u in np.flatnonzero(held > self.demand * (1 + TOLERANCE)).tolist():
            broken.append(
                f"cap: user {self.users[u]!r} has {held[u]} GPUs, can use {self.demand[u]}"
            )
        if self.aim != "nash":
            broken += self._below(self.values(solution))
        return broken

    def _below(self, values: Floats) -> list[str]:
        due = self.fair_values
        return [
            f"floor: user {self.users[u]!r} gets {values[u]}, its fair share is worth {due[u]}"
            for u in np.flatnonzero(values < due * (1 - TOLERANCE)).tolist()
        ]

    # -- declarative model -------------------------------------------------------------------------

    def build(self, form: str = "conic") -> Model[Allocation]:
        """Return the aim's convex program as a CVXPY problem.

        Parameters
        ----------
        form : {"conic"}
            Linear for "total" and "max-min", with exponential cones for "nash".

        Raises
        ------
        ValueError
            Where `form` is unknown.
        """
        return build(self, form)


def effective_tickets(
    tickets: Sequence[Fraction], demand: Sequence[Fraction | float], total: int
) -> list[Fraction]:
    """Return share_u = min(cap_u, lambda t_u), with which `total`, or all caps, are used up.

    Notes
    -----
    Users are fixed at their caps by rising cap_u / t_u, as long as lambda is above that: O(n log n)
    rational operations. The same as the readjustment of weights by Chandra et al. (OSDI 2000) that
    the paper uses, with caps in GPUs.

    Examples
    --------
    Section 2.1: a third user on 8 GPUs can use 2 only; the others get 3 each.

    >>> [str(share) for share in effective_tickets([Fraction(1)] * 3, [4, 4, 2], 8)]
    ['3', '3', '2']
    """
    finite = [u for u, cap in enumerate(demand) if cap != math.inf]
    finite.sort(key=lambda u: Fraction(demand[u]) / tickets[u])
    left, weight = Fraction(total), sum(tickets, Fraction(0))
    shares: dict[int, Fraction] = {}
    for u in finite:
        cap = Fraction(demand[u])
        if cap * weight > left * tickets[u]:
            break
        shares[u] = cap
        left, weight = left - cap, weight - tickets[u]
    return [shares[u] if u in shares else left * t / weight for u, t in enumerate(tickets)]


def _fair_shares(market: GpuMarket) -> Floats:
    tickets = [Fraction(t) for t in market.tickets.tolist()]
    gpus = market.gpus.tolist()
    shares = effective_tickets(tickets, market.demand.tolist(), sum(gpus))
    return np.array([[float(share * n / sum(gpus)) for n in gpus] for share in shares])


# -- checks of the data ----------------------------------------------------------------------------


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array = np.array(array)
    array.flags.writeable = False
    return array


def _names(kind: str, names: Sequence[str], count: int) -> tuple[str, ...]:
    given = tuple(names)
    if len(given) != count:
        raise ValueError(f"GpuMarket: {len(given)} {kind} for {count} in speeds")
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"GpuMarket: {kind}={given!r} has a name that is not a string")
    if len(set(given)) != count:
        raise ValueError(f"GpuMarket: {kind}={given!r} has a name twice")
    return given


def _whole(gpus: Any, models: Sequence[str]) -> NDArray[np.int64]:
    array = np.asarray(gpus, dtype=object)  # True, and 1.0 beside 1.5, stay what they are
    if array.shape != (len(models),):
        raise ValueError(f"GpuMarket: gpus has shape {array.shape} for {len(models)} models")
    for model, count in zip(models, array.tolist(), strict=True):
        whole = isinstance(count, Integral) and not isinstance(count, bool)
        if not whole or not 1 <= count <= LARGEST:
            raise ValueError(f"model {model!r}: gpus={count!r} is not an integer from 1 to 1e7")
    return _frozen(array.astype(np.int64))


def _positive(name: str, values: Any, users: Sequence[str]) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(users),):
        raise ValueError(f"GpuMarket: {name} has shape {array.shape} for {len(users)} users")
    for user, value in zip(users, array.tolist(), strict=True):
        unlimited = name == "demand" and value == math.inf
        if not (SMALLEST <= value <= LARGEST or unlimited):
            raise ValueError(f"user {user!r}: {name}={value} is not from 1e-6 to 1e7")
    return _frozen(array)


def _check_speeds(speeds: Floats, users: Sequence[str], models: Sequence[str]) -> None:
    for u, g in np.argwhere(~((speeds == 0) | (speeds >= SMALLEST) & (speeds <= LARGEST)))[:1]:
        raise ValueError(
            f"user {users[u]!r}: speed={speeds[u, g]} on {models[g]!r} is not 0 or from 1e-6 to 1e7"
        )
    for u in np.flatnonzero(~speeds.any(axis=1))[:1]:
        raise ValueError(f"user {users[u]!r}: speeds are all 0, it can use no model")
