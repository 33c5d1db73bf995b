"""What ``tests.fuzz`` gives to the readers of laws in units, and of what a bench has measured."""

import functools
import io
import json
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np

from actors import Law, NetworkSpec, Snapshot
from actors.law_file import About, save_law
from actors.step_limit import StepLimit
from env.coordinates import Coordinates
from env.kinds import Choice, Integer, Log, Range
from env.objectives import bench
from ppo.config import Config
from ppo.data.answers import check_settings, read_answers
from ppo.training.asking import Asks
from ppo.training.trainer import Trainer
from tests.fuzz_damage import Case, damaged, json_bytes

KNOBS = {"gain": Range(-3, 8, "dB"), "taps": Integer(1, 9), "mode": Choice("fast", "slow")}
CONDITIONS = {
    "vin": Log(1, 100, unit="V"),
    "air": Choice("dry", "wet", observed=True),
    "wind": Range(0, 9, observed=True),
}
rig = bench(knobs=KNOBS, conditions=CONDITIONS, constraints=1)
VALUES = ["3.5", "-1", "1e400", "nan", "inf", "failed", "skipped", "", " ", "x", "1,2", "0x1", "1_0", "٣", "true"]
AIRS, WINDS = ["dry", "wet", "", "damp"], ["0", "4.5", "9", "9.1", "-1", "nan", "", "calm"]


def law_in_units(case: Case) -> bytes:
    """Returns the file of a law with names, units and a step limit, what it says of itself changed or not."""
    spec = NetworkSpec(4, (4,), "tanh", "gaussian", 2, (), 1, (0.0, 0.25))
    snapshot, start = (Snapshot(0, spec, np.full(spec.size, value)) for value in (0.1, 0.2))
    limit = StepLimit((None, start), (0.5, 0.1), spec.steps, 2) if case.chance(0.5) else None
    named = Coordinates({name: KNOBS[name] for name in ("gain", "taps")})
    about = About(
        {"env": "tests"}, named, Coordinates({"vin": CONDITIONS["vin"], "hot": Choice(False, True)}), limit=limit
    )
    buffer = io.BytesIO()
    save_law(buffer, snapshot, about)
    if case.chance(0.3):
        return damaged(case, buffer.getvalue())
    buffer.seek(0)
    arrays = dict(np.load(buffer))
    arrays["about"] = np.frombuffer(json_bytes(case, json.loads(about.to_bytes())), np.uint8)
    if limit is not None and case.chance(0.3):
        del arrays[case.one_of(["start_0", "start_1"])]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def read_law_in_units(case: Case, content: bytes) -> None:
    law = Law.load(case.file(content))
    assert law(np.zeros((3, law.conditions))).shape == (3, law.knobs)
    middle = law.condition_coordinates.in_units(np.zeros(law.conditions))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        knobs = law(**middle)
    assert list(knobs) == list(law.knob_coordinates)
    law.knob_coordinates.normalised(knobs)  # raises what a user sees where they are none


class Rig(Asks):
    """The first round of a run that asks ``rig``, of which every case is told from the beginning."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = Config(env="tests.fuzz_benches:rig", evaluations=40)
            with Trainer(config, Path(folder) / "run", quiet=True) as trainer:
                self.points = trainer.ask()
                self.config, self.files, self.job = trainer.config, trainer.files, trainer.job
                self.learner, self._whole = trainer.learner, trainer._asked

    def begin(self) -> None:
        """Forgets what was told."""
        none = self._whole[:0]
        self._asked, self.rounds = (
            self._whole,
            cast(Any, types.SimpleNamespace(recorded_rows=lambda: none, tell=self._take)),
        )

    def _take(self, rows: np.ndarray) -> None:
        sound = ~rows["failed"]
        assert np.isfinite(rows["f"][sound]).all() and np.isfinite(rows["g"][sound]).all()
        assert np.isfinite(rows["c"]).all() and (np.abs(rows["c"]) <= 1).all()

    def _advance(self) -> np.ndarray | None:
        return None


@functools.cache
def the_rig() -> Rig:
    """Returns the one that all cases are told to."""
    return Rig()


def answers_bytes(case: Case) -> bytes:
    """Returns a table of what was measured, with values from sound to absurd, changed or not."""
    rows = ["id,gain,f,g_0,air,wind"]
    for point in the_rig().points[: int(case.rng.integers(1, 5))]:
        name = point.id if case.chance(0.9) else case.one_of(["", "close", "plan-9-9", point.id.upper()])
        sound = case.chance(0.8)
        values = ["1.5", "-1", "dry", "3"] if sound else [case.one_of(one) for one in (VALUES, VALUES, AIRS, WINDS)]
        rows.append(",".join([name, str(point.knobs["gain"]), *values]))
    content = case.one_of(["\n", "\r\n"]).join(rows).encode(case.one_of(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    return damaged(case, content) if case.chance(0.4) else content


def read_answers_file(case: Case, content: bytes) -> None:
    rig = the_rig()
    rig.begin()
    answers = read_answers(case.file(content), rig.job.description)
    check_settings(answers, rig.points, rig.job.description)
    rig.tell(answers.values, answers.close)
