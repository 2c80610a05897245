"""Solvers or policies side by side, measured against verified bounds."""
