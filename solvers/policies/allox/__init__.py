"""AlloX: which job is which from the end on its GPU, by matching."""
