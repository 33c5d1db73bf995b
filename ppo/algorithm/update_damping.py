"""How far a parameter's recent updates agree, and updates shortened to match."""

import numpy as np


class Agreement:
    """Shortens each parameter's part of a training step's update by how far its recent updates agree.

    A law has parts that the data says much about and parts where it is noise: one step's samples push a parameter one
    way, the next one's another. Adam takes steps of the same length for both, and the noise adds up to a walk that can
    carry the law out of its valley. So an update u is multiplied, parameter by parameter, by |mean(u)| / rms(u) over
    the last steps: near 1 where all say the same, and about the root of one over their number where none does. (The
    signal-to-noise ratio that Adam's own moments estimate, taken over batches instead of passes over the same one.)

    Args:
        size: number of parameters.
        decay: of the two running means; they remember some 1 / (1 - decay) training steps.

    Attributes:
        steps: updates seen.
        mean, square: running means of updates in units of the learning rate, and of their squares, ``[size]``.
    """

    def __init__(self, size: int, decay: float):
        self.decay = decay
        self.steps = 0
        self.mean = np.zeros(size)
        self.square = np.zeros(size)

    def shorten(self, parameters: np.ndarray, before: np.ndarray, learning_rate: float) -> None:
        """Moves ``parameters`` ``[size]`` back towards ``before``, what they were before this training step."""
        self.steps += 1
        update = parameters - before
        relative = update / learning_rate
        self.mean += (1 - self.decay) * (relative - self.mean)
        self.square += (1 - self.decay) * (relative * relative - self.square)
        # With the bias corrections: the mean's is this share, the root mean square's its root.
        share = 1 - self.decay**self.steps
        agreement = np.abs(self.mean) / (np.sqrt(self.square * share) + 1e-12)
        parameters[:] = before + update * np.minimum(agreement, 1.0)
