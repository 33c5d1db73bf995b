"""Updates damped by their signal-to-noise ratio."""

import numpy as np

from ppo.algorithm.state import State


class UpdateDamping:
    """Multiplies each parameter's part of a training step's update by the signal-to-noise ratio of its recent ones.

    An update u becomes u |mean(u)| / rms(u), parameter by parameter, with means over the last training steps: a factor
    near 1 where recent updates agree, and about the root of one over their number where they do not. It is the ratio
    that Adam's own moments estimate (Kingma & Ba 2015, arXiv 1412.6980, section 2.1), taken over batches in place of
    passes over the same one.

    Args:
        size: number of parameters.
        decay: decay of the two running means; they remember some 1 / (1 - decay) training steps.

    Attributes:
        steps: updates seen.
        mean, square: running means of updates in units of the learning rate, and of their squares, ``[size]``.
    """

    def __init__(self, size: int, decay: float):
        self.decay = decay
        self.steps = 0
        self.mean = np.zeros(size)
        self.square = np.zeros(size)

    def state(self) -> State:
        """Returns the steps and the running means."""
        return {"steps": np.array(self.steps), "mean": self.mean.copy(), "square": self.square.copy()}

    def restore(self, state: State) -> None:
        """Takes over what ``state`` returned."""
        self.steps = int(state["steps"])
        self.mean[:], self.square[:] = state["mean"], state["square"]

    def damp(self, parameters: np.ndarray, before: np.ndarray, learning_rate: float) -> None:
        """Moves ``parameters`` ``[size]`` back towards ``before``, what they were before this training step."""
        self.steps += 1
        update = parameters - before
        relative = update / learning_rate
        self.mean += (1 - self.decay) * (relative - self.mean)
        self.square += (1 - self.decay) * (relative * relative - self.square)
        # With the bias corrections: the mean's is this share, the root mean square's its root.
        share = 1 - self.decay**self.steps
        ratio = np.abs(self.mean) / (np.sqrt(self.square * share) + 1e-12)
        parameters[:] = before + update * np.minimum(ratio, 1.0)
