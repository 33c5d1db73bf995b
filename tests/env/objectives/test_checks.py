"""An objective whose sizes or metric cannot work is refused in one line where it is made."""

import pytest

from env import Problem, UsageError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SaysNothing", "SaysNothing lacks knobs, such as knobs = 2: how many it has"),
        ("NoKnobs", "knobs = 0 must be a whole number of at least 1"),
        ("TrueKnobs", "knobs = True must be a whole number of at least 1"),
        ("FloatKnobs", "knobs = 1.0 must be a whole number of at least 1"),
        ("TextKnobs", "knobs = '1' must be a whole number of at least 1"),
        ("NoConditions", "conditions = 0 must be a whole number of at least 1"),
        ("NegativeConditions", "conditions = -1 must be a whole number of at least 1"),
        ("HalfConditions", "conditions = 1.5 must be a whole number of at least 1"),
        ("TooManyConditions", "knobs = 1 and conditions = 20000 must be at most 20,000 together"),
        ("RootMeanSquare", "metric = 'rmse' must be mse or msle"),
        ("NoMetric", "metric = None must be mse or msle"),
    ],
)
def test_what_an_objective_says_of_itself_is_checked(name, message):
    for problem, told in (
        (Problem(f"tests.misfits:{name}"), f"--env tests.misfits:{name}"),
        (Problem("noisy", env_kwargs={"of": f"tests.misfits:{name}"}), f"--env-kwargs of=tests.misfits:{name}"),
    ):
        with pytest.raises(UsageError) as error:
            problem.objective()
        assert str(error.value) == f"{told}: {message}"


def test_sizes_of_any_type_of_whole_numbers_work():
    assert Problem("tests.misfits:WholeNumbers").objective().dims == 2
