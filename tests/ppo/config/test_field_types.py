"""A value of the wrong type, which a program gave, is a mistake that names its flag and what would work."""

import dataclasses

import pytest

from env import UsageError
from ppo import Config, resolve
from ppo.config.field_types import check_types, type_words


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("evaluations", "30", "--evaluations '30': must be a whole number"),
        ("evaluations", 30.5, "--evaluations 30.5: must be a whole number"),
        ("check", True, "--check True: must be a whole number"),
        ("drivers", "two", "--drivers 'two': must be a whole number or auto"),
        ("seed", "a", "--seed 'a': must be a whole number"),
        ("on_failure", "skip", "--on-failure 'skip': must be one of stop, infeasible"),
        ("model", "xx", "--model 'xx': must be one of none, gp"),
        ("learning_rate", "fast", "--learning-rate 'fast': must be a number"),
        ("hidden_sizes", 8, "--hidden-sizes 8: must be a list, each a whole number"),
        ("anneal_lr", 1, "--anneal-lr 1: must be True or False"),
        ("env_kwargs", ["a"], r"--env-kwargs \['a'\]: must be an object of names and values"),
    ],
)
def test_a_value_of_the_wrong_type_is_told(field, value, told):
    with pytest.raises(UsageError, match=told):
        resolve(dataclasses.replace(Config(), **{field: value}))


def test_what_a_program_may_give_fits(tmp_path):
    config = Config(drivers=2, learning_rate=1, hidden_sizes=[8, 8], start_law=tmp_path, reuse=["a.csv", tmp_path])
    check_types(config)
    assert (config.start_law, config.reuse) == (str(tmp_path), ("a.csv", str(tmp_path)))
    config.to_json()


def test_all_fields_have_a_type_that_is_known():
    assert all(type_words(field.type) for field in dataclasses.fields(Config))
    check_types(Config())
    check_types(resolve(Config(drivers=0)))
