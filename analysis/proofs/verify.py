"""Replay the proof of a bound, in exact arithmetic and without the code that found it.

The rules are those of :mod:`gangsched.verify`, which imports nothing of ours: plain Python, whose
loops over many jobs are compiled here where all numbers fit 64 bits (:mod:`.compiled_kernels`). No
float takes part. The proofs stand beside their rules; :data:`RULES` says which kinds of
certificates there are for each class of problem. For some, :mod:`.vipr` writes the proof for a
checker that is not ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...instances.display import shortened
from ...solvers.result import Bound
from ...verify.check import PROBLEMS, Rule, shown
from ...verify.fields import check_digits
from .problem_data import NAMES, proven

#: what each kind of certificate proves, by class of problem: a bound of the objective
RULES: Mapping[type, Mapping[str, Rule]] = {kind: PROBLEMS[name][1] for kind, name in NAMES.items()}


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
    >>> from gangsched.formulations import RarDdls
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
        kind, kinds = bound.certificate.get("kind"), RULES.get(type(problem), {})
        if not isinstance(kind, str) or kind not in kinds:
            known, what = ", ".join(kinds) or "none", shortened(repr(kind))
            raise ValueError(
                f"kind={what} is not a kind for {type(problem).__name__} (known: {known})"
            )
        found = proven(problem, bound.certificate)
    except ValueError as error:
        raise InvalidCertificate(f"{name}: {shortened(str(error))}") from None
    if bound.value > found if problem.sense.value == "minimise" else bound.value < found:
        raise InvalidCertificate(f"{name}: the certificate proves {shown(found)}")
