"""Ours for RAR-DDLS: laminar blocks of GPUs, and the constraint program."""
