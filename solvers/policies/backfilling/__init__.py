"""Backfilling: in the order of arrival, but past jobs that wait for a reserved place."""

from .policy import Conservative as Conservative
from .policy import Easy as Easy
