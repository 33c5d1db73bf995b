"""CleanRL's script is run as it is, looked at after each update, and ended once that is enough."""

import sys

import numpy as np

from ppo.experiments.cleanrl import run_cleanrl

SCRIPT = """
import sys
import torch
from torch.utils.tensorboard import SummaryWriter


class Agent:
    actor = staticmethod(lambda obs: torch.stack([obs[:, 0], -obs[:, 0]], dim=1))


if __name__ == "__main__":
    assert sys.argv[1:] == ["--seed", "5", "--no-cuda"]
    agent, writer = Agent(), SummaryWriter("nowhere")
    writer.add_text("hyperparameters", "none")
    for update in range(1, 1000):
        writer.add_scalar("losses/value_loss", 0.0, 64 * update)
        print("SPS:", update)
        writer.add_scalar("charts/SPS", update, 64 * update)
    writer.close()
"""


def test_a_script_is_looked_at_after_each_update_until_that_is_enough(tmp_path, capsys):
    script, argv, seen = tmp_path / "ppo.py", sys.argv, []
    script.write_text(SCRIPT)

    def updated(act, steps):
        seen.append((act(np.array([[1.0], [-1.0]])).tolist(), steps))
        return len(seen) == 3

    run_cleanrl(script, 5, updated)
    assert seen == [([0, 1], 64), ([0, 1], 128), ([0, 1], 192)]
    assert sys.argv is argv and capsys.readouterr().out == ""
    assert not (tmp_path / "nowhere").exists()
