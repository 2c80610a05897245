"""LTGF of Ye et al. 2022: whole lives, one round, and the fluid relaxation."""

from .problem import Ltgf as Ltgf
from .problem import quota_of as quota_of
from .problem import shares_of as shares_of
