"""The kinds of jobs: what a driver and its policies ask of each, and what only one paper knows."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from .check import but_for, check_real, finite, integer, real, sequence, set_field, text
from .utilities import Linear as Linear
from .utilities import Power as Power
from .utilities import Table as Table
from .utilities import Utility as Utility

NO_SPEEDS: Mapping[str, float] = MappingProxyType({})

#: speeds are counted in millionths of that of a consolidated gang on GPUs of the reference model
FULL_SPEED = 1_000_000
#: seconds, and GPU seconds of one job, that can be driven: so that those of a user fit 64 bits
MOST_TIME = 2**40
#: relative to the reference, so that millionths fit 40 bits
MOST_SPEED = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A gang: all its GPUs run together or none does.

    Parameters
    ----------
    id : str
        Unique within the instance.
    gpus : int
        Gang size, at least 1. Whether it fits the cluster is checked by the problem.
    user : str
        Id of its user; empty where the instance has no users.
    release : int
        Seconds (or slots) before which the job is unknown and cannot start.
    work : int or None
        Seconds (or slots) of service at ideal speed; None where the kind of job defines its own
        measure, as :class:`RingJob` does with iterations.
    weight : float
        Importance, positive.
    speeds : mapping of str to float
        Speed on each GPU model relative to the reference model; empty where all are equal.
    group : str
        Jobs of one group belong together (e.g. one hyper-parameter search).
    pin : str
        GPU model that the job must run on; empty for any.
    pod : int
        So many of its GPUs have to be on one node; it divides `gpus`, and several pods may share a
        node. 0 where nothing is said: then a gang needs a consolidated place, or may be anywhere,
        as the rules of the cluster say. A job with pods may have them on any nodes of one model.
    after : sequence of str
        Ids of jobs that have to be finished before it may start.
    limit : int or None
        Seconds of run time that its user asked for, at least 1; it may have run longer.
    queue : str
        Queue or partition of the log that it waited in; no policy takes notice of it.

    Attributes
    ----------
    has_deadlines, needs_ps, slotted : bool
        Of its kind: whether its completion is worth something up to deadlines, whether it runs with
        parameter servers, and whether its times are slots.
    elastic : bool
        Of its kind: whether it runs on other numbers of GPUs than its gang, up to twice as many.
    spreads : bool
        Of its kind: whether it knows how fast it is on any nodes. Jobs of other kinds need a
        consolidated place, unless a cluster lets gangs spread.
    equal_gpus : bool
        Of its kind: whether it can only be driven on GPUs of one model.

    Notes
    -----
    Pods and predecessors restrict how a job is driven. Problems and their bounds take no notice of
    them: a bound for more freedom holds for less.

    Examples
    --------
    >>> Job(id="j0", gpus=4, work=3600).gpus
    4
    >>> Job(id="j0", gpus=0)
    Traceback (most recent call last):
        ...
    ValueError: job 'j0': gpus=0 is below 1
    >>> Job(id="j0", gpus=8, pod=3)
    Traceback (most recent call last):
        ...
    ValueError: job 'j0': pod=3 does not divide gpus=8
    """

    id: str
    gpus: int
    user: str = ""
    release: int = 0
    work: int | None = None
    weight: float = 1.0
    speeds: Mapping[str, float] = field(default_factory=dict)
    group: str = ""
    pin: str = ""
    pod: int = 0
    after: Sequence[str] = ()
    limit: int | None = None
    queue: str = ""

    has_deadlines: ClassVar[bool] = False
    needs_ps: ClassVar[bool] = False
    slotted: ClassVar[bool] = False
    elastic: ClassVar[bool] = False
    spreads: ClassVar[bool] = False
    equal_gpus: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self._is_plain():
            set_field(self, "speeds", NO_SPEEDS)
            return
        owner = f"job {self.id!r}"
        text(self, owner, "id", empty=False)
        integer(self, owner, "gpus", least=1)
        for name in ("user", "group", "pin", "queue"):
            text(self, owner, name)
        integer(self, owner, "release", least=0)
        if self.work is not None:
            integer(self, owner, "work", least=1)
        real(self, owner, "weight", positive=True)
        self._check_speeds(owner)
        self._check_restrictions(owner)

    def _is_plain(self) -> bool:
        """Whether nothing has to be refused or changed, seen at a glance: a trace has many jobs."""
        return (
            type(self.id) is type(self.user) is type(self.group) is type(self.pin) is str
            and type(self.gpus) is type(self.release) is type(self.work) is int
            and type(self.weight) is float
            and bool(self.id)
            and 1 <= self.gpus < 2**62
            and 0 <= self.release < 2**62
            and 1 <= self.work < 2**62
            and 0 < self.weight < math.inf
            and type(self.speeds) is dict
            and not self.speeds
            and type(self.pod) is int
            and type(self.after) is tuple
            and not (self.pod or self.after)
            and self.limit is None
            and type(self.queue) is str
        )

    def _check_restrictions(self, owner: str) -> None:
        integer(self, owner, "pod", least=0)
        if self.pod and self.gpus % self.pod:
            raise ValueError(f"{owner}: pod={self.pod} does not divide gpus={self.gpus}")
        set_field(self, "after", sequence(f"{owner}: after", self.after, "ids of jobs"))
        for id in self.after:
            if not isinstance(id, str):
                raise TypeError(f"{owner}: after has {id!r}, which is not a string")
        if self.id in self.after:
            raise ValueError(f"{owner}: after={self.after!r} has the job itself")
        if len(set(self.after)) < len(self.after):
            raise ValueError(f"{owner}: after={self.after!r} has an id twice")
        if self.limit is not None:
            integer(self, owner, "limit", least=1)

    def _check_speeds(self, owner: str) -> None:
        if type(self.speeds) is dict and not self.speeds:
            set_field(self, "speeds", NO_SPEEDS)
            return
        if not isinstance(self.speeds, Mapping):
            raise TypeError(f"{owner}: speeds={self.speeds!r} is not a mapping of model to speed")
        speeds = {
            model: check_real(owner, f"speeds[{model!r}]", speed, positive=True)
            for model, speed in self.speeds.items()
        }
        set_field(self, "speeds", MappingProxyType(speeds))

    # --- what a driver and its policies ask of every kind ---

    @property
    def best_effort(self) -> bool:
        """Whether the job has no deadline."""
        return True

    @property
    def target(self) -> TargetMetric | None:
        """The metric at which the job ends, if it is one that ends it."""
        return None

    @property
    def resumption(self) -> int | None:
        """Seconds of suspending and resuming; None for those of the cluster's rules."""
        return None

    def untold(self) -> Job:
        """Return the job as it is known before it runs where nobody tells run times."""
        untold: Job = but_for(self, "work", None)
        return untold

    def deadlines(self) -> tuple[tuple[int, float], ...]:
        """Return pairs (time, value), times of the instance rising; none for best-effort jobs."""
        return ()

    def service(self, gpus: int, nodes: int, model: str = "") -> int | None:
        """Return the seconds (or slots) of service at full speed that the job needs, if known.

        Parameters
        ----------
        gpus, nodes : int
            How many GPUs it gets, and on how many nodes it is; only a job with parameter servers
            needs other service on others.
        model : str
            Of these GPUs.
        """
        return self.work

    def speed_on_model(self, model: str) -> int:
        """Return how fast its gang is on GPUs of a model, in millionths; 0 where it cannot run."""
        if self.pin and self.pin != model:
            return 0
        return round(FULL_SPEED * self.speeds.get(model, 0)) if self.speeds else FULL_SPEED

    def speed_on(self, gpus: int, nodes: int, size: int, on_model: int = FULL_SPEED) -> int:
        """Return how fast the job is on an allocation, in millionths.

        Parameters
        ----------
        gpus, nodes : int
            How many GPUs it gets, and on how many nodes.
        size : int
            GPUs of the largest of these nodes.
        on_model : int
            Its speed on GPUs of their model, as of :meth:`speed_on_model`.
        """
        return on_model

    def too_slow(self, gpus: int, speed: int) -> bool:
        """Return whether it could hold more GPU seconds at this speed than can be added up.

        Parameters
        ----------
        gpus : int
        speed : int
            Millionths; none at all is too slow, and what does not fit 40 bits is out of the
            question.
        """
        assert self.work is not None
        return speed > MOST_TIME or gpus * self.work * FULL_SPEED > MOST_TIME * speed

    def check_drive(self, models: Iterable[str]) -> None:
        """Refuse numbers with which a driver cannot calculate.

        Parameters
        ----------
        models : iterable of str
            GPU models of the cluster.

        Raises
        ------
        ValueError
        """
        if self.work is None:
            raise ValueError(f"job {self.id!r}: work=None, driving needs seconds of service")
        if self.release > MOST_TIME or self.work * self.gpus > MOST_TIME:
            raise ValueError(
                f"job {self.id!r}: release={self.release} or gpus * work={self.work * self.gpus} "
                f"is above {MOST_TIME}"
            )
        for model in models if self.speeds else ():
            speed = self.speeds.get(model)
            if speed is not None:
                self._check_speed(model, speed)

    def _check_speed(self, model: str, speed: float) -> None:
        if speed > MOST_SPEED:
            raise ValueError(f"job {self.id!r}: speeds[{model!r}]={speed} is above {MOST_SPEED}")
        if self.too_slow(self.gpus, round(FULL_SPEED * speed)):
            raise ValueError(
                f"job {self.id!r}: gpus * work / speeds[{model!r}] with speeds[{model!r}]={speed} "
                f"is above {MOST_TIME}"
            )

    def __hash__(self) -> int:
        return hash((type(self), self.id, self.gpus, self.release))

    def __reduce__(self) -> tuple[Any, ...]:
        # mapping proxies do not pickle; go through the constructor, which validates again
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return partial(type(self), **{**values, "speeds": dict(self.speeds)}), ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RingJob(Job):
    """A data-parallel training job that exchanges gradients by ring-all-reduce (Yu et al. 2022).

    Parameters
    ----------
    iterations : int
        F_j, training iterations until the job is complete, at least 1.
    gradient : float
        m_j, gradient size in the units of the problem's bandwidths and compute speed.
    base_time : float
        Delta^f_j M_j + Delta^b_j of eq. (8): slots of forward and backward pass per iteration.

    Examples
    --------
    >>> RingJob(id="j0", gpus=2, iterations=3000, gradient=0.001, base_time=0.02).iterations
    3000
    """

    iterations: int
    gradient: float
    base_time: float

    slotted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Job.__post_init__(self)
        owner = f"job {self.id!r}"
        integer(self, owner, "iterations", least=1)
        real(self, owner, "gradient")
        real(self, owner, "base_time", positive=True)

    __hash__ = Job.__hash__


@dataclass(frozen=True, slots=True)
class Iterations:
    """Stopping criterion: a number of training iterations, which the job's `work` stands for.

    Examples
    --------
    >>> Iterations()
    Iterations()
    """


@dataclass(frozen=True, slots=True)
class TargetMetric:
    """Stopping criterion: a performance metric reaches a target, or the epochs run out.

    Parameters
    ----------
    target : float
        Value of the metric at which the job ends. Larger is better; negate a loss.
    max_epochs : int
        Epochs after which the job ends though the target was not reached, at least 1.
    curve : sequence of float
        The metric after each epoch that the job will really run, the first entry after epoch 1:
        the last one reaches the target, or is that of epoch `max_epochs`; no earlier one does. The
        job's `work` is that of all these epochs. What lies ahead is hidden from online policies
        by convention only.

    Examples
    --------
    >>> stopping = TargetMetric(target=0.9, max_epochs=10, curve=[0.5, 0.8, 0.92])
    >>> stopping.epochs
    3
    >>> TargetMetric(target=0.9, max_epochs=10, curve=[0.95, 0.96])
    Traceback (most recent call last):
        ...
    ValueError: target metric: curve[0]=0.95 reaches target=0.9 before its last entry
    """

    target: float
    max_epochs: int
    curve: Sequence[float]

    def __post_init__(self) -> None:
        owner = "target metric"
        set_field(self, "target", finite(owner, "target", self.target))
        integer(self, owner, "max_epochs", least=1)
        numbers = sequence(f"{owner}: curve", self.curve, "numbers")
        curve = tuple(finite(owner, f"curve[{i}]", y) for i, y in enumerate(numbers))
        set_field(self, "curve", curve)
        if not 1 <= len(curve) <= self.max_epochs:
            raise ValueError(
                f"{owner}: curve has {len(curve)} entries, not 1 to max_epochs={self.max_epochs}"
            )
        for i, y in enumerate(curve[:-1]):
            if y >= self.target:
                raise ValueError(
                    f"{owner}: curve[{i}]={y} reaches target={self.target} before its last entry"
                )
        if curve[-1] < self.target and len(curve) < self.max_epochs:
            raise ValueError(
                f"{owner}: curve ends after {len(curve)} of {self.max_epochs} epochs at "
                f"{curve[-1]}, below target={self.target}"
            )

    @property
    def epochs(self) -> int:
        """Epochs that the job really runs."""
        return len(self.curve)


Stopping = Iterations | TargetMetric


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineJob(Job):
    """A training job with deadlines, or without: best effort (Gao et al. 2024).

    Parameters
    ----------
    rewards : sequence of (int, float)
        The reward as a step function of the completion time: pairs (deadline, value), deadlines
        in seconds (or slots) after the release, rising, values falling and positive. A completion
        not after a deadline is worth its value, a completion after all of them nothing. One pair:
        a strict deadline. Several: soft ones. None: a best-effort job.
    stopping : Iterations or TargetMetric
        When the job ends.
    split_speed : float
        Speed on more than one node relative to one node, for a gang that one node can hold,
        within (0, 1].
    scaling : float
        c >= 0 of the speed n / (1 + c (n - 1)) on n GPUs, for policies that change the number.
    preemption_cost : int or None
        t^sr, seconds of suspending and resuming, in which GPUs are held without progress; None for
        that of the cluster's rules.

    Examples
    --------
    >>> soft = DeadlineJob(id="j", gpus=4, work=600, release=60, rewards=[(900, 100), (990, 80)])
    >>> soft.reward(960), soft.reward(961), soft.reward(1060)
    (100.0, 80.0, 0.0)
    >>> DeadlineJob(id="j", gpus=1, work=5, rewards=[(90, 50), (60, 20)])
    Traceback (most recent call last):
        ...
    ValueError: job 'j': rewards[1] has deadline 60, which is not after 90 of the one before
    """

    rewards: Sequence[tuple[int, float]] = ()
    stopping: Stopping = Iterations()
    split_speed: float = 1.0
    scaling: float = 0.05
    preemption_cost: int | None = None

    has_deadlines: ClassVar[bool] = True
    elastic: ClassVar[bool] = True
    spreads: ClassVar[bool] = True
    equal_gpus: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Job.__post_init__(self)
        owner = f"job {self.id!r}"
        set_field(self, "rewards", _steps(owner, self.rewards))
        if not isinstance(self.stopping, Stopping):
            raise TypeError(
                f"{owner}: stopping={self.stopping!r} is not Iterations or TargetMetric"
            )
        real(self, owner, "split_speed", positive=True)
        if not 1 <= round(self.split_speed * FULL_SPEED) <= FULL_SPEED:
            raise ValueError(f"{owner}: split_speed={self.split_speed} is not within 1e-6 and 1")
        real(self, owner, "scaling")
        if self.preemption_cost is not None:
            integer(self, owner, "preemption_cost", least=0)

    @property
    def best_effort(self) -> bool:
        """Whether the job has no deadline."""
        return not self.rewards

    @property
    def top_reward(self) -> float:
        """The reward of the first deadline; 0 for a best-effort job."""
        return self.rewards[0][1] if self.rewards else 0.0

    def reward(self, end: int) -> float:
        """Return the reward for a completion at time `end`, counted as the release is.

        Parameters
        ----------
        end : int
        """
        for deadline, value in self.rewards:
            if end <= self.release + deadline:
                return value
        return 0.0

    def speed(self, gpus: int, nodes: int, size: int) -> int:
        """Return the true speed on an allocation, in millionths of :data:`FULL_SPEED`.

        Parameters
        ----------
        gpus, nodes : int
            How many GPUs it gets, and on how many nodes.
        size : int
            GPUs of the largest of these nodes.

        Notes
        -----
        Eq. (2) of Gao et al. tells one node from several, and nothing else: a gang that no node can
        hold is as fast on any of them. With another number of GPUs than its gang the job runs at
        f(gpus) / f(its gang), f(n) = n / (1 + c (n - 1)).

        Examples
        --------
        >>> job = DeadlineJob(id="j", gpus=6, work=100, split_speed=0.5)
        >>> job.speed(6, 1, 8), job.speed(6, 2, 8), job.speed(6, 2, 4)
        (1000000, 500000, 1000000)
        """
        split = nodes > 1 and gpus <= size
        factor = self.split_speed if split else 1.0
        if gpus != self.gpus:
            factor *= _scaled(gpus, self.scaling) / _scaled(self.gpus, self.scaling)
        return round(FULL_SPEED * factor)

    @property
    def target(self) -> TargetMetric | None:
        """The metric at which the job ends, if it is one that ends it."""
        return self.stopping if isinstance(self.stopping, TargetMetric) else None

    @property
    def resumption(self) -> int | None:
        """Seconds of suspending and resuming; None for those of the cluster's rules."""
        return self.preemption_cost

    def untold(self) -> DeadlineJob:
        """Return the job as it is known before it runs where nobody tells run times."""
        return replace(self, work=None, stopping=Iterations())

    def deadlines(self) -> tuple[tuple[int, float], ...]:
        """Return pairs (time, value), times of the instance rising; none for best-effort jobs."""
        return tuple((self.release + deadline, value) for deadline, value in self.rewards)

    def speed_on(self, gpus: int, nodes: int, size: int, on_model: int = FULL_SPEED) -> int:
        """Return :meth:`speed`: GPUs are equal."""
        return self.speed(gpus, nodes, size)

    def check_drive(self, models: Iterable[str]) -> None:
        """Refuse numbers with which a driver cannot calculate, as of :meth:`Job.check_drive`."""
        Job.check_drive(self, models)
        if self.too_slow(self.gpus, self.speed(self.gpus, 2, self.gpus)):
            raise ValueError(
                f"job {self.id!r}: gpus * work / split_speed with split_speed={self.split_speed} "
                f"is above {MOST_TIME}"
            )
        cost = self.gpus * (self.preemption_cost or 0)
        if cost > MOST_TIME:
            raise ValueError(f"job {self.id!r}: gpus * preemption_cost={cost} is above {MOST_TIME}")

    def _check_speed(self, model: str, speed: float) -> None:
        if speed != 1:
            raise ValueError(
                f"job {self.id!r}: speeds[{model!r}]={speed} is not 1, jobs with deadlines need "
                "equal GPUs"
            )

    __hash__ = Job.__hash__


def _scaled(gpus: int, scaling: float) -> float:
    return gpus / (1 + scaling * (gpus - 1))


def _steps(owner: str, rewards: Any) -> tuple[tuple[int, float], ...]:
    """The steps of a reward function."""
    if callable(rewards) or isinstance(rewards, (str, bytes)) or not isinstance(rewards, Iterable):
        raise TypeError(
            f"{owner}: rewards={rewards!r} is not a step function, "
            "a sequence of pairs (deadline, value)"
        )
    steps: list[tuple[int, float]] = []
    for i, step in enumerate(rewards):
        name = f"rewards[{i}]"
        if isinstance(step, (str, bytes)) or not isinstance(step, Sequence) or len(step) != 2:
            raise TypeError(f"{owner}: {name}={step!r} is not a pair (deadline, value)")
        deadline, value = step
        if isinstance(deadline, bool) or not isinstance(deadline, numbers.Integral):
            raise TypeError(f"{owner}: {name} has deadline {deadline!r}, which is not an integer")
        if deadline < 1:
            raise ValueError(f"{owner}: {name} has deadline {deadline}, which is below 1")
        worth = check_real(owner, f"{name} value", value, positive=True)
        if steps and deadline <= steps[-1][0]:
            raise ValueError(
                f"{owner}: {name} has deadline {deadline}, "
                f"which is not after {steps[-1][0]} of the one before"
            )
        if steps and worth >= steps[-1][1]:
            raise ValueError(
                f"{owner}: {name} has value {worth:g}, "
                f"which is not below {steps[-1][1]:g} of the one before"
            )
        steps.append((int(deadline), worth))
    return tuple(steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterServerJob(Job):
    """An elastic training job of workers and parameter servers (Wang et al. 2023).

    Parameters
    ----------
    gpus : int
        D_j, data chunks, and so the most workers that it can use; one GPU is one worker.
    epochs, minibatches : int
        E_j, and M_j of each chunk: E D M mini-batches are trained in all.
    rates : (float, float)
        n_j of eq. (1), mini-batches that a worker trains in a slot: where all workers and parameter
        servers are on one node (zeta = 1), and where they are not; the second is not larger. On
        nodes of a model that `speeds` names, so many times as many.
    utility : Linear, Power or Table
        f_j, what the completion is worth, by slots since the clock of the problem began.

    Examples
    --------
    >>> job = ParameterServerJob(id="j11", gpus=2, release=3, epochs=2, minibatches=1,
    ...                          rates=(1, 0.5), utility=Linear(-2, 100))
    >>> job.batches, job.utility.value(2)
    (4, 96.0)
    """

    epochs: int
    minibatches: int
    rates: tuple[float, float]
    utility: Utility

    needs_ps: ClassVar[bool] = True
    slotted: ClassVar[bool] = True
    spreads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Job.__post_init__(self)
        owner = f"job {self.id!r}"
        integer(self, owner, "epochs", least=1)
        integer(self, owner, "minibatches", least=1)
        set_field(self, "rates", _rates(owner, self.rates))
        if not isinstance(self.utility, Utility):
            raise TypeError(f"{owner}: utility={self.utility!r} is not Linear, Power or Table")

    @property
    def batches(self) -> int:
        """Mini-batches in all, E D M."""
        return self.epochs * self.gpus * self.minibatches

    def rate(self, nodes: int, model: str = "") -> Fraction:
        """Return n_j, mini-batches that a worker trains in a slot; the decimal inputs, exactly.

        Parameters
        ----------
        nodes : int
            On which workers and parameter servers are.
        model : str
            Of the workers' nodes.
        """
        return _decimal(self.rates[nodes > 1]) * _decimal(self.speeds.get(model, 1.0))

    def service(self, gpus: int, nodes: int, model: str = "") -> int:
        """Return d_j, the slots that a run takes, (3k) of Wang et al.

        Parameters
        ----------
        gpus : int
            D_w, workers, at least 1.
        nodes, model
            As of :meth:`rate`.

        Examples
        --------
        Four mini-batches, one a slot from two workers on two nodes:

        >>> job = ParameterServerJob(id="j", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
        ...                          utility=Linear(-2, 100))
        >>> job.service(2, 1), job.service(2, 2)
        (2, 4)
        """
        return math.ceil(self.batches / (self.rate(nodes, model) * gpus))

    def speed_on_model(self, model: str) -> int:
        """Return full speed where the job can run: its service is the time that it takes there."""
        return 0 if self.pin and self.pin != model else FULL_SPEED

    def speed_on(self, gpus: int, nodes: int, size: int, on_model: int = FULL_SPEED) -> int:
        """Return full speed: its service is the time that it takes there."""
        return FULL_SPEED

    def too_slow(self, gpus: int, speed: int) -> bool:
        """Return False: :meth:`check_drive` has looked at the longest run."""
        return False

    def check_drive(self, models: Iterable[str]) -> None:
        """Refuse numbers with which a driver cannot calculate, as of :meth:`Job.check_drive`."""
        slots = max(self.service(1, 2, model) for model in models)
        if max(self.release, self.gpus, slots) > MOST_TIME:
            raise ValueError(
                f"job {self.id!r}: release={self.release}, gpus={self.gpus} or {slots} slots on "
                f"one worker is above {MOST_TIME}"
            )

    __hash__ = Job.__hash__


def _decimal(number: float) -> Fraction:
    """The number as it is written, exactly."""
    return Fraction(repr(float(number)))


def _rates(owner: str, rates: Any) -> tuple[float, float]:
    if isinstance(rates, (str, bytes)) or not isinstance(rates, Sequence) or len(rates) != 2:
        raise TypeError(f"{owner}: rates={rates!r} is not a pair (on one node, on several)")
    one, several = (
        check_real(owner, f"rates[{i}]", rate, positive=True) for i, rate in enumerate(rates)
    )
    if several > one:
        raise ValueError(
            f"{owner}: rates[1]={several:g}, on several nodes, exceeds {one:g}, on one node"
        )
    return one, several
