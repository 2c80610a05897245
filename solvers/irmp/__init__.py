"""Wang et al. 2023: Astraea, list and exact algorithms for IRMP, and baselines."""
