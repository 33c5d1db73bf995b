"""A checkpoint is written whole or not at all, survives a crash, and executes nothing when it is read."""

import os

import numpy as np
import pytest

from env import UsageError
from ppo.data.files import write_atomically
from ppo.training.checkpoint import load_checkpoint, save_checkpoint


def test_a_checkpoint_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, {"a": np.arange(3)}, {"x": 1})
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(UsageError, match=r"checkpoint.npz: cannot be written to \(disk full\)"):
        save_checkpoint(path, {"a": np.arange(9)}, {"x": 2})
    state, meta = load_checkpoint(path, "--resume")
    assert state["a"].tolist() == [0, 1, 2]
    assert meta == {"x": 1}
    assert os.listdir(tmp_path) == ["checkpoint.npz"]


def test_the_file_is_on_disk_before_it_takes_its_name(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("fsync"), fsync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replace"), replace(a, b))[1])
    write_atomically(tmp_path / "x", b"content")
    assert order == ["fsync", "replace", "fsync"]
    assert (tmp_path / "x").read_bytes() == b"content"


class Evil:
    def __reduce__(self):
        return (os.system, ("touch executed",))


def test_reading_a_checkpoint_executes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "checkpoint.npz"
    np.savez(path, meta=np.frombuffer(b"{}", np.uint8), evil=np.array([Evil()], dtype=object))
    with pytest.raises(UsageError, match="damaged"):
        load_checkpoint(path, "--resume")
    assert not (tmp_path / "executed").exists()


def test_a_missing_checkpoint_is_named_with_its_flag(tmp_path):
    with pytest.raises(UsageError, match=r"^--warm-start .*: there is no checkpoint.npz in it$"):
        load_checkpoint(tmp_path / "checkpoint.npz", "--warm-start")
