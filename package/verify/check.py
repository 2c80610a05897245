"""Which rule is for which problem, and whether it proves what a bound claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from . import completion_time, deadline_rewards, fairness, irmp, market, rar_ddls, unisched, windows
from .fields import BadFile, Refused, check_digits
from .kernels import ReadProblem, Run, plainly

#: numbers from here on are shown to six digits
LONG = 10**60
Number = int | Fraction
Rule = Callable[[Any, Mapping[str, Any]], Number]
#: by problem: what the rules need of it, its rules, and whether values are minimised
PROBLEMS: Mapping[str, tuple[Callable[[Any], ReadProblem], Mapping[str, Rule], bool]] = {
    "rar-ddls": (rar_ddls.RingProblem, rar_ddls.RULES, True),
    "unisched": (unisched.LeaseProblem, unisched.RULES, False),
    "irmp": (irmp.RevenueProblem, irmp.RULES, False),
    "gandiva-fair": (market.MarketProblem, market.RULES, False),
    "ltgf": (fairness.SharingProblem, fairness.LIFE_RULES, False),
    "ltgf-round": (fairness.RoundProblem, fairness.ROUND_RULES, False),
    "ltgf-fluid": (fairness.FluidProblem, fairness.FLUID_RULES, False),
    "completion-time": (completion_time.GangProblem, windows.COMPLETION_RULES, True),
    "sharing-incentive": (fairness.SharingProblem, windows.SHARING_RULES, True),
    "deadline-rewards": (deadline_rewards.DeadlineProblem, windows.REWARD_RULES, False),
}


def prove(problem: Any, certificate: Any, run: Run = plainly) -> Number:
    """Return what a certificate proves of a problem's objective.

    Parameters
    ----------
    problem : mapping
        As in a file of a problem, or of an entry of the library.
    certificate : mapping
    run : callable
        How kernels are run (:mod:`.kernels`).

    Raises
    ------
    BadFile
        For what is no problem, or one for which there are no rules here.
    Refused
        Where the proof does not hold.

    Examples
    --------
    >>> job = {"kind": "ring", "gpus": 1, "iterations": 50, "gradient": 0, "base_time": 0.01}
    >>> cluster = {"nodes": [{"id": "a", "gpus": 1}, {"id": "b", "gpus": 1}]}
    >>> instance = {"cluster": cluster, "jobs": [{"id": i, **job} for i in "abc"]}
    >>> problem = {"kind": "problem", "problem": "rar-ddls", "instance": instance}
    >>> prove(problem, {"kind": "area"}), prove(problem, {"kind": "longest job", "job": 0})
    (2, 1)
    """
    name, data = _problem(problem)
    read, rules, _ = PROBLEMS[name]
    if not isinstance(certificate, Mapping):
        raise Refused(f"a certificate is an object, not {certificate!r}")
    check_digits("certificate", certificate)
    kind = certificate.get("kind")
    if not isinstance(kind, str) or kind not in rules:
        raise Refused(f"kind={kind!r} is not one of {', '.join(rules)}")
    try:
        made = read(data)
        made.run = run
        return rules[kind](made, certificate)
    except (BadFile, Refused):
        raise
    except ArithmeticError as error:
        raise Refused(f"the proof cannot be replayed: {error}") from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # fields of a certificate are checked as they are read, so it is one of the problem
        raise BadFile(f"the problem cannot be read: {error!r}") from None


def verify(problem: Any, bound: Any) -> Number:
    """Return what the certificate of a bound proves, which is no less than the bound claims.

    Parameters
    ----------
    problem : mapping
    bound : mapping
        With "value", "method" and "certificate".

    Raises
    ------
    BadFile, Refused
        As :func:`prove`; also where it proves less than the value, or there is no certificate.
    """
    if not isinstance(bound, Mapping):
        raise BadFile(f"a bound is an object, not {bound!r}")
    value = bound.get("value")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise BadFile(f"value={value!r} is not a finite number")
    if bound.get("certificate") is None:
        raise Refused("the bound has no certificate: it is a claim that nobody can check")
    proven = prove(problem, bound["certificate"])
    least = PROBLEMS[_problem(problem)[0]][2]
    if value > proven if least else value < proven:
        raise Refused(f"the certificate proves {shown(proven)}, and the bound claims {value}")
    return proven


def shown(number: Number) -> str:
    """A number as it is, or to six digits where it has many.

    >>> shown(Fraction(12, 5)), shown(Fraction(10**5000, 3))
    ('12/5', 'about 3.33333E+4999')
    """
    over, under = number.as_integer_ratio()
    if max(abs(over), under) < LONG:
        return str(number)
    context = Context(prec=6, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return f"about {context.divide(Decimal(over), Decimal(under))}"


def _problem(data: Any) -> tuple[str, Mapping[str, Any]]:
    """The name and the content of a problem, also within an entry of the library."""
    if isinstance(data, Mapping) and isinstance(data.get("problem"), Mapping):
        data = data["problem"]
    if not isinstance(data, Mapping) or not isinstance(data.get("problem"), str):
        raise BadFile("this is no problem as gangsched writes it")
    if data["problem"] not in PROBLEMS:
        raise BadFile(f"problem={data['problem']!r} is not one of {', '.join(PROBLEMS)}")
    return data["problem"], data
