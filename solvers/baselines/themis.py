"""Themis: finish-time fairness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..policy import Decision, Floats, Ints, Preempts, Rule, RuleKind, State, ranked

__all__ = ["ThemisGreedy"]


def finish_time_fairness(state: State, jobs: Ints) -> Floats:
    """Return rho_i = T_sh / T_id of each of `jobs`, if it ran from now on without a break.

    T_sh = (now - release) + remaining time; T_id = run time times the mean number of active jobs
    over its life so far (Mahajan et al., NSDI 2020, Section 5.1: an even share of the cluster).

    Parameters
    ----------
    state : State
    jobs : (n,) int array
    """
    shared = state.now - state.release[jobs] + state.remaining(jobs)
    alone: Floats = shared / (state.work[jobs] * state.mean_active(jobs))
    return alone


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemisGreedy:
    """Give leases to the jobs with the largest finish-time fairness rho.

    Notes
    -----
    Source: K. Mahajan et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020. This
    is its fairness without its auction: candidates by falling rho, ties by (release, number); a job
    that does not fit is skipped. Run times must be known; the paper's estimation error is left out.
    Guarantee: none.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=180), Job(id="b", gpus=2, work=60)]
    >>> run = drive(Instance(Cluster.of_sizes([2]), jobs), ThemisGreedy(), lease=60, overhead=0)
    >>> run.records.end.tolist()
    [240, 120]
    """

    name: ClassVar[str] = "themis-greedy"
    preempts: ClassVar[Preempts] = Preempts.LEASE

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return Rule(RuleKind.THEMIS)

    def decide(self, state: State) -> Decision:
        """Return the candidates by falling rho."""
        jobs = state.candidates
        return Decision(order=ranked(state, jobs, -finish_time_fairness(state, jobs)))

    def next_change(self, state: State) -> None:
        """Fairness moves all the time, but no job that waits has room before something ends."""
