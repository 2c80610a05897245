"""Ours for jobs with deadlines: value density."""
