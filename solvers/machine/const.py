"""The numbers that the compiled driver counts, marks and lists by."""

from __future__ import annotations

from enum import IntEnum

from ..policy import Key, Phase, Preempts


class EventKind(IntEnum):
    """What happened to a job."""

    VISIBLE = 0  #: its first round came
    START = 1  #: it got GPUs, for the first time or again
    SUSPEND = 2  #: it lost them, its progress kept
    KILL = 3  #: it lost them and what it did since its last lease began
    FINISH = 4
    PROFILE = 5  #: it got GPUs to be profiled on
    PROFILED = 6  #: that is over; it waits


#: so many segments in a row that end without progress are taken for a policy that never ends
MOST_FRUITLESS = 100_000
UNSEEN, WAITING, RUNNING, FINISHED, REJECTED = (int(phase) for phase in Phase)
VISIBLE, START, SUSPEND, KILL, FINISH, PROFILE, PROFILED = (int(kind) for kind in EventKind)
NEVER, LEASE, ALWAYS = (int(kind) for kind in Preempts)
NO_KEY, RELEASE, WORK, LEFT, AREA, ATTAINED, LEVEL, RETURNED = (int(key) for key in Key)

#: counters
NOW, ROUNDS, DECISIONS, COMING, RUNS, WAITS, SEGMENTS, ENTRIES, EVENTS, TIMER = range(10)
FREE, TOTAL, ABLE, FRUITLESS, SEEN, FREED = range(10, 16)
#: why the core returns, and how a round opens where it does not
DONE, UNTIL, MORE, ROOM, DECIDE, STUCK, QUIET, READY = range(8)
NARROW = 8  # a plan needs more room, or new prices
#: parameters: the rules, and how the policy preempts, blocks and is asked; RANKED: whether lists
#: are by rank, as Python sees them; GROUPS: whether users are groups of their own
TAU, LEASE_LENGTH, SYNCHRONOUS, SPREAD, PATIENCE, SKIP, KEY, PREEMPTS, BLOCKING, ASKED = range(10)
RANKED, GROUPS = 10, 11
NONE = 2**62
#: rows of `lists`
COMERS, RUNNERS, WAITERS, HEAP, PICKED, LOSERS, KEPT, FAILED, STARTED, REST, GROUP = range(11)
#: of REST, where jobs get nodes anew: GPUs of each node that selected jobs have and are yet to take
WANTED = REST
#: marks of jobs in a decision
NOT_CANDIDATE, CANDIDATE, CHOSEN, REFUSED, LOSER = range(5)
#: rows of `ends`, in no order: when running jobs end and which they are; and by job, where it is
TIMES, ENDERS, PLACES = range(3)
#: numbers in a machine, some 15,000 jobs, for which machine code is compiled at once
MANY_NUMBERS = 300_000
