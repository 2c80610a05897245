"""Lease arithmetic: how many leases a job needs, and how many begin in time for its deadline.

Source: Gao et al. (2024), section III-B3 (suspension and resumption) and III-C4 (L_i, Q_f,i).

Symbols
-------
==============  ==================  ======================================================
symbol          here                unit
==============  ==================  ======================================================
T^lease         ``lease``           s
T^dur           ``work``            s of service left, at the speed of the allocation
t^sr            ``cost``            s lost by one suspension and resumption
D_f,i           ``deadline``        s from now
L, Q            ``Terms``           leases needed; leases within which they must lie
==============  ==================  ======================================================

Slots of length T follow each other from now on. A job that gets L of the first Q of them in any
order is complete by its deadline.

Deviations from the paper
-------------------------
- L = ceil(T^dur / T) and Q = floor(D / T) are not both needed in full: a job is complete within its
  last lease, r seconds after its begin. With Q = floor((D - r) / T) + 1 nothing is lost: Q >= L
  exactly where D >= T^dur ("lossless", the default). The printed rounding is "paper".
- Eq. (3), k suspensions with hypergeometric weights, is an expectation with the closed form
  (n - 1)(m - n) / m, n leases placed at random among m. It depends on n, which depends on it, and
  on the deadline through m: L is the least n that is enough for itself.
- (3) counts boundaries between the first and the last lease. A suspended job pays one t^sr more; a
  running job is interrupted also between now and its next lease: n (m - n) / m.
- "paper" follows the letter: (3) once, with n of the work alone, and (12) rounds L / phi up again.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, NamedTuple

from ...instances.model import FULL_SPEED

Rounding = Literal["lossless", "paper"]


class LeasePhase(IntEnum):
    """Where a job of the queue stands."""

    FRESH = 0  #: has never run
    SUSPENDED = 1  #: its next start costs t^sr
    RUNNING = 2  #: its lease can be renewed for nothing


class Terms(NamedTuple):
    """Leases needed and leases available.

    Parameters
    ----------
    needed : int
        L, at least 1.
    within : int
        Q, at least L.
    """

    needed: int
    within: int


def mean_interruptions(needed: int, within: int, *, running: bool = False) -> tuple[int, int]:
    """Return the mean number of interruptions of `needed` leases among `within`, as a fraction.

    Notes
    -----
    The closed form of eq. (3): mean number of runs of consecutive slots, minus 1 if not `running`
    (that is n (m - n + 1) / m - 1), or minus the chance n / m that the first slot continues the
    present run.

    Examples
    --------
    >>> mean_interruptions(2, 4), mean_interruptions(2, 4, running=True)
    ((2, 4), (4, 4))
    """
    return (needed - (0 if running else 1)) * (within - needed), within


def remaining_estimate(work: int, cost: int, lease: int) -> tuple[int, int]:
    """Return the seconds a best-effort job still needs, suspended every other time, as a fraction.

    Notes
    -----
    The paper has n / 2 suspensions for n leases; between n leases there are n - 1 boundaries.

    Examples
    --------
    >>> remaining_estimate(900, 40, 300)
    (1880, 2)
    """
    return 2 * work + cost * (-(-work // lease) - 1), 2


def lease_terms(
    work: int,
    deadline: int,
    *,
    lease: int,
    speed: int = FULL_SPEED,
    cost: int = 0,
    phase: LeasePhase = LeasePhase.FRESH,
    rounding: Rounding = "lossless",
) -> Terms | None:
    """Return L and Q of a job for one deadline, with (1) to (3), or None where it cannot meet it.

    Notes
    -----
    "lossless": with w = ceil(work / speed) (plus t^sr for a suspended job), the first m with
    m T + (last part of w) <= D, the least L >= ceil(w / T) with L T >= w + t^sr E(L, m), then the
    length of the last lease from the length so found, and Q from that. L <= m and Q >= L always;
    without t^sr no job with deadline >= w is refused. Scans at most m - ceil(w / T) + 1 values.

    Examples
    --------
    A job of 25 minutes by minute 26 needs the third lease of 10 minutes for 5 of them only:

    >>> lease_terms(1500, 1560, lease=600)
    Terms(needed=3, within=3)
    >>> lease_terms(1500, 1560, lease=600, rounding="paper") is None
    True
    """
    if rounding == "paper":
        return _printed(work, deadline, lease, speed, cost)
    w = -(-work * FULL_SPEED // speed) + (cost if phase is LeasePhase.SUSPENDED else 0)
    least = -(-w // lease)
    within = (deadline - (w - (least - 1) * lease)) // lease + 1
    if within < least:
        return None
    running = phase is LeasePhase.RUNNING
    for needed in range(least, within + 1):
        times, share = mean_interruptions(needed, within, running=running)
        if needed * lease * share >= w * share + cost * times:
            break
    length = max(w + -(-cost * times // share), (needed - 1) * lease + 1)
    last = length - (needed - 1) * lease
    return Terms(needed, (deadline - last) // lease + 1)


def _printed(work: int, deadline: int, lease: int, speed: int, cost: int) -> Terms | None:
    """L = ceil(T^dur / T), Q = floor(D / T), and ceil(L / phi) leases by (12)."""
    least, within = -(-work // lease), deadline // lease
    if within < least:
        return None
    times, share = mean_interruptions(least, within)
    printed = -(-(work * share + cost * times) // (lease * share))
    needed = -(-printed * FULL_SPEED // speed)
    return None if needed > within else Terms(needed, within)
