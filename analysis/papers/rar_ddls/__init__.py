"""Yu et al. 2022: claims and figures."""
