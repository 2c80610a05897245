"""Gandiva_fair of Chaudhary et al. 2020: the market and its convex programs."""

from .problem import Aim as Aim
from .problem import GpuMarket as GpuMarket
from .problem import effective_tickets as effective_tickets
