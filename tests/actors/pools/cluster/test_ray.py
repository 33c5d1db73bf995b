"""The real thing: two nodes of a Ray cluster on this machine, which give the bits of this process, whoever dies."""

import dataclasses
import os
import subprocess
import sys
import time

import psutil
import pytest

from actors.job import Kind
from actors.pools.base import DriverError
from actors.pools.factory import make_pool
from ppo.config import Config
from ppo.experiments.ray_nodes import AGENT, nodes_of
from ppo.train import train
from tests.actors.pools.rounds import job, run, same, snapshot

pytestmark = [
    pytest.mark.slow,
    pytest.mark.faults,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
TIMEOUT = 60.0
SMALL = Config("tests.problems:UnknownOptimum", training_steps=6, episodes=8, eval_every=3, seed=3, hidden_sizes=(4,))


@pytest.fixture(scope="module")
def nodes():
    with nodes_of([2, 2]) as nodes:
        yield nodes


def on(nodes, a_job, drivers=4):
    return make_pool(a_job, drivers, "ray", TIMEOUT, address=nodes.address)


def test_a_training_has_the_digest_of_this_process(nodes, tmp_path):
    digests = {}
    for name, changes in {
        "here": {"drivers": 0},
        "ray": {"drivers": 4, "backend": "ray", "ray_address": nodes.address},
        "a lag": {"drivers": 0, "lag": 1},
        "ray, a lag": {"drivers": 3, "backend": "ray", "ray_address": nodes.address, "lag": 1},
    }.items():
        config = dataclasses.replace(SMALL, **changes)
        digests[name] = train(config, tmp_path / name, quiet=True, pictures=False)["policy_sha256"]
    assert digests["here"] == digests["ray"] != digests["a lag"] == digests["ray, a lag"]


def test_an_exception_of_the_users_arrives_with_its_own_traceback(nodes):
    with (
        on(nodes, job("tests.problems:RaisesForSomeConditions"), drivers=1) as pool,
        pytest.raises(DriverError) as caught,
    ):
        run(pool, 0)
    assert "tests/problems.py" in str(caught.value.__cause__)
    assert caught.value.slot is not None


def test_a_node_is_killed_another_joins_and_no_bit_changes(nodes, expected):
    with on(nodes, job(evaluation_cost_ms=20)) as pool:
        assert same(run(pool, 0)[0], expected[0])
        wait_for(lambda: len(pool._roster) == 4, pool, expected)
        pool.submit(1, snapshot(1), Kind.COLLECT)
        time.sleep(0.02)
        nodes.kill()
        assert same(pool.result().trajectory, expected[1])
        assert len(pool._roster) == 2
        nodes.add()
        wait_for(lambda: len(pool._roster) == 4, pool, expected)


def wait_for(done, pool, expected):
    """Runs rounds until something has happened."""
    deadline = time.monotonic() + TIMEOUT
    while not done():
        assert same(run(pool, 2)[0], expected[2])
        assert time.monotonic() < deadline


def test_a_cluster_of_its_own_is_reached_from_this_machine_alone_and_ends_with_the_command(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import pathlib, time\nimport helper\nimport tuninglaw\n\n"
        "@tuninglaw.objective(knobs={'gain': tuninglaw.Range(0, 1)}, conditions={'load': tuninglaw.Range(0, 1)})\n"
        "def cost(gain, load):\n    time.sleep(0.01)\n    return helper.distance(gain, load)\n"
    )
    (tmp_path / "helper.py").write_text("def distance(a, b):\n    return (a - b) ** 2\n")
    words = "--env ./mine.py:cost --training-steps 40 --episodes 8 --eval-every 0 --drivers 2 --backend ray --quiet"
    command = [sys.executable, "-m", "ppo.train", *words.split(), "--run-dir", str(tmp_path / "run")]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__)))))
    environment = os.environ | {"PYTHONPATH": root}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    started, children, addresses = time.monotonic(), set(), set()
    while process.poll() is None and time.monotonic() - started < 120:
        found = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        children |= set(found)
        if any(one.name() == AGENT for one in found if one.is_running()):
            addresses |= {address.laddr.ip for one in found for address in listening(one)}
        time.sleep(0.3)
    assert process.wait(10) == 0, process.stderr.read()
    assert addresses <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert addresses
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive


def listening(process):
    """Returns the sockets on which a process waits for connections."""
    try:
        return [one for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN]
    except psutil.Error:
        return []
