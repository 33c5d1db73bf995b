"""When an error counts as solved: small in so many evaluations in a row."""

TARGET = 0.01  # error below which an evaluation counts
CONSECUTIVE = 20  # evaluations in a row that must count


class Streak:
    """Counts evaluations in a row whose error is below the target."""

    def __init__(self) -> None:
        self._length = 0

    def add(self, error: float) -> bool:
        """Adds an evaluation, and returns whether the problem counts as solved now."""
        self._length = self._length + 1 if error < TARGET else 0
        return self._length >= CONSECUTIVE
