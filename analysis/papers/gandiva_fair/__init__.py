"""Chaudhary et al. 2020: claims, tables and figures."""
