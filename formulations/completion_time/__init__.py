"""Completion times of gangs: the problem and its declarative model."""

from .problem import CompletionTime as CompletionTime
