"""What version 0.1 left behind: its laws are used, its checkpoints are refused in one line.

The files in ``version_0_1`` are of ``ppo.train --training-steps 3 --hidden-sizes 4 --update-epochs 1`` by that version.
"""

import dataclasses
import pathlib
import shutil

import pytest

from actors import Law
from env import UsageError
from ppo import Config
from ppo.train import train
from ppo.training.run_dir import RunDir

OLD = pathlib.Path(__file__).parent / "version_0_1"
SAME = Config(training_steps=3, hidden_sizes=(4,), update_epochs=1, eval_every=1, drivers=0)


def test_its_law_gives_the_knobs_that_it_gave():
    assert Law.load(OLD / "law.npz")([[-0.5], [0.3]]).tolist() == [[0.012939462102273234], [0.016263664537206103]]


@pytest.mark.parametrize("name", ["--resume", "--warm-start", "--reuse"])
def test_its_run_is_refused_in_one_line(name, tmp_path):
    shutil.copytree(OLD, tmp_path / "old")
    with pytest.raises(
        UsageError, match=rf"^{name} .*(version 0.1, whose checkpoints|there is no archive.bin)"
    ) as told:
        if name == "--resume":
            train(RunDir(tmp_path / "old").config(name), tmp_path / "old", resume=True, quiet=True)
        field = {"--warm-start": {"warm_start": str(tmp_path / "old")}, "--reuse": {"reuse": (str(tmp_path / "old"),)}}
        train(dataclasses.replace(SAME, **field[name]), tmp_path / "new", quiet=True)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "new").exists()


def test_its_checkpoint_alone_is_refused_and_not_needed(tmp_path):
    summary = train(SAME, tmp_path / "run", quiet=True, pictures=False)
    (tmp_path / "run" / "summary.json").unlink()
    shutil.copy(OLD / "checkpoint.npz", tmp_path / "run")
    message = (
        r"another version of this program wrote its checkpoint; without checkpoint.npz the run goes on from archive"
    )
    with pytest.raises(UsageError, match=message):
        train(SAME, tmp_path / "run", resume=True, quiet=True)
    (tmp_path / "run" / "checkpoint.npz").unlink()
    resumed = train(SAME, tmp_path / "run", resume=True, quiet=True, pictures=False)
    assert resumed["policy_sha256"] == summary["policy_sha256"]
