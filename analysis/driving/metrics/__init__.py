"""What a run was worth: times, use of the cluster, and fairness to jobs and users.

Every function is a pure function of a :class:`~gangsched.analysis.driving.run.Run`. Those that
need GPU models, speeds or deadlines ask for its instance, and raise ValueError where a run does not
know it.
Fair GPU time is computed here from arrivals and completions alone, with other code than the
driver's accounting (:mod:`gangsched.formulations.fair_shares`), so that the two check each other.

Values by job are arrays with one entry per job of the instance, NaN where the job has none: jobs
that did not finish have no completion time, rejected jobs nothing at all. A mean is over the others
and is None where there are none.

A job is active, and demands its gang, from its first round v to the round at which its GPUs are
free again (its completion, rounded up to rounds), or to the end of the run. It holds GPUs until it
completes, and its own fair time ends there too.

On several GPU models, work is in seconds at speed 1, and GPU time, held or fair, is that of all
GPUs alike. Slowdowns are over p = ceil(work / speed on the job's fastest model), so at least 1, as
in :class:`~gangsched.formulations.completion_time.CompletionTime`.

Source of the measures of deadlines: W. Gao, Z. Ye, P. Sun, T. Zhang, Y. Wen, "UniSched: A Unified
Scheduler for Deep Learning Training Jobs With Different User Demands", IEEE TC 73(6), 2024, Section
IV-C.

Source of the fairness measures: Z. Ye, P. Sun, W. Gao, T. Zhang, X. Wang, S. Yan, Y. Luo,
"ASTRAEA: A Fair Deep Learning Scheduler for Multi-Tenant GPU Clusters", IEEE TPDS 2022, Sections
4.2 and 6.1.4.
"""

from lazy_loader import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
