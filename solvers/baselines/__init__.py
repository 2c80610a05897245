"""Policies and heuristics to compare with, one file each."""
