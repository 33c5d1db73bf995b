"""What ``tests.fuzz`` gives to which reader: valid input, and ways to damage it."""

import contextlib
import dataclasses
import functools
import io
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from actors import Law, NetworkSpec, Policy, Snapshot
from actors.job import Kind, Task
from actors.law_file import About, Tried, save_law
from actors.npz import NpzError, read_npz
from actors.pools.base import DriverError
from actors.pools.dealing import DealingPool
from actors.pools.fleet import Event
from actors.pools.protocol import (
    NOTE,
    READY,
    Answer,
    pack_block,
    pack_error,
    pack_finished,
    pack_task,
    unpack_block,
    unpack_task,
)
from actors.pools.round import Round
from actors.snapshot import PREFIX
from env import UsageError
from ppo import Config, resolve
from ppo.archive import describe
from ppo.config.command_line import TrainArguments, parse
from ppo.config.fields import flag
from ppo.config.file import read_config
from ppo.data.archive import MAGIC, new_archive, read_archive
from ppo.data.records import RecordType, pack_record
from ppo.data.reuse import read_reused
from ppo.data.run_archive import signature
from ppo.data.table import write_table
from tests.actors.mixtures import mixture, random_critic, random_plan
from tests.fuzz_benches import answers_bytes, law_in_units, read_answers_file, read_law_in_units
from tests.fuzz_damage import VALUES, Case, damaged, json_bytes
from tests.ppo.data.archives import collected, job, round_rows

ENVIRONMENTS = ["rosenbrock", "ackley", "branin", "hartmann", "noisy", "CartPole-v1", "Pendulum-v1", "TempControl-v1"]
ENVIRONMENTS += [
    "tests.misfits:NoKnobs",
    "tests.misfits:AbstractSampler",
    "tests.problems:Quadratic",
    "os:path",
    ":",
    "a:b:c",
]
SAMPLERS = [
    "random",
    "lhs",
    "uncertainty",
    "heterogeneous",
    "env",
    "random:2,lhs:1",
    "random:nan",
    "tests.misfits:Misfit",
]
JOB = job()


@dataclasses.dataclass(frozen=True)
class Target:
    """A reader.

    Attributes:
        make: makes the input of a case.
        read: reads it.
        documented: what it may raise.
    """

    make: Callable[[Case], Any]
    read: Callable[[Case, Any], object]
    documented: type[Exception]


@functools.cache
def snapshots() -> list[bytes]:
    """Returns the bytes of several snapshots."""
    categorical = NetworkSpec(3, (4,), "relu", "categorical", 2, (2, 3))
    parts = {"live": np.array([True, False, True]), "critic": random_critic()[0], "plan": random_plan(3)}
    moments = {"obs_mean": np.zeros(3), "obs_var": np.ones(3)}
    made = [mixture(1), mixture(3, **parts), mixture(2, **moments)]
    return [one.to_bytes() for one in (*made, Snapshot(0, categorical, np.zeros(categorical.size)))]


def snapshot_bytes(case: Case) -> bytes:
    """Returns a snapshot whose header or bytes were changed."""
    message = case.one_of(snapshots())
    if case.chance(0.5):
        return damaged(case, message)
    magic, length, version, std_floor = PREFIX.unpack_from(message)
    text = json_bytes(case, json.loads(message[PREFIX.size : PREFIX.size + length]))
    std_floor = case.one_of([std_floor, std_floor, float("nan"), -1.0, 1e308])
    return PREFIX.pack(magic, len(text), version, std_floor) + text + message[PREFIX.size + length :]


def read_snapshot(case: Case, message: bytes) -> None:
    snapshot = Snapshot.from_bytes(message)
    Policy(snapshot).mode(np.zeros((2, snapshot.spec.obs_dim)))
    assert Snapshot.from_bytes(snapshot.to_bytes()).to_bytes() == snapshot.to_bytes()


def law_bytes(case: Case) -> bytes:
    """Returns a file of a law that was changed, or a sound file of a snapshot, or of what was tried, that was."""
    buffer = io.BytesIO()
    if case.chance(0.3):
        tried = np.zeros(case.one_of([(2, 4), (2, 4), (0, 4), (2, 3), (4,), (), (2, 4, 1)]))
        tried = tried.astype(case.one_of([np.float64, np.float64, np.float32, np.int64, np.bool_]))
        if tried.size and case.chance(0.5):
            tried.flat[int(case.rng.integers(tried.size))] = case.one_of([1, 2, -1, 0])
        if tried.size and tried.dtype == np.float64 and case.chance(0.5):
            tried.flat[int(case.rng.integers(tried.size))] = case.one_of([np.nan, np.inf, -1.0, 1e300])
        np.savez(buffer, snapshot=np.frombuffer(case.one_of(snapshots()), np.uint8), tried=tried)
        return buffer.getvalue()
    if case.chance(0.5):
        np.savez(buffer, snapshot=np.frombuffer(snapshot_bytes(case), np.uint8))
        return buffer.getvalue()
    snapshot = Snapshot.from_bytes(case.one_of(snapshots()))
    knobs, dims = snapshot.spec.action_dim, snapshot.spec.obs_dim
    tried = Tried(np.zeros((2, knobs)), np.ones((2, max(dims - knobs, 0))), np.array([1.0, np.nan]))
    save_law(buffer, snapshot, About(tried=case.one_of([None, tried])))
    return damaged(case, buffer.getvalue())


def read_law(case: Case, content: bytes) -> None:
    law = Law.load(case.file(content))
    knobs = law(np.zeros((3, law.conditions)))
    assert knobs.shape == (3, law.knobs)
    if law.tried is not None:
        assert law.tried.x.shape[1] == law.knobs
        assert law.tried.c.shape == (len(law.tried.f), law.conditions)


def npz_bytes(case: Case) -> bytes:
    """Returns a file of arrays, some of them of types and shapes that are not ours, changed or not."""
    kinds = [np.float64, np.int32, np.bool_, np.uint8, object, "U3", "c16", "M8[s]", [("x", "f8")]]
    shapes = [(), (0,), (3,), (2, 3), (2, 0, 4), (1000,)]
    arrays = {f"a{j}": np.zeros(case.one_of(shapes), case.one_of(kinds[:4] if j else kinds)) for j in range(3)}
    buffer = io.BytesIO()
    (np.savez_compressed if case.chance(0.1) else np.savez)(buffer, **arrays)
    content = buffer.getvalue()
    if case.chance(0.3):  # in the header of an array, which has no checksum of its own
        content = content.replace(b"(3,)", case.one_of([b"(9,)", b"(-3,)", b"(3e9,)", b"(((((", b"('',)", b"(10**9,)"]))
    return damaged(case, content)


def config_bytes(case: Case) -> bytes:
    """Returns a changed configuration."""
    config = json.loads(case.one_of(CONFIGS).to_json())
    return damaged(case, json_bytes(case, config)) if case.chance(0.3) else json_bytes(case, config)


CONFIGS = [
    Config(),
    Config(env="hartmann", dims=4, knobs=2, evaluations=300, check=15),
    Config(env="TempControl-v1", env_kwargs={"level": "high", "history": True}, hidden_sizes=(8, 4), target_kl=0.1),
    Config(env="noisy", env_kwargs={"of": "branin", "level": 0.1}, reuse=("runs/a", "b.csv"), model="none"),
]


def value_words(case: Case, name: str) -> list[str]:
    """Returns the words of a flag's value, from sound to absurd."""
    if name in ("env", "sampler") and case.chance(0.9):
        return [case.one_of(ENVIRONMENTS if name == "env" else SAMPLERS)]
    if name == "env_kwargs":
        keys = ["dims", "knobs", "level", "of", "x", "max_episode_steps", "history", "valleys", "noise_seed", ""]
        return [f"{case.one_of(keys)}={case.one_of(VALUES)}" for _ in range(int(case.rng.integers(3)))]
    default = getattr(TrainArguments, name, None)
    if default is not None and case.chance(0.4):
        return [str(default)] if default else []
    usual = [["1"], ["4"], ["0.5"], ["20"], ["300"], ["8", "8"], ["slot"], ["gae"], ["gp"], ["thread"]]
    unusual = [[str(case.one_of(VALUES))], ["-5"], ["1e400"], [str(10 ** int(case.rng.integers(1, 30)))], []]
    return case.one_of(usual if case.chance(0.7) else unusual)


def command_line(case: Case) -> list[str]:
    """Returns the words of a command line with up to four flags, some of them with values that cannot be."""
    names = [field.name for field in dataclasses.fields(TrainArguments)]
    words = []
    for _ in range(int(case.rng.integers(1, 5))):
        name = case.one_of(names) if case.chance(0.97) else case.one_of(["x", "help-me", "", "no-seed"])
        words += [flag(name), *value_words(case, name)] if case.chance(0.85) else [flag(f"no_{name}")]
    return [word for word in words if word != "--help"]


def read_command_line(case: Case, words: list[str]) -> None:
    resolved = resolve(parse(words).to_config())
    assert resolve(resolved) == resolved
    resolved.to_json()


@functools.cache
def rows() -> np.ndarray:
    """Returns rows of an archive."""
    return round_rows(JOB)


def archive_bytes(case: Case) -> bytes:
    """Returns an archive that was changed, or one with other contents and the right checksums."""
    whole = new_archive(signature(JOB), rows())
    if case.chance(0.5):
        return damaged(case, whole)
    _, version, length = struct.unpack_from("<16sII", whole)
    text = json_bytes(case, json.loads(whole[24 : 24 + length]))
    start = struct.pack("<16sII", MAGIC, version, len(text)) + text
    records = [
        pack_record(case.one_of(list(RecordType)), case.rng.bytes(case.one_of([0, 4, 24, 32]))) for _ in range(2)
    ]
    data = pack_record(RecordType.ROWS, damaged(case, rows().tobytes()) if case.chance(0.3) else rows().tobytes())
    return start + struct.pack("<I", zlib.crc32(start)) + data + b"".join(records if case.chance(0.5) else [])


def read_archive_file(case: Case, content: bytes) -> None:
    contents = read_archive(case.file(content), "RUN_DIR run")
    describe(contents)
    write_table(case.folder / "table.csv", contents.rows)


def message(case: Case) -> tuple[str, bytes]:
    """Returns a message between a learner and a driver, by its type."""
    task = Task(Kind.COLLECT, 3, 0, 4)
    made = {
        "task": pack_task(task, 7, 1, pack_block(1, 9, "psm")),
        "block": pack_block(1, 9, "psm_é"),
        "finished": pack_finished(Answer(task, 7, 1.0, 2.0, sent(), 2)),
        "note": NOTE + "ValueError: the probe lost cont\u00e4ct".encode(),
        "error": pack_error(2, "Traceback\n\nValueError: the probe lost contact\n"),
    }
    name = case.one_of(list(made))
    return name, damaged(case, made[name])


@functools.cache
def sent() -> bytes:
    """Returns the bytes of the trajectory that answers the task of ``message``."""
    return bytes(collected(JOB, stop=4).buffer)


def read_message(case: Case, given: tuple[str, bytes]) -> None:
    name, content = given
    if name == "task":
        unpack_task(content)
    elif name == "block":
        unpack_block(content)
    else:
        take_message(content)


class OneDriver:
    """In the place of a fleet, and of the handle of its driver, which is ready."""

    clock_ahead, far = 0.0, False

    def start(self, index: int) -> Any:
        return self

    def wait(self, timeout: float | None) -> list[Event]:
        return [Event(cast(Any, self), READY)]

    def now(self) -> float:
        return 0.0


def take_message(content: bytes) -> None:
    """Gives a learner what a driver sent that runs the task of ``message``; what ends a run by its text is sound."""
    pool = DealingPool(JOB, cast(Any, OneDriver()), 1, 0.0)
    (driver,) = pool._roster.drivers
    pool._round = Round(7, Kind.COLLECT, 1, b"", pool._merger(Kind.COLLECT, 0, None), [], 0.0)
    driver.task, driver.round = Task(Kind.COLLECT, 3, 0, 4), 7
    with contextlib.suppress(DriverError):
        pool._take(driver, content)


def csv_bytes(case: Case) -> bytes:
    """Returns a table that was changed."""
    lines = ["note,x_0,x_1,c_0,f", "a,0,0.5,-1,3", 'b,"0.25",1e-3,0,', "c,1,1,1,inf", "", "d,0,0,0,1e400"]
    return damaged(case, case.one_of(["\n", "\r\n"]).join(lines).encode(case.one_of(["utf-8", "utf-8-sig", "utf-16"])))


TARGETS = {
    "law": Target(law_bytes, read_law, ValueError),
    "law-in-units": Target(law_in_units, read_law_in_units, ValueError),
    "answers": Target(answers_bytes, read_answers_file, UsageError),
    "snapshot": Target(snapshot_bytes, read_snapshot, ValueError),
    "config": Target(config_bytes, lambda case, content: resolve(read_config(case.file(content))), UsageError),
    "command-line": Target(command_line, read_command_line, UsageError),
    "archive": Target(archive_bytes, read_archive_file, UsageError),
    "npz": Target(npz_bytes, lambda case, content: read_npz(io.BytesIO(content), "it is damaged"), NpzError),
    "messages": Target(message, read_message, ValueError),
    "csv": Target(csv_bytes, lambda case, content: read_reused([str(case.file(content))], JOB), UsageError),
}
