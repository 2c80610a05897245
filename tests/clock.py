"""A clock of a test's own."""


class Clock:
    """A clock that counts how often it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def perf_counter(self) -> float:
        self.looks += 1
        return float(self.looks)
