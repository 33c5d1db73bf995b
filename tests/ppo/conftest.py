"""Fixtures of the tests of ppo/: one thread for torch, the training command as a user would run it, little effort."""

import sys

import pytest
import torch

from ppo.config.command_line import run_main
from ppo.train import main
from tests.ppo.algorithm.model.quick import quick


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Gives torch one thread, as a training run does, so that no test depends on those that ran before it."""
    torch.set_num_threads(1)


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Returns a function that runs ``ppo.train`` in an empty directory and returns (exit code, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*argv):
        monkeypatch.setattr(sys, "argv", ["ppo.train", *map(str, argv)])
        code = 0
        try:
            run_main(main)
        except SystemExit as end:
            code = end.code
        return code, capsys.readouterr().err

    return run


@pytest.fixture
def little_effort(monkeypatch):
    """Makes laws quickly, where it does not matter how good they are."""
    quick(monkeypatch.setattr)
