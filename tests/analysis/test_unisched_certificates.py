"""What prices of leases prove, by hand: two gangs of three find room."""

from typing import Any

import pytest

from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.unisched.problem import UniSched
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.solvers import Bound

JOBS = [DeadlineJob(id=i, gpus=2, work=600, rewards=[(1200, 100)]) for i in "abc"]
PROBLEM = UniSched(Instance(Cluster.of_sizes([2]), JOBS))
#: with a GPU at 50 a lease, in both leases, nobody gains
HOLDS: dict[str, Any] = {"kind": "lease prices", "prices": [[50, 50]], "scale": 1}


def verify(**changed: Any) -> None:
    verify_bound(PROBLEM, Bound(200, "by hand", {**HOLDS, **changed}))


def test_the_prices_of_two_leases_prove_two_rewards() -> None:
    verify()
    verify(prices=[[5 * 10**20] * 2], scale=10**19)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"prices": [[]]}, "the certificate proves 300"),
        ({"prices": [[50]]}, "the certificate proves 400"),
        ({"rows": [[1, 1]]}, "the certificate proves 300"),
        ({"prices": [[10**400] * 2]}, r"the certificate proves about 4\.00000E\+400$"),
        ({"prices": [[10**5000] * 2]}, r"prices\[0\]\[0\] has more than 4000 digits$"),
    ],
)
def test_prices_that_prove_too_little_are_refused(changed: Any, why: str) -> None:
    with pytest.raises(InvalidCertificate, match=why):
        verify(**changed)
