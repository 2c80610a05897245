"""Algorithms and policies that no paper says: ours, beside the wings of the papers."""
