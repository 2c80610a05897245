"""Wang et al. 2023: Astraea, the best run of a job at prices, and baselines for IRMP."""
