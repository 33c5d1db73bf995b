"""What a program gives in place of a name is trained on: a function, a class or an instance, and no other than it."""

import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from env import Objective, Problem, Range, UsageError, bench, objective, objects
from env.objectives import Sphere
from env.objectives.evaluation import evaluate
from ppo import Config
from tests.problems import CountdownEnv, Instrument, Quadratic, Scaled, amplifier, supply


def f_of(config):
    """Returns f in the middle."""
    made = config.problem().objective()
    return evaluate(made, np.zeros((1, made.knobs)), np.zeros((1, made.conditions)))[0]


def described(value):
    """Returns a new function, which gives the value."""

    @objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)})
    def constant(gain, vin):
        return value

    return constant


@pytest.mark.parametrize(
    ("given", "name", "family"),
    [
        (amplifier, "tests.problems:amplifier", "tuning"),
        (Instrument, "tests.problems:Instrument", "tuning"),
        (Quadratic, "tests.problems:Quadratic", "tuning"),
        (CountdownEnv, "tests.problems:CountdownEnv", "control"),
        (Sphere, "env.objectives.benchmarks:Sphere", "tuning"),
    ],
)
def test_what_can_be_imported_goes_by_its_name(given, name, family):
    config = Config(env=given, time_steps=9)
    assert config.env == name and config.problem().family == family
    assert Config(env=name, time_steps=9) == config
    assert name not in objects._given


def test_what_cannot_be_imported_is_held():
    inner = described(7.0)
    config = Config(env=inner)
    assert config.env == f"{__name__}:described.<locals>.constant"
    assert f_of(config) == 7


def test_two_functions_that_were_made_in_one_place_do_not_mix():
    configs = [Config(env=described(value)) for value in (1.0, 2.0, 3.0)]
    assert [f_of(config) for config in configs] == [1, 2, 3]
    assert len({config.env for config in configs}) == 3


def test_two_benches_and_two_lambdas_do_not_mix():
    benches = [bench(knobs={name: Range(0, 1)}, conditions={"load": Range(0, 1)}) for name in ("fan", "valve")]
    configs = [Config(env=one) for one in benches]
    assert [list(one.problem().describe().coordinates[0]) for one in configs] == [["fan"], ["valve"]]
    known = {"knobs": {"gain": Range(0, 1)}, "conditions": {"vin": Range(0, 1)}}
    configs = [Config(env=objective(**known)(lambda gain, vin, value=value: value)) for value in (1.0, 2.0)]
    assert [f_of(config) for config in configs] == [1, 2]


def test_a_bench_of_a_module_goes_by_its_name_there():
    assert Config(env=supply).env == "tests.problems:supply"


def test_two_instances_of_a_class_do_not_mix():
    instances = [Scaled(1.0, offset) for offset in (10.0, 20.0)]
    configs = [Config(env=one) for one in (*instances, instances[0])]
    offset = f_of(configs[0]) - 10
    assert [f_of(config) for config in configs] == [10 + offset, 20 + offset, 10 + offset]
    assert configs[0].env == configs[2].env != configs[1].env
    assert configs[0].problem().objective() is instances[0]
    of_class = Config(env="tests.problems:Scaled", env_kwargs={"scale": 1.0, "offset": 30.0})
    assert f_of(of_class) == 30 + offset


def test_a_function_that_is_defined_again_is_the_new_one():
    """As in a notebook whose cell is run again."""
    scope = {"__name__": "__main__", "objective": objective, "Range": Range}
    code = """if True:
        @objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)})
        def cell(gain, vin):
            return VALUE
    """
    names = set()
    for value in (1.0, 2.0):
        exec(code.replace("VALUE", str(value)), scope)
        config = Config(env=scope["cell"])
        names.add(config.env)
        assert f_of(config) == value
    assert names == {"__main__:cell"}


class Local(Objective):
    knobs = conditions = 1

    def __call__(self, x, c):
        return x[:, 0] + 5


SENT = """if True:
    import pickle, sys
    import numpy as np
    from env.objectives.evaluation import evaluate

    problem = pickle.load(sys.stdin.buffer)
    made = problem.objective()
    print(evaluate(made, np.zeros((1, made.knobs)), np.zeros((1, made.conditions)))[0], problem.family)
    assert pickle.loads(pickle.dumps(problem)) == problem
"""


def test_it_is_sent_to_processes_that_cannot_import_it():
    for given, value in ((described(3.5), 3.5), (Scaled(1.0, 8.0), f_of(Config(env=Scaled(1.0, 8.0))))):
        sent = pickle.dumps(Config(env=given).problem())
        done = subprocess.run([sys.executable, "-c", SENT], input=sent, capture_output=True, check=True)
        assert done.stdout.decode().split() == [str(value), "tuning"]


def test_what_cannot_be_sent_is_told_in_one_line():
    lock = __import__("threading").Lock()

    @objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)})
    def locked(gain, vin):
        return 0 if lock else 1

    problem = Config(env=locked).problem()
    with pytest.raises(
        UsageError, match=r"cannot be sent to driver processes \(TypeError: .*\); put it in a module, or"
    ):
        pickle.dumps(problem)


class Abstract(gymnasium.Env):
    pass


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda gain, vin: gain, "is a function that says nothing of its knobs and conditions; put @objective"),
        (print, "is a function that says nothing of its knobs and conditions"),
        (int, "is a class that says nothing of its knobs and conditions"),
        (5, "env = 5: is the number 5; must be a function with @objective"),
        (None, "env = None: is None; must be a function with @objective"),
        (CountdownEnv(), "is an environment, of which drivers need several; give its class"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,  # the same in every process
)
def test_anything_else_is_told_in_one_line(given, message):
    with pytest.raises(UsageError) as caught:
        Config(env=given)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_class_that_lacks_a_method_is_told():
    from tests.problems import AbstractObjective

    with pytest.raises(UsageError, match=r"AbstractObjective.*: lacks __call__"):
        Config(env=AbstractObjective)


def test_a_name_that_something_was_given_under_is_no_other_problem():
    assert f_of(Config(env=Local)) == 5
    assert Problem(f"{__name__}:Local").family == "tuning"
