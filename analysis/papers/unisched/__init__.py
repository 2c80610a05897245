"""Gao et al. 2024: claims, tables and figures."""
