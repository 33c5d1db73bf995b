"""``ppo.evaluate``, ``ppo.archive`` and ``ppo.replay`` answer any damage to a run's files with one line."""

import dataclasses
import io
import json
import shutil
import sys

import numpy as np
import pytest

from actors import NetworkSpec, Snapshot
from actors.law_file import load_snapshot, save_law
from ppo import Config, archive, evaluate, replay
from ppo.config.command_line import run_main
from ppo.data.archive import NAME
from ppo.train import train

SMALL = Config(env="sphere", training_steps=1, episodes=2, hidden_sizes=(4,), drivers=0, eval_every=0, check=15)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small finished run, of which each test takes a copy."""
    path = tmp_path_factory.mktemp("finished") / "run"
    train(SMALL, path, quiet=True, pictures=False)
    return path


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """A copy of the run, in the directory where the commands run."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def answer(command, capsys, *argv):
    """Returns the exit code of a command and what it wrote on standard error."""
    code, sys.argv[1:] = 0, argv
    try:
        run_main(command.main)
    except SystemExit as end:
        code = end.code
    return code, capsys.readouterr().err


@pytest.fixture
def refused(capsys, monkeypatch):
    """Returns a function that runs a command, which must end with exit code 2 and one line, and returns the line."""
    monkeypatch.setattr(sys, "argv", ["command"])

    def call(command, *argv):
        code, error = answer(command, capsys, *argv)
        assert (code, len(error.splitlines())) == (2, 1), error
        return error

    return call


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def law_of(spec, value=0.0):
    buffer = io.BytesIO()
    save_law(buffer, Snapshot(0, spec, np.full(spec.size, value)))
    return buffer.getvalue()


LAWS = {
    "empty": b"",
    "text": b"a law",
    "a checkpoint": npz(meta=np.zeros(3, np.uint8)),
    "more": npz(snapshot=np.zeros(3, np.uint8), more=np.zeros(3)),
    "objects": npz(snapshot=np.array([{}], object)),
    "NaN": law_of(NetworkSpec(2, (4,), "tanh", "gaussian", 1), np.nan),
    "an overflow": law_of(NetworkSpec(2, (4,), "relu", "gaussian", 1), 1e300),
    "another problem": law_of(NetworkSpec(3, (4,), "tanh", "gaussian", 1)),
    "choices": law_of(NetworkSpec(2, (4,), "tanh", "categorical", 1, (3,))),
}


@pytest.mark.parametrize("content", LAWS.values(), ids=LAWS)
def test_another_law_is_told(content, run, refused):
    (run / "law.npz").write_bytes(content)
    assert refused(evaluate, "run", "--no-pictures").startswith("error: RUN_DIR run: its law.npz is ")


def test_a_law_that_is_cut_or_flipped_anywhere_is_told(run, refused):
    whole = (run / "law.npz").read_bytes()
    for at in range(0, len(whole), 41):
        (run / "law.npz").write_bytes(whole[:at])
        assert "law.npz is damaged" in refused(evaluate, "run")


def test_a_header_of_absurd_sizes_is_told(run, refused):
    message = load_snapshot(run / "law.npz").to_bytes()
    for old, new in ((b"[4]", b"[1000000000, 1000000000]"), (b"tanh", b"sine"), (b'{"n', b"[" * 100_000)):
        assert old in message
        changed = message.replace(old, new, 1)
        length = int.from_bytes(message[4:8], "little") + len(new) - len(old)
        changed = changed[:4] + length.to_bytes(4, "little") + changed[8:]
        (run / "law.npz").write_bytes(npz(snapshot=np.frombuffer(changed, np.uint8)))
        assert "law.npz is damaged" in refused(evaluate, "run")


CONFIGS = {
    "empty": b"",
    "deep": b"[" * 100_000,
    "nested": b'{"env_kwargs": {"x": ' + b"[" * 30 + b"]" * 30 + b"}}",
    "no UTF-8": b"\xff\xfe",
    "huge": b'{"dims": 1000000000}',
    "a huge keyword": b'{"env": "sphere", "env_kwargs": {"dims": 1000000000}}',
    "digits": b'{"dims": ' + b"9" * 5000 + b"}",
    "a range": b'{"env": "sphere", "time_steps": -2}',
    "another environment": b'{"env": "sphare"}',
    "another problem": b'{"env": "branin", "dims": 3}',
    "a list": b"[]",
    "half": b'{"env": "sphere", "dims": 2.5}',
}


@pytest.mark.parametrize("content", CONFIGS.values(), ids=CONFIGS)
def test_another_configuration_is_told(content, run, refused):
    (run / "config.json").write_bytes(content)
    assert refused(evaluate, "run").startswith("error: RUN_DIR run")


SLOT = ("--training-step", "0", "--slot", "0")


@pytest.mark.parametrize("content", CONFIGS.values(), ids=CONFIGS)
def test_another_configuration_is_told_where_a_slot_is_run_alone(content, run, refused):
    (run / "config.json").write_bytes(content)
    assert refused(replay, "run", *SLOT).startswith("error: RUN_DIR run")


@pytest.mark.parametrize("counters", [None, 0, [0], [0.5, 0, 0], [-1, 0, 0]], ids=str)
def test_so_is_another_checkpoint(counters, run, refused):
    with np.load(run / "checkpoint.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "counters"}
    more = {} if counters is None else {"counters": np.array(counters)}
    del arrays["agent.parameters"]
    (run / "checkpoint.npz").write_bytes(npz(**arrays, **more))
    assert refused(replay, "run", *SLOT).startswith("error: RUN_DIR run: its networks do not have the shapes")
    (run / "checkpoint.npz").write_bytes(b"PK")
    assert refused(replay, "run", *SLOT).startswith("error: RUN_DIR run: checkpoint.npz is damaged")


CHECKS = ["3", "[]", '{"evaluations": "15"}', '{"evaluations": 15}', '{"evaluations": 15, "words": "x", "gain": NaN}']


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_that_is_none_is_not_shown(check, run, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["command"])
    digest = json.loads((run / "summary.json").read_text())["policy_sha256"]
    (run / "summary.json").write_text(f'{{"policy_sha256": "{digest}", "check": {check}}}')
    (run / "evaluation.json").write_bytes(b"[" * 100_000)
    code, error = answer(evaluate, capsys, "run", "--no-pictures")
    assert (code, error) == (0, "") or (code, len(error.splitlines())) == (2, 1)


def test_an_archive_that_is_cut_or_flipped_is_told_or_read(run, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["command"])
    whole = (run / NAME).read_bytes()
    for at in range(0, len(whole), 97):
        flipped = bytearray(whole)
        flipped[at] ^= 0xFF
        for content in (whole[:at], bytes(flipped)):
            (run / NAME).write_bytes(content)
            code, error = answer(archive, capsys, "run", "--csv", "a.csv")
            assert (code, error) == (0, "") or (code, len(error.splitlines())) == (2, 1)


def test_a_path_that_is_none_is_told(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (evaluate, archive):
        assert "is too long for a path" in refused(command, f"a/{'x' * 300}/b")
        assert "is no path" in refused(command, "a\0b")


def test_a_law_of_a_larger_machine_is_evaluated(run, capsys, monkeypatch):
    """What training takes of memory does not matter to an evaluation."""
    monkeypatch.setattr(sys, "argv", ["command"])
    config = dataclasses.replace(SMALL, episodes=2**30, time_steps=2**20)
    (run / "config.json").write_text(config.to_json())
    assert answer(evaluate, capsys, "run", "--no-pictures") == (0, "")
