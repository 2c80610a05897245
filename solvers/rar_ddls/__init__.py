"""Yu et al. 2022: SJF-BCO, its baselines, and stronger heuristics for RAR-DDLS."""
