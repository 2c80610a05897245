"""Chaudhary et al. 2020: gang-aware stride, trading, and optimal markets of GPUs."""
