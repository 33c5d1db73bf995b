"""A real cluster of nodes on this machine: the same bits, whatever becomes of its nodes, and nothing is left behind."""

import contextlib
import dataclasses
import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from actors.job import Kind
from actors.pools.environment import ROOT
from actors.pools.factory import make_pool
from ppo.experiments.ray_nodes import AGENT, nodes_of
from ppo.train import train
from tests.actors.pools.rounds import copy_of, job, run, same, snapshot
from tests.actors.pools.test_orphans import gone
from tests.actors.pools.test_record import Kept
from tests.ppo.configs import SMALL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.faults,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray, of the extra cluster, is not installed"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux' processes"),
]
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.fixture(scope="module")
def nodes():
    """Returns a cluster of two nodes, of which nothing outlives these tests."""
    before = set(psutil.Process().children(recursive=True))
    with nodes_of([2, 2]) as nodes:
        yield nodes
        started = set(psutil.Process().children(recursive=True)) - before
    assert gone([process.pid for process in started], 60)


def everywhere(pool, nodes=1):
    """Runs rounds until there are so many nodes and all drivers, each ready."""
    deadline = time.monotonic() + 60
    while len(pool._fleet._nodes) < nodes or len(pool._roster.idle) < pool.drivers:
        assert time.monotonic() < deadline, [driver.ready for driver in pool._roster.drivers]
        run(pool, 0)


@pytest.mark.parametrize("lag", [0, 1])
def test_a_training_ends_in_the_same_bits(lag, nodes, tmp_path, bits):
    config, found = dataclasses.replace(SMALL, training_steps=10, eval_every=5, lag=lag), {}
    there = {"backend": "ray", "ray_address": nodes.address, "drivers": 4 - lag}
    for name, changes in {"here": {}, "there": there}.items():
        summary = train(dataclasses.replace(config, **changes), tmp_path / name, quiet=True, pictures=False)
        found[name] = bits(tmp_path / name, summary)
        assert summary["driver_restarts"] == 0
    assert found["here"] == found["there"]


MINE = textwrap.dedent("""
    import pathlib

    import numpy as np
    from beside import OFFSET
    from env import Range, objective

    TABLE = np.load(pathlib.Path(__file__).with_name("table.npz"))["table"]

    @objective(knobs={"gain": Range(0, 1)}, conditions={"load": Range(0, 1)})
    def mine(gain, load):
        return (gain - load) ** 2 + OFFSET + TABLE[1]

    @objective(knobs={"gain": Range(0, 1)}, conditions={"load": Range(0, 1)})
    def broken(gain, load):
        print("the probe is", "warm")
        raise ValueError("the probe lost contact")
""")


@pytest.fixture
def lab(tmp_path):
    """Returns a directory of a user's, with modules and data."""
    import numpy as np

    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "beside.py").write_text("OFFSET = 3.0")
    np.savez(tmp_path / "table.npz", table=np.arange(3.0))
    return tmp_path


@pytest.fixture
def started():
    """Returns a function that starts a training in a directory; none outlives its test."""
    with contextlib.ExitStack() as stack:

        def start(directory, *flags):
            process = stack.enter_context(_started(directory, *flags))
            stack.callback(process.kill)
            return process

        yield start


def _started(directory, *flags):
    command = [sys.executable, "-m", "ppo.train", "--quiet", "--no-pictures", "--hidden-sizes", "8", *map(str, flags)]
    environment = os.environ | {"PYTHONPATH": ROOT}
    return subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process):
    """Waits for the end of a training; returns its exit code and what it wrote to stdout and stderr."""
    out, errors = process.communicate(timeout=60)
    return process.returncode, out, errors


def test_modules_and_data_of_a_users_travel_and_an_exception_comes_back(nodes, lab, started):
    joining = ("--backend", "ray", "--ray-address", nodes.address, "--drivers", 2)
    mine = ("--env", "./mine.py:mine", "--training-steps", 3)
    here = started(lab, *mine, "--run-dir", "here")
    there = started(lab, *mine, "--run-dir", "there", *joining)
    broken = started(lab, "--env", "./mine.py:broken", "--run-dir", "broken", *joining)
    assert [ended(process)[0] for process in (here, there)] == [0, 0]
    summaries = [json.loads((lab / name / "summary.json").read_text()) for name in ("here", "there")]
    assert summaries[0]["policy_sha256"] == summaries[1]["policy_sha256"]
    code, out, errors = ended(broken)
    assert code == 1
    assert 'raise ValueError("the probe lost contact")' in errors and "mine.py" in errors
    assert "failed: ValueError: the probe lost contact" in errors
    assert "the probe is warm" in out + errors  # what it prints is seen here


def begun(process, run_dir):
    """Waits until a training has done some steps."""
    metrics = run_dir / "metrics.csv"
    while not (metrics.exists() and len(metrics.read_text().splitlines()) > 2):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def test_signals_finish_the_step_and_save_it(nodes, tmp_path, started):
    where = ("--backend", "ray", "--ray-address", nodes.address, "--drivers", 2)
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143}
    processes = {
        number: started(tmp_path, *where, "--training-steps", 100_000, "--eval-every", 2, "--run-dir", number.name)
        for number in codes
    }
    for number, process in processes.items():
        begun(process, tmp_path / number.name)
        process.send_signal(number)
    for number, process in processes.items():
        code, _, errors = ended(process)
        assert code == codes[number]
        assert "after training step" in errors.splitlines()[-1]
        assert (tmp_path / number.name / "checkpoint.npz").exists()


def test_without_an_address_a_cluster_lives_on_this_machine_alone_as_long_as_its_run(tmp_path, started):
    process = started(
        tmp_path,
        *("--backend", "ray", "--drivers", 2, "--training-steps", 100_000, "--eval-every", 2, "--run-dir", "cut"),
    )
    begun(process, tmp_path / "cut")
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    assert any(one.name().startswith(AGENT) for one in family)
    sockets = []
    for one in family:
        with contextlib.suppress(psutil.NoSuchProcess):  # Ray ends helpers that it has no use for
            sockets += [socket for socket in one.net_connections("inet") if socket.status == psutil.CONN_LISTEN]
    assert len(sockets) > 3
    assert {socket.laddr.ip for socket in sockets} <= LOOPBACK
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 143
    assert gone([one.pid for one in family], 60)


def test_nodes_that_are_killed_leave_and_join_change_no_bit(nodes):
    with make_pool(job(episodes=24), 0, "process", 0) as here:
        expected = [run(here, step)[0] for step in range(3)]

    def meanwhile(action, step):
        """Runs a round in which something happens once all drivers have their first task; returns who took part."""
        pool.submit(step, snapshot(step), Kind.COLLECT, Kept(slot_by_slot=True))
        pool._deal(pool._round)
        for node in pool._fleet._nodes.values():
            pool._fleet._call(node)
        action()
        trajectory = copy_of(pool.result().trajectory)
        assert same(trajectory, expected[step])
        return set(trajectory.drivers.tolist())

    with make_pool(job(episodes=24, evaluation_cost_ms=20), 4, "ray", 60.0, address=nodes.address) as pool:
        everywhere(pool, 2)
        before = set(pool._fleet._nodes)
        meanwhile(nodes.kill, 0)
        (left,) = pool._fleet._nodes
        nodes.add()
        everywhere(pool, 2)
        (joined,) = set(pool._fleet._nodes) - {left}
        assert joined not in before
        assert meanwhile(lambda: None, 1) == {0, 1, 2, 3}
        meanwhile(nodes.remove, 2)
        assert set(pool._fleet._nodes) == {joined}
        assert pool.restarts == 0  # no slot is to blame
