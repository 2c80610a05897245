"""One round of LTGF: which gangs get a lease, so that the users are treated as fairly as possible.

Source: the definitions of Ye et al., "ASTRAEA" (see `ltgf`), eq. (6)-(12), and the question that
their Algorithm 1 answers greedily; the program is not in the paper.

User j has got A_j GPU-seconds where F_j were fair, and its fair share is f_j GPUs. If the jobs in
x run for a lease L, its fairness at the end of it is

    rho_j = (A_j + L sum_(i of j) D_i x_i) / (F_j + L f_j),                          (12)

and the least of them is to be maximal, then the second least, and so on (leximin).

Symbols
-------
=============  ===============  ===========
symbol         here             unit
=============  ===============  ===========
M              ``gpus``         GPUs
L              ``lease``        s
A_j            ``attained``     GPU-seconds
F_j            ``fair``         GPU-seconds
f_j            ``share``        GPUs
D_i            ``jobs[i][1]``   GPUs
x_i            solution         1
=============  ===============  ===========

Forms, both exact: ``compact`` chooses how many candidates of each user and gang size run, which is
all that (12) sees of them; ``literal`` has a binary a job.

Deviations
----------
- Users without fair share (F_j + L f_j = 0) have no rho and are left out of the minimum.
- Gangs are placed by counts of GPUs; nodes are the driver's.
- Refining the maximum "by fixing the users that attain it" is not exact: several users can tie, and
  which of them stays behind decides what the others can get. `solvers.ltgf_round` decides all
  positions exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ...instances.check import at_least, check_real, integer, sequence, set_field
from ...instances.display import counted
from ..problem import Described, Goal, Model, Sense, build

#: what runs in the round: numbers of candidates, in increasing order
Selection = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LtgfRound(Described):
    """Problem: maximise the least fairness of the users at the end of one lease.

    Parameters
    ----------
    gpus : int
        M, free GPUs (idle, or of leases that have ended).
    lease : int
        L, seconds.
    attained : sequence of int
        A_j by user, GPU-seconds, with what running jobs will get within the lease.
    fair, share : sequence of float
        F_j in GPU-seconds, and f_j in GPUs, by user.
    jobs : sequence of (int, int)
        (user, gang size) of each candidate; of equal ones, those named first are taken.

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Examples
    --------
    The second user has got less and runs first; the first user's narrow job fills up.

    >>> problem = LtgfRound(
    ...     gpus=4, lease=10, attained=[20, 0], fair=[20, 20], share=[2, 2],
    ...     jobs=[(0, 4), (0, 1), (1, 3)],
    ... )
    >>> problem.fairness((1, 2))
    (Fraction(3, 4), Fraction(3, 4))
    >>> problem.objective((0,)), problem.objective((1, 2))
    (0.0, 0.75)
    """

    gpus: int
    lease: int
    attained: Sequence[int]
    fair: Sequence[float]
    share: Sequence[float]
    jobs: Sequence[tuple[int, int]]

    sense: ClassVar[Sense] = Sense.MAX
    goal: ClassVar[Goal] = Goal("least rho", time="seconds", solution="selection")
    forms: ClassVar[tuple[str, ...]] = ("compact", "literal")
    integral: ClassVar[bool] = False

    def summary(self) -> str:
        """Return the size of the round in a line."""
        jobs, users = counted(len(self.jobs), "job"), counted(len(self.share), "user")
        return f"{jobs} of {users}, {counted(self.gpus, 'GPU')}"

    def facts(self) -> dict[str, str]:
        """Return what there is to know of the size of the problem, by name."""
        return {
            "jobs": f"{len(self.jobs):,}",
            "users": f"{len(self.share):,}",
            "GPUs": f"{self.gpus:,}",
        }

    def __post_init__(self) -> None:
        owner = "LtgfRound"
        for name, least in (("gpus", 0), ("lease", 1)):
            integer(self, owner, name, least=least)
        given = sequence(f"{owner}: attained", self.attained, "integers")
        attained = [at_least(f"user {j}: attained", value, 0) for j, value in enumerate(given)]
        set_field(self, "attained", tuple(attained))
        for name in ("fair", "share"):
            given = sequence(f"{owner}: {name}", getattr(self, name), "numbers")
            reals = [check_real(f"user {j}", name, value) for j, value in enumerate(given)]
            set_field(self, name, tuple(reals))
        jobs = enumerate(sequence(f"{owner}: jobs", self.jobs, "pairs"))
        set_field(self, "jobs", tuple(_checked_pair(i, pair) for i, pair in jobs))
        users = len(self.attained)
        for name in ("fair", "share"):
            if len(getattr(self, name)) != users:
                raise ValueError(
                    f"LtgfRound: {name} has {len(getattr(self, name))} entries for {users} users"
                )
        for i, (user, _) in enumerate(self.jobs):
            if user >= users:
                raise ValueError(f"job {i}: user={user} is not one of the {users} users")

    @property
    def users(self) -> list[int]:
        """Users that have a fair share, and so a fairness."""
        return [j for j in range(len(self.attained)) if self.fair[j] + self.lease * self.share[j]]

    def fairness(self, solution: Selection) -> tuple[Fraction, ...]:
        """Return rho_j at the end of the lease, of :attr:`users` in their order, exactly.

        Parameters
        ----------
        solution : tuple of int
        """
        got = [0] * len(self.attained)
        for i in solution:
            user, gang = self.jobs[i]
            got[user] += gang
        return tuple(
            Fraction(self.attained[j] + self.lease * got[j]) / self.due(j) for j in self.users
        )

    def due(self, user: int) -> Fraction:
        """Return F_j + L f_j, exactly that of the given floats.

        Parameters
        ----------
        user : int
        """
        return Fraction(self.fair[user]) + self.lease * Fraction(self.share[user])

    def objective(self, solution: Selection) -> float:
        """Return the least rho_j, to the nearest float; 1 where no user has a fair share."""
        return float(min(self.fairness(solution), default=Fraction(1)))

    def violations(self, solution: Selection) -> list[str]:
        """Return what `solution` breaks: candidates taken twice or unknown, more GPUs than free."""
        unknown = [i for i in solution if not 0 <= i < len(self.jobs)]
        if unknown:
            return [f"reference: job number {i} of {len(self.jobs)}" for i in unknown]
        broken = [
            f"gang: job {i} is taken {count} times"
            for i, count in Counter(solution).items()
            if count > 1
        ]
        used = sum(self.jobs[i][1] for i in solution)
        if used > self.gpus:
            broken.append(f"capacity: gangs use {used} of {self.gpus} GPUs")
        return broken

    # -- declarative models ------------------------------------------------------------------------

    def build(self, form: str = "compact") -> Model[Selection]:
        """Return the program of the least rho in one of `forms`, in Pyomo.

        Raises
        ------
        ValueError
            Where `form` is unknown.
        """
        return build(self, form)


def _checked_pair(job: int, pair: Any) -> tuple[int, int]:
    """User and gang of a candidate."""
    both = sequence(f"LtgfRound: jobs[{job}]", pair, "two integers")
    if len(both) != 2:
        raise ValueError(f"LtgfRound: jobs[{job}]={pair!r} is not a pair (user, gang)")
    return at_least(f"job {job}: user", both[0], 0), at_least(f"job {job}: gpus", both[1], 1)
