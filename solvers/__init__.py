"""The algorithms, one module per paper."""
