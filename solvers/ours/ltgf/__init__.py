"""Ours for whole lives under LTGF."""
