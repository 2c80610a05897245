"""Yu et al. 2022: SJF-BCO and its baselines for RAR-DDLS."""
