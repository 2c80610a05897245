"""Gao et al. 2024: UniSched, and the deadline policies that it is compared with."""
