"""Each mistake of a new user is one line that names the method and what it must take or return."""

import gymnasium
import pytest

from env import Problem, UsageError
from env.contract import checked
from env.errors import ContractError
from env.words import described
from tests.mistaken import FiveSteps

SUCH = r"must be a space, such as gymnasium.spaces.Box"
RETURNS_TWO = r"; it must return \(observation, info\)"
RETURNS_FIVE = r"; it must return \(observation, reward, terminated, truncated, info\)"

MISTAKES = [
    ("DescribedKnobs", "knobs = {'gain': 1} must be a whole number of at least 1; names and ranges are for a function"),
    ("LacksKnobs", "LacksKnobs lacks knobs, such as knobs = 2: .*its __init__ returned and had not set knobs"),
    ("TakesNoConditions", r"TakesNoConditions.__call__\(x\) must be __call__\(self, x, c\)"),
    ("TakesMore", r"TakesMore.__call__\(x, c, \*, power\) must be __call__\(self, x, c\)"),
    ("SolvesNothing", r"SolvesNothing.solve\(\) must be solve\(self, c\)"),
    ("CannotBeMade", r"cannot be made: KeyError in line \d+ of mistaken.py, CannotBeMade.__init__: 'licence'"),
    ("NeedsPort", "NeedsPort.__init__.. missing 1 .*'port'; give it as --env-kwargs port=VALUE"),
    ("Plain", "is a class that says nothing of its knobs and conditions"),
    ("np", "is the module numpy; must be a function with @objective"),
    ("OBS", r"is an array of shape \(3,\); must be a function with @objective"),
    ("OldReset", r"OldReset.reset\(\) must be reset\(self, \*, seed=None, options=None\)"),
    ("ResetsToObservation", rf"ResetsToObservation.reset returned an array of shape \(3,\){RETURNS_TWO}"),
    ("ResetsToThree", rf"reset returned 3 values, an array .*, a dict of 0 values, the number 1{RETURNS_TWO}"),
    ("ResetsToNone", rf"ResetsToNone.reset returned None{RETURNS_TWO}"),
    ("ResetsWithoutInfo", rf"reset returned 2 values, an array of shape \(3,\), None{RETURNS_TWO}"),
    ("TakesNoOptions", r"TakesNoOptions.reset\(seed=None\) must be reset"),
    ("StepsOldWay", rf"StepsOldWay.step returned 4 values, .*{RETURNS_FIVE}.*the old Gym"),
    ("StepsToSix", f"StepsToSix.step returned 6 values, .*{RETURNS_FIVE}"),
    ("TakesNoAction", r"TakesNoAction.step\(\) must be step\(self, action\)"),
    ("LacksStep", r"LacksStep lacks step: def step\(self, action\), which returns \(observation, reward"),
    ("LacksReset", r"LacksReset lacks reset: def reset\(self, \*, seed=None, options=None\), which returns"),
    (
        "ObservesFour",
        r"ObservesFour.reset returned an observation that is an array of shape \(4,\); .* of shape \(3,\)",
    ),
    ("ObservesColumn", r"ObservesColumn.step returned an observation that is an array of shape \(3, 1\)"),
    ("ObservesText", "ObservesText.reset returned an observation that is the text 'left'"),
    ("RewardsNone", "RewardsNone.step returned None as the reward; it must be one number"),
    ("RewardsArray", r"RewardsArray.step returned an array of shape \(1,\) as the reward"),
    ("TerminatesByText", "TerminatesByText.step returned the text 'no' as terminated; it must be True or False"),
    ("TruncatesByNumber", "TruncatesByNumber.step returned the number 0 as truncated; it must be True or False"),
    ("LacksObservationSpace", "LacksObservationSpace lacks observation_space: set it"),
    ("LacksActionSpace", "LacksActionSpace lacks action_space: set it"),
    ("ObservationSpaceClass", f"observation_space of ObservationSpaceClass is the class Box; it {SUCH}"),
    ("ActionSpaceNumber", f"action_space of ActionSpaceNumber is the number 2; it {SUCH}"),
    ("ObservesNothing", "hold no number"),
    ("ObservesImage", "are images, and policies here have no convolutions; .*FlattenObservation"),
    ("ObservesGraph", "are not supported, only Box, Discrete, MultiDiscrete, MultiBinary, and Dict and Tuple"),
    ("NumbersItsParts", "are not supported"),
    ("ForgetsPart", "an observation that is a dict of 1 value with place; it must be a dict with place, speed"),
    ("PlaceOutside", r"an observation\['place'\] that is the number 3; it must be one of Discrete\(3\)"),
    ("EnvironmentCannotBeMade", "cannot be made: OSError in line .*EnvironmentCannotBeMade.__init__: no such port"),
    ("CropsObservation", r"CropsObservation.reset returned an observation that is an array of shape \(2,\)"),
    ("EndsByChance", "--time-steps is needed: .* its episodes ended after 3 to 6 time steps; give --time-steps 6"),
    ("NeverEnds", "--time-steps is needed: .* no episode ended; give the time steps of an episode"),
]


@pytest.mark.parametrize(("name", "message"), MISTAKES, ids=[name for name, _ in MISTAKES])
def test_a_mistake_is_one_line(name, message):
    with pytest.raises(UsageError, match=message) as caught:
        Problem(f"tests.mistaken:{name}").slot_length()
        Problem(f"tests.mistaken:{name}").describe()
    assert "\n" not in str(caught.value)
    assert f"--env tests.mistaken:{name}" in str(caught.value) or str(caught.value).startswith("--env-kwargs")


@pytest.mark.parametrize("name", ["ResetsToObservation", "StepsOldWay", "ObservesFour"])
def test_gymnasiums_wrappers_do_not_hide_what_is_wrong_below_them(name):
    gymnasium.register("Mistaken-v0", f"tests.mistaken:{name}", max_episode_steps=9)
    try:
        with pytest.raises(ContractError, match=f"^--env Mistaken-v0: {name}.(reset|step) returned"):
            Problem("Mistaken-v0").describe()
    finally:
        del gymnasium.registry["Mistaken-v0"]


HEAD = "from env import Choice, Log, Range, bench, objective\n"
KNOBS = "knobs=dict(gain=Range(0, 1)), conditions=dict(load=Range(0, 1))"
FILES = [
    ("def f(x:\n    return 1\n", r"cannot be imported: SyntaxError at line 1: '\(' was never closed"),
    ("def f(x):\n  a = 1\n   return a\n", "cannot be imported: IndentationError at line 3: unexpected indent"),
    ("\nimport no_such_package.part\n", "cannot be imported: line 2 of x.py imports no_such_package, which is not"),
    ("from math import no_such\n", "cannot be imported: ImportError in line 1 of x.py: cannot import name 'no_such'"),
    (f"@objective({KNOBS})\ndef f(gain, lod): ...\n", r"line 2 of x.py: f\(gain, lod\): .*the conditions, gain, load"),
    ("@objective\ndef f(gain, load): ...\n", "line 2 of x.py: @objective needs its arguments by name"),
    ("@objective(conditions=dict(a=Range(0, 1)))\ndef f(a): ...\n", "line 2 of x.py: knobs is needed: must name one"),
    ("@objective(knobs={}, conditions={})\ndef f(): ...\n", "line 2 of x.py: knobs is needed: must name one or more"),
    ("@objective(knobs=['a'])\ndef f(): ...\n", r"line 2 of x.py: knobs = \['a'\]: must name one or more"),
    (
        "@objective(knobs=dict(a=(0, 1)))\ndef f(a): ...\n",
        r"line 2 of x.py: knobs: a = \(0, 1\) must be Range\(low, high\), Log",
    ),
    ("\nspan = Range(1, 0)\n", r"line 3 of x.py: Range\(1, 0\): its first bound must be below its second"),
    ("span = Log(1)\n", r"line 2 of x.py: Range.__init__\(\) missing 1 .*it must be as in Range\(0, 1, unit='V'\)"),
    (
        "mode = Choice('a', 'b', seen=True)\n",
        r"line 2 of x.py: Choice.* got an .*as in Choice\('low', 'high'\)",
    ),
    (f"@objective({KNOBS}, of=1)\ndef f(): ...\n", r"line 2 of x.py: objective\(\) got an .*as in @objective\(knobs="),
    (f"supply = bench({KNOBS}, of=1)\n", r"line 2 of x.py: bench\(\) got an .*it must be as in bench\(knobs=dict\("),
    (
        f"@objective({KNOBS}, best=3)\ndef f(gain, load): ...\n",
        "line 2 of x.py: best: is the number 3; it must be a function of the conditions, or None",
    ),
    (
        f"@objective({KNOBS}, best=lambda gain: 1)\ndef f(gain, load): ...\n",
        r"line 2 of x.py: best\(gain\): missing a required argument: 'gain'; .* names of the conditions, load",
    ),
]


@pytest.mark.parametrize(("text", "message"), FILES, ids=[text[:30] for text, _ in FILES])
def test_a_file_that_cannot_be_imported_is_one_line_with_its_place(text, message, tmp_path):
    path = tmp_path / "x.py"
    path.write_text(HEAD * any(name in text for name in ("Range", "objective", "Log", "Choice")) + text)
    with pytest.raises(UsageError, match=f"^--env {path}:f: {message}") as caught:
        Problem(f"{path}:f").describe()
    assert "\n" not in str(caught.value)


def test_a_module_beside_it_with_a_mistake_is_named(tmp_path):
    (tmp_path / "beside_it.py").write_text("x = = 1\n")
    (tmp_path / "x.py").write_text("import beside_it\n")
    with pytest.raises(UsageError, match=r"cannot be imported: SyntaxError at line 1 of beside_it.py: invalid syntax"):
        Problem(f"{tmp_path / 'x.py'}:f").describe()


def test_what_a_file_raises_itself_comes_through(tmp_path):
    (tmp_path / "x.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        Problem(f"{tmp_path / 'x.py'}:f").describe()


BEST = [
    ("0.5", r"best returned the number 0.5; it must return the best knobs by name, dict\(gain=...\)"),
    ("dict(gian=0.5)", "best returned a dict of 1 value with gian; it must return"),
    ("dict(gain=[0.5, 0.6])", r"best returned knobs of other shapes than \(3,\) or \(\)"),
    ("dict(gain='low')", "best returned a value that is none of its knob, gain = .*must be a number"),
]


@pytest.mark.parametrize(("returned", "message"), BEST, ids=[returned for returned, _ in BEST])
def test_best_knobs_that_are_none(returned, message, tmp_path):
    path = tmp_path / "x.py"
    path.write_text(f"{HEAD}@objective({KNOBS}, best=lambda load: {returned})\ndef f(gain, load):\n    return 0.0\n")
    objective = Problem(f"{path}:f").objective()
    with pytest.raises(ContractError, match=f"^--env x.py:f: {message}"):
        objective.solve(objective.condition_coordinates.normalised({"load": [0.1, 0.2, 0.3]}))


def test_values_may_lie_beyond_bounds_and_be_of_other_types_and_the_seed_be_left_alone():
    class Loose(FiveSteps):
        def reset(self, *, seed=None, options=None):
            return [7, 0.5, -3.0], {}

    assert checked("--env x", Loose()).reset(seed=0)[0] == [7, 0.5, -3.0]


def test_what_step_raises_is_left_to_the_run_and_to_the_search_for_a_limit():
    assert Problem("tests.mistaken:RaisesInStep", time_steps=5).describe().obs_dim == 3
    with pytest.raises(ZeroDivisionError, match="the motor stalled"):
        Problem("tests.mistaken:RaisesInStep").slot_length()


def test_an_objective_is_not_evaluated_for_its_description():
    assert Problem("tests.mistaken:ReturnsNone").describe().obs_dim == 2


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None"),
        (True, "True"),
        ("x" * 99, f"the text '{'x' * 39}..."),
        ((1, 2), "a tuple of 2 values"),
        ({}, "a dict of 0 values"),
        ([1], "a list of 1 value"),
        (1.5, "the number 1.5"),
        (int, "the class int"),
        (pytest, "the module pytest"),
        (object(), "an object of type object"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_values_in_words(value, words):
    assert described(value) == words
