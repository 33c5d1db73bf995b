"""A law is saved with what it is of, byte for byte; files of before and laws alone are read, and all else is told."""

import json

import numpy as np
import pytest

import tuninglaw
from actors import Law
from actors.law_file import About, read_law, save_law
from actors.load import load
from actors.snapshot import NetworkSpec, Snapshot
from env import Choice, Integer, Log
from env.coordinates import Coordinates
from tests.actors.mixtures import mixture, random_critic
from tests.test_version_0_1 import OLD

KNOBS = Coordinates({"gain": Log(1, 8, "dB"), "mode": Choice("fast", 2, True)})
CONDITIONS = Coordinates({"load": Integer(0, 5)}, "conditions")
ABOUT = About(
    {"env": "mine:loss", "env_kwargs": {"level": 1.5}},
    KNOBS,
    CONDITIONS,
    provenance={"config": {"seed": 3}, "check": "é"},
)
SNAPSHOT = mixture(critic=random_critic()[0], live=np.array([True, False, True]))
SPACES = {
    "observations": {"kind": "box", "shape": [3], "dtype": "<f8", "low": -1, "high": 1},
    "actions": {"kind": "discrete", "n": 2, "start": 0},
}


@pytest.mark.parametrize("about", [ABOUT, About(), None], ids=["units", "nothing said", "nothing"])
def test_a_law_that_is_saved_comes_back_byte_for_byte(about, tmp_path):
    law = Law(SNAPSHOT, about)
    law.save(tmp_path / "first.law")
    back = Law.load(tmp_path / "first.law")
    back.save(tmp_path / "second.law")
    assert (tmp_path / "first.law").read_bytes() == (tmp_path / "second.law").read_bytes()
    c = np.linspace(-1, 1, 20)[:, None]
    assert back(c).tobytes() == law(c).tobytes()
    assert back.uncertainty(c).tobytes() == law.uncertainty(c).tobytes()
    assert back.about == law.about
    assert back.knob_coordinates == law.knob_coordinates and list(back.knob_coordinates) == list(law.knob_coordinates)


def test_names_and_units_come_back(tmp_path):
    Law(SNAPSHOT, ABOUT).save(tmp_path / "mine.npz")
    back = load(tmp_path / "mine.npz")
    assert back.knob_coordinates == KNOBS and back.condition_coordinates == CONDITIONS
    assert back.about.problem == ABOUT.problem and back.about.provenance == ABOUT.provenance
    assert back(load=2) == Law(SNAPSHOT, ABOUT)(load=2)


def test_a_file_of_before_holds_the_snapshot_alone(tmp_path):
    law = load(OLD)
    assert list(law.knob_coordinates) == ["x_0"] and list(law.condition_coordinates) == ["c_0"]
    assert law.about == About()
    save_law(tmp_path / "law.npz", SNAPSHOT)
    assert load(str(tmp_path))([[0.5]]).tolist() == Law(SNAPSHOT)([[0.5]]).tolist()


def test_a_directory_or_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no law\.npz in it; a run has one once a training step is"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    assert tuninglaw.load is load


def written(path, about):
    """Writes a law's file, whose text is given as bytes or as what JSON holds."""
    text = about if isinstance(about, bytes) else json.dumps(about).encode()
    arrays = {"snapshot": SNAPSHOT.to_bytes(), "about": text}
    np.savez(path, **{name: np.frombuffer(part, np.uint8) for name, part in arrays.items()})


SOUND = json.loads(ABOUT.to_bytes())
WITHOUT = {name: {key: value for key, value in SOUND.items() if key != name} for name in SOUND}


def test_the_sound_text_is_read(tmp_path):
    written(tmp_path / "law.npz", SOUND)
    assert read_law(tmp_path / "law.npz")[1] == ABOUT


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (SOUND | {"format": 2}, "a later version of this program wrote it, in format 2"),
        (b"", "what it says of itself is not JSON"),
        (b"\xff\xfe{}", "what it says of itself is not JSON"),
        (ABOUT.to_bytes()[:-1], "what it says of itself is not JSON"),
        (b"[" * 100_000, "what it says of itself is not JSON"),
        *((text, "what it says of itself is no description of a law") for text in ([], 5, None, "law", {})),
        *((SOUND | {"format": number}, "is no description of a law") for number in ("1", 1.0, True, None)),
        *((SOUND | {name: [1]}, "is no description of a law") for name in ("problem", "provenance")),
        (SOUND | {"actions": SPACES["actions"]}, "is no description of a law"),
        (SOUND | {"observations": SPACES["observations"]}, "is no description of a law"),
        (WITHOUT["format"], "is no description of a law"),
        (WITHOUT["knobs"], "is no description of a law"),
        (WITHOUT["conditions"], "is no description of a law"),
        (SOUND | {"knobs": []}, "knobs that describe no coordinates"),
        (SOUND | {"knobs": "gain"}, "knobs that describe no coordinates"),
        (SOUND | {"conditions": [{"name": "load"}]}, "conditions that describe no coordinates"),
        (SOUND | {"knobs": SOUND["knobs"][:1]}, "it describes 1 knobs and 1 conditions, and its policy has others"),
        (SOUND | {"conditions": SOUND["knobs"]}, "it describes 2 knobs and 2 conditions, and its policy has others"),
        (
            SOUND | {"knobs": SOUND["conditions"], "conditions": SOUND["knobs"]},
            "it describes 1 knobs and 2 conditions, and its policy has others",
        ),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_a_text_that_describes_no_law_is_told_in_one_line(about, message, tmp_path):
    written(tmp_path / "law.npz", about)
    for read in (load, Law.load, read_law):
        with pytest.raises(ValueError, match=r"law\.npz is damaged, or no law") as caught:
            read(tmp_path / "law.npz")
        assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("about", [np.zeros(4), np.zeros((2, 2), np.uint8), np.array(3, np.uint8)])
def test_a_text_that_is_no_bytes_is_told(about, tmp_path):
    np.savez(tmp_path / "law.npz", snapshot=np.frombuffer(SNAPSHOT.to_bytes(), np.uint8), about=about)
    with pytest.raises(ValueError, match="it does not hold the bytes of a snapshot"):
        load(tmp_path / "law.npz")


def control(tmp_path, snapshot=None, **changes):
    spec = NetworkSpec(3, (), "tanh", "categorical", 1, (2,))
    save_law(tmp_path / "law.npz", snapshot or Snapshot(0, spec, np.zeros(spec.size)), About(**SPACES | changes))
    return tmp_path / "law.npz"


def test_the_policy_of_an_environment_is_loaded_as_one(tmp_path):
    assert load(control(tmp_path))(np.zeros(3)) == 0
    with pytest.raises(ValueError, match="the policy of an environment, and no law"):
        Law.load(tmp_path / "law.npz")


GAUSSIAN = NetworkSpec(3, (), "tanh", "gaussian", 2)
BOX = {"kind": "box", "shape": [2], "dtype": "<f4", "low": -1, "high": 1}


@pytest.mark.parametrize(
    ("spec", "changes", "message"),
    [
        (None, {"actions": {"kind": "discrete", "n": 3, "start": 0}}, "its policy gives 1 values, and Discrete"),
        (None, {"actions": BOX}, "its policy gives 1 values, and Box"),
        (None, {"actions": {"kind": "multi-binary", "shape": 2}}, "its policy gives 1 values, and MultiBinary"),
        (GAUSSIAN, {"actions": BOX | {"shape": [3]}}, "its policy gives 2 values, and Box"),
        (GAUSSIAN, {"actions": {"kind": "discrete", "n": 2, "start": 0}}, "its policy gives 2 values, and Discrete"),
        (None, {"observations": BOX}, "its policy observes 3 values, and Box"),
        (None, {"actions": {"kind": "lever"}}, "it describes no space of Gymnasium"),
        (None, {"observations": {}}, "it describes no space of Gymnasium"),
    ],
)
def test_spaces_that_are_not_those_of_the_policy_are_told(spec, changes, message, tmp_path):
    snapshot = spec and Snapshot(0, spec, np.zeros(spec.size))
    with pytest.raises(ValueError, match=rf"law\.npz is damaged, or no law \(.*{message}") as caught:
        load(control(tmp_path, snapshot, **changes))
    assert "\n" not in str(caught.value)
