"""The cluster of a run in arrays: what happens to jobs in a round, and ways to choose jobs."""
