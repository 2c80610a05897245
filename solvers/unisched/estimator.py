"""How long jobs will take, as a scheduler can know it: seconds per iteration times iterations left.

Source: Gao et al. (2024), section III-B: T^dur = T^sr + N^iter T^iter, (1).

=================  ==============================================================================
symbol             here
=================  ==============================================================================
T^iter, (2)        :class:`IterationTimes`
N^iter             :class:`DurationEstimates`, with :mod:`.learning_curves`
T^sr, (3)          :func:`gangsched.formulations.unisched.leases.lease_terms`, for it depends on the
                   deadline
=================  ==============================================================================

Deviations from the paper
-------------------------
- One profiling run measures T^comp with T^1 *or* T^2 (two GPUs of one node, or of two nodes), but
  the speed of a gang split over nodes against that of a consolidated one needs both. Reading: both
  are known after the one profiling run. `DeadlineJob.split_speed` is their ratio.
- The metrics of the profiling run are not used: it has another batch size, and the paper finds that
  they mislead. Before a job has run for four epochs it is assumed to need the most epochs
  ("ensemble"), or what jobs usually need ("calibrated").
- The injected error (Fig. 9(d)) scales the estimated time left. It is drawn once for each job, as
  one profiling run would err; split speeds stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ...instances.arrays import Ints
from ...instances.check import integer, one_of
from ...instances.model import Job, TargetMetric, check_real
from ..growing import longer
from ..information import gaussian_factor
from ..policy import State
from .learning_curves import LEAST_POINTS, epochs_at
from .savings import distribution_of


@dataclass(frozen=True, slots=True)
class IterationTimes:
    """What one training iteration takes, eq. (2): computation, and communication per further GPU.

    Parameters
    ----------
    compute : float
        T^comp, seconds, positive.
    intra : float
        T^1, seconds of communication for each GPU but the first, on one node.
    inter : float
        T^2, the same on several nodes; not less than `intra`.

    Examples
    --------
    >>> times = IterationTimes(compute=0.3, intra=0.01, inter=0.04)
    >>> times.seconds(1, 1), round(times.seconds(6, 1), 2), round(times.seconds(6, 2), 2)
    (0.3, 0.35, 0.5)
    >>> round(times.split_speed(6), 2)
    0.7
    """

    compute: float
    intra: float
    inter: float

    def __post_init__(self) -> None:
        owner = "iteration times"
        for name in ("compute", "intra", "inter"):
            value = check_real(owner, name, getattr(self, name), positive=name == "compute")
            object.__setattr__(self, name, value)
        if self.inter < self.intra:
            raise ValueError(f"{owner}: inter={self.inter} is below intra={self.intra}")

    def seconds(self, gpus: int, nodes: int) -> float:
        """Return the seconds of one iteration, (2).

        Parameters
        ----------
        gpus, nodes : int
            How many GPUs, on how many nodes.
        """
        if not 1 <= nodes <= gpus:
            raise ValueError(f"iteration times: nodes={nodes} is not within 1 and gpus={gpus}")
        return self.compute + (gpus - 1) * (self.intra if nodes == 1 else self.inter)

    def split_speed(self, gpus: int) -> float:
        """Return the speed of a gang on several nodes relative to one node, within (0, 1].

        Parameters
        ----------
        gpus : int
            Gang size; 1 cannot be split and gives 1.
        """
        return self.seconds(gpus, 1) / self.seconds(gpus, min(gpus, 2))


Mode = Literal["calibrated", "ensemble", "maximum", "true"]


class _Jobs:
    """What is known of the jobs that have come, as columns, and the last estimate of each.

    Attributes
    ----------
    targets : dict of int to TargetMetric
        Of jobs that one ends.
    work, epochs : (jobs,) int arrays
        Epochs are the true ones, which only turn seconds into epochs.
    metric : (jobs,) bool array
        Whether a target metric ends the job.
    seen, total : (jobs,) int arrays
        Epochs at the last estimate, and epochs estimated then.
    factor : (jobs,) float array
        Estimated over true time.
    """

    def __init__(self) -> None:
        self.targets: dict[int, TargetMetric] = {}
        self.metric = np.zeros(0, dtype=bool)
        self.work, self.epochs = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.seen, self.total = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.factor = np.zeros(0)
        self._count = 0

    def read(self, state: State, noise: float, seed: int) -> None:
        """Add the jobs that have come since the last round."""
        arrived = state.arrived
        for j in arrived[self._count :].tolist() if arrived.size > self._count else ():
            self.add(j, state.job(j), noise, seed)
        self._count = arrived.size

    def add(self, number: int, job: Job, noise: float, seed: int) -> None:
        """Add a job."""
        if number >= self.work.size:
            for name, fill in FILL.items():
                setattr(self, name, longer(getattr(self, name), number + 1, fill))
        self.work[number] = job.work or 0
        if noise:
            self.factor[number] = gaussian_factor(job.id, noise, seed)
        if job.target is not None:
            self.targets[number], self.metric[number] = job.target, True
            self.epochs[number], self.total[number] = job.target.epochs, job.target.max_epochs


#: what columns hold of jobs that have not come
FILL = {"metric": False, "work": 0, "epochs": 1, "seen": -1, "total": 1, "factor": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationEstimates:
    """Seconds of service left of jobs that a policy queues, as the scheduler estimates them.

    Source: Gao et al. (2024), Sections III-B1 and III-B2: N^iter T^iter of (1), where `noise` is
    the error of (2); a `quantile` is not theirs. T^sr, (3), comes with the deadline: see
    :func:`~gangsched.formulations.unisched.leases.lease_terms`.

    Parameters
    ----------
    mode : {"calibrated", "ensemble", "maximum", "true"}
        The epochs of jobs that a target metric ends: predicted from those seen so far and from
        what jobs usually save (:mod:`.savings`), from those seen alone as in the paper, the most
        that their users allow, or (for comparison) those that they really run.
    quantile : float
        Of the predicted epochs, within (0, 1): 0.5 for the median, more to be careful.
    noise : float
        Standard deviation of a Gaussian error of the profiled run time relative to the true one;
        draws that would leave no positive time are repeated.
    seed : int
        Of this error, not negative. With the job's id it determines its error, whatever other jobs
        there are.

    Notes
    -----
    Jobs that iterations end have no other error than `noise`. Only epochs that a job has completed
    are looked at; its prediction is made again when there is a new one. The last estimates of a run
    are kept in `State.derived`, and can be made again.

    O(jobs) per call, and about 0.5 ms for each job with a new epoch.

    Examples
    --------
    A job of 3,000 s and 30 epochs has done 600 s, so 6 epochs. By the 100 epochs that its user
    allows it would have 9,400 s left.

    >>> from ...instances.model import DeadlineJob
    >>> curve = 0.9 - 0.6 / np.arange(1, 31) ** 0.5
    >>> stopping = TargetMetric(target=0.79, max_epochs=100, curve=curve)
    >>> job = DeadlineJob(id="a", gpus=2, work=3000, stopping=stopping)
    >>> DurationEstimates(mode="maximum").of_job(job, left=2400)
    9400
    >>> DurationEstimates(mode="ensemble").of_job(job, left=2400)
    2400

    Few jobs save more than 31 % of their epochs, so more must be seen before that is believed.

    >>> [DurationEstimates().of_job(job, left=left) for left in (2400, 1500, 600)]
    [8200, 7300, 600]
    """

    mode: Mode = "calibrated"
    quantile: float = 0.5
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        owner = "duration estimates"
        one_of(f"{owner}: mode", self.mode, get_args(Mode))
        object.__setattr__(self, "quantile", check_real(owner, "quantile", self.quantile))
        if not 0 < self.quantile < 1:
            raise ValueError(f"{owner}: quantile={self.quantile} is not within (0, 1)")
        object.__setattr__(self, "noise", check_real(owner, "noise", self.noise))
        integer(self, owner, "seed", least=0)

    def remaining(self, state: State, jobs: Ints) -> Ints:
        """Return the estimated seconds of service left at full speed, at least 1, of each job.

        Parameters
        ----------
        state : State
        jobs : (n,) int array
            Visible jobs that are not finished.
        """
        jobs = np.asarray(jobs, dtype=np.int64)
        known: _Jobs | None = state.derived.get(self)
        if known is None:
            known = state.derived[self] = _Jobs()
        known.read(state, self.noise, self.seed)
        return self._estimate(known, jobs, state.remaining(jobs))

    def of_job(self, job: Job, left: int) -> int:
        """Return the same for one job.

        Parameters
        ----------
        job : Job
        left : int
            Seconds of service that it really has left.
        """
        known = _Jobs()
        known.add(0, job, self.noise, self.seed)
        return int(self._estimate(known, np.array([0]), np.array([left]))[0])

    def _estimate(self, known: _Jobs, jobs: Ints, left: Ints) -> Ints:
        """Seconds left of jobs with so many really left."""
        estimate = left.copy()
        if self.mode != "true" and known.targets:
            metric = np.flatnonzero(known.metric[jobs])
            estimate[metric] = self._by_epochs(known, jobs[metric], left[metric])
        if self.noise:
            estimate = np.rint(estimate * known.factor[jobs]).astype(np.int64)
        return np.maximum(1, estimate)

    def _by_epochs(self, known: _Jobs, jobs: Ints, left: Ints) -> Ints:
        """Seconds left by the estimated number of epochs, of jobs that a target metric ends."""
        work, epochs = known.work[jobs], known.epochs[jobs]
        done = work - left
        seen = done * epochs // work
        if self.mode in ("calibrated", "ensemble"):
            for k in np.flatnonzero(seen != known.seen[jobs]).tolist():
                self._predict(known, int(jobs[k]), int(seen[k]))
        return -(-work * known.total[jobs] // epochs) - done

    def _predict(self, known: _Jobs, job: int, seen: int) -> None:
        """Estimate the epochs of a job from those seen."""
        stopping = known.targets[job]
        known.seen[job], known.total[job] = seen, stopping.max_epochs
        if self.mode == "calibrated" or seen >= LEAST_POINTS:
            stopped = distribution_of(stopping, seen, self.mode)
            known.total[job] = epochs_at(stopped, self.quantile)
