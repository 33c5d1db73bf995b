"""The table of tasks counts the seeds that reach their aim and names the settings that are not defaults."""

import dataclasses

import pytest

from ppo import Config, resolve
from ppo.studies import control
from ppo.studies.control_runs import COLUMNS, MeasuredTraining, RandomActionsRun


def row(problem, variant, returns, **more):
    cells = dict.fromkeys(COLUMNS, "-") | {"problem": problem, "variant": variant} | more
    return cells | {"returns": " ".join(str(value) for value in returns)}


def test_settings_that_are_not_defaults_are_named():
    assert control.settings(Config(env="CartPole-v1", training_steps=30)) == "-"
    assert control.settings(Config(env="Pendulum-v1", gamma=0.95, norm_obs=False)) == "--gamma 0.95 --norm-obs False"


def test_the_table_of_tasks_counts_seeds():
    task = control.Task(Config(env="CartPole-v1"), 5.0, 1.0)
    rows = [
        row("CartPole-v1", "tuninglaw", values, **{"env steps": "100", "seconds": "3"}) for values in ([4, 6], [4, 5])
    ]
    rows.append(row("CartPole-v1", "chance", [1, 2]))
    text = control.table([task], rows)
    assert "| CartPole-v1 | 100 | - | 1.5 | 475 | 4.8 | 4.5 | 5.0 | 1 of 2 | 100% | 3 |" in text


@pytest.mark.parametrize("task", control.TASKS[:3], ids=lambda task: task.config.env)
def test_a_task_is_trained_with_each_seed(task):
    *trained, chance = control.runs_of(task, 3, quick=False)
    assert [run.config.seed for run in trained] == [401, 402, 403]
    assert all(isinstance(run, MeasuredTraining) for run in trained)
    assert isinstance(chance, RandomActionsRun)
    assert trained[0].config.training_steps == task.config.training_steps
    assert resolve(dataclasses.replace(trained[0].config, drivers=0)).eval_every == task.config.training_steps // 15
    quick = control.runs_of(task, 3, quick=True)[0]
    assert (quick.config.training_steps, quick.config.eval_every) == (2, 1)


def test_a_peer_is_trained_with_as_many_seeds_and_steps():
    *trained, _ = control.runs_of(control.TASKS[-1], 10, quick=False)
    assert [run.variant for run in trained] == ["tuninglaw"] * 3 + ["Stable-Baselines3"] * 3  # three at the most
    assert [run.config.seed for run in trained] == [401, 402, 403] * 2
    assert [run.peer is not None for run in trained] == [False] * 3 + [True] * 3
