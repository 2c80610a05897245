"""Ye et al. 2022: two-phase lease scheduling for LTGF, and optima of one round."""
