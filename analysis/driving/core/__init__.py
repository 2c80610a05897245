"""The compiled driver."""
