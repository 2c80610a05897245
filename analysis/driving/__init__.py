"""The trace driver: a policy over an instance, its run, the checker and the metrics."""
