"""The fair GPU time of users and jobs, eq. (3), (4), (6)-(9), (13), (14) and (16) of LTGF.

Source: Z. Ye, P. Sun, W. Gao, T. Zhang, X. Wang, S. Yan, Y. Luo, "ASTRAEA: A Fair Deep Learning
Scheduler for Multi-Tenant GPU Clusters", IEEE TPDS 2022, Section 4.2.

Shares change only when a job arrives or departs, so every integral is piecewise linear: it is kept
as (t0, value, slope), rewritten only when the jobs of its user change, and evaluated as
``value + slope * (t - t0)``, exact but for rounding. Looking at it changes nothing, which is what
makes a run that skips quiet rounds equal, to the last bit, to one that visits them all.

F_i of a job that is active since v is G(t) - G(v), where G is the integral over min(D, share) of
all jobs of its user with its gang size and weight: one accumulator for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..instances.check import at_least
from ..instances.model import check_real


@dataclass(slots=True)
class _Integral:
    """A piecewise linear function of time, from its last kink on."""

    t0: int
    value: float
    slope: float

    def at(self, t: int) -> float:
        return self.value + self.slope * (t - self.t0)

    def turn(self, t: int, slope: float) -> None:
        self.value, self.t0, self.slope = self.at(t), t, slope


@dataclass(slots=True)
class _User:
    """Active jobs of one user, and its integrals."""

    quota: float
    time: _Integral
    demand: int = 0
    total: float = 0.0
    active: dict[tuple[int, float], int] = field(default_factory=dict)
    classes: dict[tuple[int, float], _Integral] = field(default_factory=dict)


class FairShares:
    """Fair shares of users and jobs over time, from the jobs that are active.

    Parameters
    ----------
    gpus : int
        M, GPUs of the cluster.
    weights : sequence of float
        Weight of each user, by number; positive.
    by : {"demand", "quota"}
        Fair share of a user: min(demand, quota), eq. (8), or its quota at all times, also while it
        has no job, eq. (16). The shares of its jobs follow (8) in both: the paper replaces (8) by
        (16) in the users' fairness only.

    Attributes
    ----------
    quotas : tuple of float
        Quota_j, eq. (6), by user.

    Raises
    ------
    ValueError, TypeError, KeyError
        Naming object, value and rule; also by the methods.

    Notes
    -----
    With a single user there is no quota to respect, and eq. (3) divides all M GPUs among the active
    jobs, however little they demand: its fair share is M while it has a job.

    A change costs O(distinct gang sizes and weights that the user has had), a query O(1).

    Examples
    --------
    Two users on 8 GPUs. The first has a 1-GPU job, and from 10 on also a 6-GPU job: it demands 7 of
    its quota of 4, which is 2 GPUs a job, of which the narrow job can use one.

    >>> shares = FairShares(8, [1, 1], by="demand")
    >>> shares.arrive(0, 0, 1)
    >>> shares.share(0), shares.share(1)
    (1.0, 0.0)
    >>> shares.arrive(10, 0, 6)
    >>> shares.share(0), shares.user_time(0, 15)
    (4.0, 30.0)
    >>> shares.job_time(0, 1, 1.0, 15), shares.job_time(0, 6, 1.0, 15)
    (15.0, 10.0)
    """

    __slots__ = ("_users", "by", "gpus", "quotas")

    def __init__(
        self, gpus: int, weights: Sequence[float], *, by: Literal["demand", "quota"]
    ) -> None:
        self.gpus = at_least("fair shares: gpus", gpus, 1)
        if by not in ("demand", "quota"):
            raise ValueError(f"fair shares: by={by!r} is not 'demand' or 'quota'")
        self.by = by
        checked = [
            check_real(f"user {j}", "weight", w, positive=True) for j, w in enumerate(weights)
        ]
        if not checked:
            raise ValueError("fair shares: weights=() is empty, there is at least one user")
        total = math.fsum(checked)
        self.quotas = tuple(self.gpus * weight / total for weight in checked)
        self._users = [_User(quota, _Integral(0, 0.0, 0.0)) for quota in self.quotas]
        for user in self._users:
            user.time.slope = self._user_share(user)

    def arrive(self, t: int, user: int, gangs: int, weight: float = 1.0) -> None:
        """Let a job become active.

        Parameters
        ----------
        t : int
            Time, not before the user's last change.
        user : int
            Number of its user.
        gangs : int
            Its gang size.
        weight : float
            Its weight among the jobs of its user.
        """
        owner, kind = self._kind(user, gangs, weight)
        self._check_time(owner, user, t)
        owner.active[kind] = owner.active.get(kind, 0) + 1
        owner.classes.setdefault(kind, _Integral(t, 0.0, 0.0))
        owner.demand += kind[0]
        owner.total += kind[1]
        self._turn(owner, user, t)

    def depart(self, t: int, user: int, gangs: int, weight: float = 1.0) -> None:
        """Let a job end.

        Parameters
        ----------
        t, user, gangs, weight
            As of :meth:`arrive`; such a job must be active.
        """
        owner, kind = self._kind(user, gangs, weight)
        self._check_time(owner, user, t)
        if not owner.active.get(kind):
            raise ValueError(
                f"user {user}: no job of gpus={gangs} and weight={weight} is active that could end"
            )
        owner.active[kind] -= 1
        owner.demand -= kind[0]
        owner.total = owner.total - kind[1] if owner.demand else 0.0
        self._turn(owner, user, t)

    def share(self, user: int) -> float:
        """Return f_j, the user's fair number of GPUs now: eq. (8) or (16).

        Parameters
        ----------
        user : int
        """
        return self._user(user).time.slope

    def user_time(self, user: int, t: int) -> float:
        """Return the user's fair GPU time from 0 to t, eq. (9).

        Parameters
        ----------
        user : int
        t : int
            Not before the user's last change.
        """
        owner = self._user(user)
        self._check_time(owner, user, t)
        return owner.time.at(t)

    def job_time(self, user: int, gangs: int, weight: float, t: int) -> float:
        """Return G(t): eq. (14) over [0, t], for a job of this size and weight, were it active.

        F_i of a job that is active since v is ``G(t) - G(v)``.

        Parameters
        ----------
        user, gangs, weight
            As of :meth:`arrive`; such a job must have been seen. G is 0 when it was first.
        t : int
            Not before the user's last change.
        """
        owner, kind = self._kind(user, gangs, weight)
        self._check_time(owner, user, t)
        if kind not in owner.classes:
            raise KeyError(f"user {user}: no job of gpus={gangs} and weight={weight} has been seen")
        return owner.classes[kind].at(t)

    def job_share(self, user: int, gangs: int, weight: float = 1.0) -> float:
        """Return min(D, share) now, the integrand of eq. (14), for such a job.

        Parameters
        ----------
        user, gangs, weight
            As of :meth:`arrive`; such a job must have been seen.
        """
        owner, kind = self._kind(user, gangs, weight)
        if kind not in owner.classes:
            raise KeyError(f"user {user}: no job of gpus={gangs} and weight={weight} has been seen")
        return owner.classes[kind].slope

    def save(self) -> list[list[Any]]:
        """Return all integrals and who is active, as plain data; one row a user."""
        return [
            [
                [own.time.t0, own.time.value, own.time.slope, own.demand, own.total],
                [[*kind, count] for kind, count in own.active.items()],
                [[*kind, one.t0, one.value, one.slope] for kind, one in own.classes.items()],
            ]
            for own in self._users
        ]

    def load(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from there.

        Parameters
        ----------
        rows : sequence
            As of :meth:`save`.
        """
        for own, (whole, active, classes) in zip(self._users, rows, strict=True):
            own.time, own.demand, own.total = _Integral(*whole[:3]), whole[3], whole[4]
            own.active = {(gang, weight): count for gang, weight, count in active}
            own.classes = {(gang, weight): _Integral(*rest) for gang, weight, *rest in classes}

    def _turn(self, owner: _User, user: int, t: int) -> None:
        """Carry all integrals of a user to t and give them their new slopes."""
        if owner.demand and owner.total <= 0:
            raise ValueError(f"user {user}: weights of its jobs differ too much to be added up")
        owner.time.turn(t, self._user_share(owner))
        fair = self._jobs_share(owner)
        for (gangs, weight), integral in owner.classes.items():
            # (13), in this order of operations, and the minimum of (14)
            slope = min(gangs, fair * weight / owner.total) if owner.demand else 0.0
            integral.turn(t, float(slope))

    def _user_share(self, owner: _User) -> float:
        """(8), or (16)."""
        return owner.quota if self.by == "quota" else self._jobs_share(owner)

    def _jobs_share(self, owner: _User) -> float:
        """(8), which the user's jobs divide among them; (3) with a single user."""
        if len(self._users) == 1:
            return float(self.gpus) if owner.demand else 0.0
        return float(min(owner.demand, owner.quota))

    def _user(self, user: int) -> _User:
        if not 0 <= user < len(self._users):
            raise KeyError(f"user {user}: not one of the {len(self._users)} users")
        return self._users[user]

    def _kind(self, user: int, gangs: int, weight: float) -> tuple[_User, tuple[int, float]]:
        owner = f"job of user {user}"
        size = at_least(f"{owner}: gpus", gangs, 1)
        return self._user(user), (size, check_real(owner, "weight", weight, positive=True))

    @staticmethod
    def _check_time(owner: _User, user: int, t: int) -> None:
        if t < owner.time.t0:
            raise ValueError(f"user {user}: t={t} is before its last change at {owner.time.t0}")
