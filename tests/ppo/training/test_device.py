"""The device of a run is settled once and stored; without a GPU one that is asked for is told in one line.

No test here computes on a GPU: what follows where torch finds one is looked at by a changed answer to that question
alone. The tests at the end do, where there is one.
"""

import dataclasses
import json
import os
import sys

import numba
import pytest
import torch

from env import UsageError
from ppo import Config, resolve
from ppo.algorithm.device import gpu_of
from ppo.algorithm.model import make_learner
from ppo.config.file import read_config
from ppo.training import device as module
from ppo.training.device import gpu_in_use, pays_on_gpu, prepared, ranges, settled, why_no_gpu
from ppo.training.job import make_job
from ppo.training.one_slot import SlotOfRun
from ppo.training.run_dir import RunDir
from ppo.training.soundness import changed_field, result_fields
from ppo.training.trainer import Trainer
from tests.ppo.configs import SMALL

WITHOUT_GPU = pytest.mark.skipif(not why_no_gpu(), reason="there is a GPU")
WITH_GPU = pytest.mark.skipif(bool(why_no_gpu()), reason="there is no GPU")
LARGE = Config(env="ackley", dims=4, knobs=2, hidden_sizes=(1024, 1024), episodes=100, device="auto")
TINY = ["--training-steps", "2", "--episodes", "4", "--hidden-sizes", "4", "--quiet", "--no-pictures"]


@pytest.fixture
def as_if_found(monkeypatch):
    """Answers that torch can compute on a GPU; nothing is computed on it."""
    monkeypatch.setattr(module, "why_no_gpu", lambda: "")
    deterministic, precision = torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    yield
    torch.use_deterministic_algorithms(deterministic)
    torch.set_float32_matmul_precision(precision)


def test_the_processor_is_the_default_and_changes_nothing():
    config = resolve(Config())
    assert config.device == "cpu"
    assert settled(config) == dataclasses.replace(config, gradients="compiled")
    assert gpu_in_use(config) is None
    with ranges(config)("train"):
        pass


def test_a_gpu_is_stored_with_the_gradients_that_it_computes(as_if_found):
    config = settled(resolve(Config(device="cuda")))
    assert (config.device, config.gradients) == ("cuda", "autograd")
    assert settled(resolve(config)) == config
    assert settled(resolve(dataclasses.replace(LARGE))).device == "cuda"
    assert settled(resolve(dataclasses.replace(LARGE, hidden_sizes=(32, 32)))).device == "cpu"


def test_on_a_gpu_only_algorithms_of_which_the_bits_repeat_are_taken(as_if_found):
    settled(resolve(Config(device="cuda")))
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.get_float32_matmul_precision() == "highest"
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


@pytest.fixture
def without_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)  # as if it were not installed


def test_without_numba_a_new_run_has_autograds_gradients_says_so_and_stores_it(without_numba, command):
    code, error = command(*TINY[:-2], "--no-pictures", "--env", "sphere", "--drivers", "0", "--run-dir", "run")
    assert code == 0
    told = [line for line in error.splitlines() if "Numba" in line]
    assert len(told) == 1 and told[0].startswith("gradients are autograd's, which is slower on small networks: Numba")
    assert told[0].endswith("; pip install numba")
    assert read_config("run/config.json").gradients == "autograd"
    assert "Numba" not in command(*TINY, "--env", "sphere", "--gradients", "autograd", "--run-dir", "asked")[1]


def test_where_numba_is_kept_from_compiling_a_new_run_has_autograds_gradients(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert settled(resolve(Config())).gradients == "autograd"
    with pytest.raises(UsageError, match="asks for compiled gradient steps, and NUMBA_DISABLE_JIT keeps Numba from"):
        settled(resolve(Config(gradients="compiled")))


def test_what_goes_wrong_while_it_is_prepared_is_seen_where_it_is_used(capsys):
    class Failing:
        def prepare(self):
            raise OSError("no room")

    with prepared(Failing(), asked=False):
        pass
    assert capsys.readouterr().err == ""


def test_without_numba_a_run_that_was_begun_with_it_does_not_go_on(command, monkeypatch):
    assert command(*TINY, "--env", "sphere", "--drivers", "0", "--run-dir", "run")[0] == 0
    assert read_config("run/config.json").gradients == "compiled"
    monkeypatch.setitem(sys.modules, "numba", None)
    RunDir("run").checkpoint.unlink()
    for flags, words in (
        (["--resume", "run"], "--resume run: has compiled gradient steps"),
        (["--config", "run/config.json", "--run-dir", "again"], "--gradients compiled: asks for compiled"),
        ([*TINY, "--env", "sphere", "--gradients", "compiled", "--run-dir", "again"], "--gradients compiled: asks for"),
    ):
        code, error = command(*flags)
        assert code == 2
        assert error.startswith(f"error: {words}") and error.endswith("; pip install numba\n")
        assert len(error.splitlines()) == 1
    assert not RunDir("again").path.exists()


@pytest.mark.parametrize(
    ("changes", "pays"),
    [
        ({}, True),
        ({"hidden_sizes": (64, 64)}, False),
        ({"num_minibatches": 100}, False),
        ({"evaluations": 2000, "dims": 8, "hidden_sizes": None, "episodes": None}, True),
        ({"evaluations": 900, "dims": 8, "hidden_sizes": None, "episodes": None}, False),
        ({"evaluations": 2000, "dims": 4, "hidden_sizes": None, "episodes": None}, False),
        ({"evaluations": 2000, "dims": 8, "model": "none", "hidden_sizes": None, "episodes": None}, False),
    ],
)
def test_whether_a_gpu_pays_follows_from_the_sizes(changes, pays):
    config = resolve(dataclasses.replace(LARGE, **changes))
    assert pays_on_gpu(config, config.problem().describe()) == pays


def test_a_model_has_the_device_of_the_configuration():
    for name in ("cpu", "cuda"):
        config = resolve(Config(evaluations=60, device=name))
        assert make_learner(config, make_job(config, None)).surrogate._gpu == gpu_of(name)


@WITHOUT_GPU
def test_a_gpu_that_is_not_there_is_one_line_and_leaves_nothing(command, tmp_path):
    code, error = command(*TINY, "--device", "cuda")
    assert code == 2
    assert error.startswith("error: --device cuda: torch ") and error.endswith(
        "; use --device cpu, or auto for a GPU only where there is one\n"
    )
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@WITHOUT_GPU
def test_where_there_is_no_gpu_auto_is_stored_as_the_processor(command, tmp_path):
    assert command(*TINY, "--device", "auto", "--run-dir", "auto")[0] == 0
    assert command(*TINY, "--run-dir", "cpu")[0] == 0
    assert read_config("auto/config.json") == read_config("cpu/config.json")
    digests = [json.loads((tmp_path / name / "summary.json").read_text())["policy_sha256"] for name in ("auto", "cpu")]
    assert digests[0] == digests[1]


@WITHOUT_GPU
def test_a_run_that_was_begun_on_a_gpu_goes_on_on_no_other_device(command, tmp_path):
    assert command(*TINY, "--run-dir", "run")[0] == 0
    path = tmp_path / "run" / "config.json"
    path.write_text(path.read_text().replace('"device": "cpu"', '"device": "cuda"'))
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    code, error = command("--resume", "run")
    assert (code, len(error.splitlines())) == (2, 1)
    assert error.startswith("error: --resume run: was begun with --device cuda, and torch ")
    code, error = command("--config", "run/config.json", "--run-dir", "other")
    assert code == 2 and error.startswith("error: --device cuda: torch ")
    with pytest.raises(UsageError, match=r"^RUN_DIR run: was begun with --device cuda, and torch "):
        SlotOfRun(RunDir("run"), 1, 0, None, False)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_a_checkpoint_is_taken_up_on_the_device_that_it_was_made_on(command, tmp_path):
    assert command(*TINY, "--run-dir", "run")[0] == 0
    path = tmp_path / "run" / "config.json"
    path.write_text(path.read_text().replace('"device": "cpu"', '"device": "auto"'))
    assert command("--resume", "run")[0] == 0  # which has too little work for any other
    begun = result_fields(resolve(Config()))
    assert changed_field(begun, begun | {"device": "cuda"}) == "device"  # and so it is refused


def test_what_a_training_step_does_is_marked_by_the_names_of_its_phases(tmp_path, monkeypatch):
    marks = []

    class Mark:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            marks.append(f"begin {self.name}")

        def __exit__(self, *_):
            marks.append(f"end {self.name}")

    monkeypatch.setattr("ppo.training.trainer.ranges", lambda config: Mark)
    config = dataclasses.replace(SMALL, training_steps=1, eval_every=1, drivers=0)
    with Trainer(resolve(config), tmp_path / "run", quiet=True) as trainer:
        next(trainer)
    phases = [
        "broadcast",
        "broadcast",
        "collect",
        "train",
        "other",
        "broadcast",
        "broadcast",
        "evaluate",
        "other",
        "other",
    ]
    assert marks == [f"{what} {phase}" for phase in phases for what in ("begin", "end")]


@WITH_GPU
@pytest.mark.parametrize(
    "changes", [{"advantages": "gae"}, {}, {"env": "CartPole-v1", "time_steps": 20}, {"evaluations": 60}]
)
def test_on_a_gpu_the_bits_repeat_and_the_losses_are_those_of_the_processor(changes, tmp_path):
    config = dataclasses.replace(SMALL, training_steps=None if "evaluations" in changes else 5, drivers=0, **changes)
    digests, losses = [], []
    for name, device in (("a", "cuda"), ("b", "cuda"), ("c", "cpu")):
        with Trainer(resolve(dataclasses.replace(config, device=device)), tmp_path / name, quiet=True) as trainer:
            losses.append(next(trainer).scalars.get("losses/policy_loss", 0.0))
            for _ in trainer:
                pass
            digests.append(trainer.finish(pictures=False)["policy_sha256"])
    assert digests[0] == digests[1]
    assert losses[0] == pytest.approx(losses[2], rel=1e-4, abs=1e-6)


@WITH_GPU
def test_the_summary_of_a_run_on_a_gpu_has_its_figures(tmp_path):
    with Trainer(resolve(dataclasses.replace(SMALL, device="cuda")), tmp_path / "run", quiet=True) as trainer:
        for _ in trainer:
            pass
        use = trainer.finish(pictures=False)["resources"]
    assert 0 <= use["gpu_percent"] <= 100 and use["gpu_peak_memory_mb"] > 0
