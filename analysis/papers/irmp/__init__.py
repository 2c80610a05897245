"""Wang et al. 2023: claims, tables and figures."""
