"""Readers of job traces, one file per format."""
