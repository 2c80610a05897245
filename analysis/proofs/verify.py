"""Replay the proof of a bound, in exact arithmetic and without the code that found it.

Small problems are also given to :mod:`gangsched.verify`, in plain Python and sharing no code with
the rules here, which are fast: both have to agree that a bound holds.

Nothing here, nor in the modules of the rules, imports one that makes bounds: durations are computed
again from the problem's definition of one iteration, sums, knapsacks and schedules are integers,
shares are rationals, no float takes part. :data:`RULES` says which kinds of certificates there are
for each problem; the proofs stand beside their rules.

===================  ==================================================
problem              proofs
===================  ==================================================
RarDdls              :mod:`.verify_rar_ddls`
UniSched             :func:`.verify_unisched.lease_prices`
Irmp                 :func:`.verify_irmp.revenue_prices`
GpuMarket            :func:`.verify_market.gpu_prices`
Ltgf, LtgfRound,     :mod:`.verify_ltgf`
LtgfFluid
CompletionTime       :mod:`.verify_completion_time`
DeadlineRewards      :mod:`.verify_deadline_rewards`
SharingIncentive     :mod:`.verify_user_prices`
===================  ==================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.deadline_rewards import DeadlineRewards
from ...formulations.gandiva_fair.problem import GpuMarket
from ...formulations.irmp.problem import Irmp
from ...formulations.ltgf.fluid import LtgfFluid
from ...formulations.ltgf.problem import Ltgf
from ...formulations.ltgf.round import LtgfRound
from ...formulations.rar_ddls.problem import RarDdls
from ...formulations.sharing_incentive import SharingIncentive
from ...formulations.unisched.problem import UniSched
from ...instances.check import written
from ...instances.display import shortened
from ...solvers.result import Bound
from . import (
    verify_completion_time,
    verify_deadline_rewards,
    verify_ltgf,
    verify_rar_ddls,
    verify_user_prices,
)
from .plain import plainly_proven
from .verify_irmp import revenue_prices
from .verify_market import gpu_prices
from .verify_unisched import lease_prices

__all__ = ["InvalidCertificate", "NoCertificate", "check_digits", "verify_bound"]

#: numbers from here on are shown to six digits
LONG = 10**60
#: integers below are never too long to write
SURE = 2**62
#: jobs up to which the plain verifier is asked too
SMALL = 20
Rule = Callable[[Any, Mapping[str, Any]], int | Fraction]
#: what each kind of certificate proves, by problem: a bound of the objective
RULES: Mapping[type, Mapping[str, Rule]] = {
    RarDdls: verify_rar_ddls.RULES,
    UniSched: {"lease prices": lease_prices},
    Irmp: {"revenue prices": revenue_prices},
    GpuMarket: {"gpu prices": gpu_prices},
    Ltgf: verify_ltgf.RULES_OF_LIVES,
    LtgfRound: verify_ltgf.RULES_OF_ROUNDS,
    LtgfFluid: verify_ltgf.RULES_OF_FLUID,
    CompletionTime: verify_completion_time.RULES,
    DeadlineRewards: verify_deadline_rewards.RULES,
    SharingIncentive: verify_user_prices.RULES,
}


class InvalidCertificate(ValueError):
    """A certificate that is malformed, does not hold, or proves less than its bound claims."""


class NoCertificate(ValueError):
    """A bound without a certificate: a solver's own claim, which cannot be replayed."""


def verify_bound(problem: Any, bound: Bound) -> None:
    """Prove `bound` again from its certificate, or raise.

    Only a bound that passes may be called certified.

    Parameters
    ----------
    problem : Problem
        The problem that the bound is claimed for: any of :data:`RULES`.
    bound : Bound

    Raises
    ------
    NoCertificate
        If `bound` carries none.
    InvalidCertificate
        If the certificate's kind is unknown for this problem, a field is missing, of the wrong type
        or out of range, the proof does not hold, or it proves less than `bound.value`.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=1, iterations=50, gradient=0, base_time=0.01) for i in "abc"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))
    >>> verify_bound(problem, Bound(2, "area", {"kind": "area"}))
    >>> verify_bound(problem, Bound(3, "area", {"kind": "area"}))
    Traceback (most recent call last):
        ...
    gangsched.analysis.proofs.verify.InvalidCertificate: bound 3 (area): the certificate proves 2
    """
    name = f"bound {bound.value} ({bound.method})"
    if bound.certificate is None:
        raise NoCertificate(f"{name}: no certificate, so it is a claim that nobody can check")
    try:
        check_digits("certificate", bound.certificate)
    except ValueError as error:
        raise InvalidCertificate(f"{name}: {error}") from None
    kind, kinds = bound.certificate.get("kind"), RULES.get(type(problem), {})
    if not isinstance(kind, str) or kind not in kinds:
        known, what = ", ".join(kinds) or "none", shortened(repr(kind))
        raise InvalidCertificate(
            f"{name}: kind={what} is not a kind for {type(problem).__name__} (known: {known})"
        )
    proofs: tuple[Callable[..., int | Fraction | None], ...] = (kinds[kind], _plainly)
    for prover in proofs:
        try:
            proven = prover(problem, bound.certificate)
        except (ArithmeticError, ValueError) as error:
            raise InvalidCertificate(f"{name}: {shortened(str(error))}") from None
        if proven is None:
            continue
        if bound.value > proven if problem.sense.value == "minimise" else bound.value < proven:
            raise InvalidCertificate(f"{name}: the certificate proves {_shown(proven)}")


def _plainly(problem: Any, certificate: Mapping[str, Any]) -> int | Fraction | None:
    """What the plain verifier proves of a small problem; None where it is not asked."""
    if len(getattr(problem, "jobs", ())) > SMALL or certificate["kind"] == "search":
        return None
    return plainly_proven(problem, certificate)


def check_digits(place: str, value: Any) -> None:
    """Refuse integers with more digits than a message can hold."""
    if isinstance(value, int):
        written(place, value)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            check_digits(str(key), one)
    elif isinstance(value, (list, tuple)):
        for i, one in enumerate(value):
            if type(one) is not int or abs(one) >= SURE:  # without a place for each
                check_digits(f"{place}[{i}]", one)


def _shown(number: int | Fraction) -> str:
    """A number as it is, or to six digits where it has many.

    >>> _shown(Fraction(12, 5)), _shown(Fraction(10**5000, 3))
    ('12/5', 'about 3.33333E+4999')
    """
    over, under = number.as_integer_ratio()
    if max(abs(over), under) < LONG:
        return str(number)
    context = Context(prec=6, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return f"about {context.divide(Decimal(over), Decimal(under))}"
