"""The study of the defaults of control says what was reached, and its ablation changes one thing at a time."""

import dataclasses

import numpy as np
import pytest

from env.controllers import PID
from ppo import Config, resolve
from ppo.config.control import LEARNING_RATE
from ppo.evaluation.held_out import held_out_returns
from ppo.studies import defaults
from ppo.studies.control_runs import COLUMNS, OURS, MeasuredTraining, RandomActionsRun
from ppo.studies.defaults_ablation import ABLATED, DEFAULTS, ablation_table, changed, differs
from ppo.studies.defaults_report import (
    again_table,
    aim,
    draw,
    furnace_table,
    gain_cells,
    peer_table,
    reached,
    task_table,
)
from ppo.studies.defaults_tasks import ADVISED_TASKS, NORMALISED_PEER, TASKS, Task, furnace
from ppo.studies.runs import Options

PEER = "Stable-Baselines3"
CART_POLE = Task(Config(env="CartPole-v1", env_steps=1000), 2, 2, median=5.0, worst=4.0, of_peer=1.0)


def row(task, variant, returns, **more):
    cells = dict.fromkeys(COLUMNS, "-") | {"problem": task.name, "variant": variant, "seconds": "3"} | more
    return cells | {"returns": " ".join(str(value) for value in returns)}


def rows_of(task, ours, theirs):
    rows = [row(task, OURS, [one, one], **{"curve": "1 2 3", "env steps": "900"}) for one in ours]
    return [*rows, *(row(task, PEER, [one]) for one in theirs), row(task, "chance", [1, 2])]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [([4, 6], [5, 5], True), ([3, 9], [5, 5], False), ([4, 5], [1, 1], False), ([5, 7], [6, 7], False)],
)
def test_what_is_reached(ours, theirs, expected):
    assert reached(CART_POLE, ours, theirs) is expected
    assert reached(Task(CART_POLE.config), ours, theirs) is None
    text = task_table([CART_POLE], rows_of(CART_POLE, ours, theirs))
    assert f"| {'yes' if expected else 'no'} | 3 | 3 |" in text
    assert f"| CartPole-v1, 1,000 | 1.5 | {np.median(ours):.1f} (2) | {min(ours):.1f} |" in text
    assert aim(CART_POLE, theirs) == f"median 5; worst 4; median {np.median(theirs):,.0f}, theirs"


def test_other_seeds_are_held_against_the_same_aims():
    rows = rows_of(CART_POLE, [9, 9], [5, 7])
    again = [one for one in rows_of(CART_POLE, [4, 8], []) if one["variant"] == OURS]
    text = again_table([CART_POLE], rows, again)
    assert "| 6.0 (2) | 4.0 | yes | 8.5 (4) | 4.0 | yes | median 5; worst 4; median 6, theirs |" in text
    again = [one for one in rows_of(CART_POLE, [3, 8], []) if one["variant"] == OURS]
    assert "| 5.5 (2) | 3.0 | no | 8.5 (4) | 3.0 | no |" in again_table([CART_POLE], rows, again)


def test_all_tasks_are_measured_with_seeds_of_their_own():
    again = defaults.unseen_runs("again", TASKS, 10, quick=False)
    assert {run.problem for run in again} == {task.name for task in TASKS}
    assert all(run.peer is None and run.config.seed >= 501 for run in again)
    assert len(again) == sum(task.seeds for task in TASKS)
    assert len(defaults.unseen_runs("again", TASKS, 1, quick=True)) == len(TASKS)


def test_what_is_advised_for_the_furnace_is_two_settings_and_the_past_actions():
    for task, level in zip(ADVISED_TASKS, ("medium", "high"), strict=True):
        assert task.config.env_kwargs == {"level": level, "actions": True, "load_rounds": 0}
        given = task.config.changed()
        assert given == furnace(level, 900_000, actions=True).config.changed() | {"gamma": 0.95, "norm_obs": False}


def test_differences_have_intervals():
    text = peer_table([CART_POLE], rows_of(CART_POLE, [10.0, 12.0], [1.0, 3.0]))
    assert (
        f"| CartPole-v1, 1,000 | {PEER} | 2.0 | 1.0 | +9 [+3, +15] |" in text
    )  # 2 degrees of freedom: 9 -+ 4.3 x 1.41
    assert "| +0 |" in peer_table([CART_POLE], rows_of(CART_POLE, [5.0, 5.0], [5.0, 5.0]))


def test_seeds_that_are_surely_better_are_counted():
    simple = np.array([-10.0, -20.0, -30.0, -40.0])
    found = np.array([[-9.0, -19.0, -29.0, -38.0], [-12.0, -20.0, -30.0, -39.0]])
    assert gain_cells(found, simple) == ("+0.5", "+0.5 ± 9.5", "+1.2, -0.2", "1 of 2")  # 12.7 * 0.75 of two seeds


def test_gains_over_controllers_are_paired_by_episode():
    task, controller = furnace("low", 20_000), PID(0.083, bias=0.5)
    returns = held_out_returns(task.config.problem(), controller)
    rows = [row(task, OURS, returns + 7.0), row(task, OURS, returns + 9.0)]
    text = furnace_table("Gain", [task, CART_POLE], rows, {"low": {"P": controller}})
    assert text.startswith("## Gain\n")
    assert "| +8.0 | +8.0 ± 12.7 | +7.0, +9.0 | 2 of 2 |" in text
    rows = [row(task, OURS, returns + gain) for gain in (1.0, 2.0, 3.0, 5.0, 8.0, 90.0)]
    text = furnace_table("Gain", [task], rows, {"low": {"P": controller}})
    assert "| +4.0 [+1.0, +90.0] |" in text  # of six values, the least and the largest: 1 - 2 / 2^6 is 97 %
    assert furnace_table("Gain", [task, CART_POLE], [], {"low": {"P": controller}}) == ""


def test_the_figure_has_a_panel_for_each_task(tmp_path):
    rows = rows_of(CART_POLE, [4, 6], [5, 5]) + rows_of(TASKS[1], [4], [5])
    draw(tmp_path / "figure.png", [CART_POLE, TASKS[1]], rows)
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_the_study_writes_the_tables_of_complete_tasks(tmp_path, monkeypatch):
    (complete, missing), asked = (CART_POLE, TASKS[1]), []

    def known(out, runs):
        asked.extend(runs)
        return {"tasks": rows_of(complete, [4, 6], [5, 5])}

    monkeypatch.setattr(defaults, "TASKS", (complete, missing))
    monkeypatch.setattr(defaults, "run_all", known)

    def absent(out, runs):
        return [one for one in runs if one.problem == missing.name or one.group != "tasks"]

    monkeypatch.setattr(defaults, "missing_runs", absent)
    monkeypatch.setattr(defaults, "check_extras", lambda runs: None)
    defaults.run(Options(tmp_path, 2, False, "CartPole-v1"))
    assert {run.problem for run in asked} == {complete.name}
    text = (tmp_path / "defaults.md").read_text()
    assert "| CartPole-v1, 1,000 | 1.5 | 5.0 (2) |" in text
    assert "Pendulum-v1, 150,000" not in text
    assert (tmp_path / "defaults.png").is_file()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_gives_nothing_but_environment_budget_and_sampler(task):
    assert task.config.changed().keys() <= {"env", "env_kwargs", "env_steps", "sampler"}
    *trained, chance = defaults.runs_of(task, 10, quick=False)
    assert isinstance(chance, RandomActionsRun)
    assert all(isinstance(run, MeasuredTraining) for run in trained)
    ours = [run for run in trained if run.variant == OURS]
    assert [run.config.seed for run in ours] == list(range(401, 401 + task.seeds))
    budget, resolved = task.config.env_steps, resolve(ours[0].config)
    assert 0.97 * budget <= resolved.training_steps * resolved.episodes * resolved.time_steps <= budget
    assert {run.env_steps for run in trained} == {budget}
    assert {run.variant for run in trained if run.peer is not None} == set(task.sides)
    assert defaults.runs_of(task, 1, quick=True)[0].env_steps < budget


def test_three_tasks_are_held_out_and_the_ablation_leaves_them_out():
    held_out = {task.name for task in TASKS if task.held_out}
    assert len(held_out) == 3
    assert not held_out & {run.problem for run in defaults.ablation_runs(5, quick=False)}
    (cheetah,) = [task for task in TASKS if NORMALISED_PEER in task.sides]
    assert cheetah.sides[PEER].settings == {}


@pytest.mark.parametrize("name", ABLATED)
def test_an_ablation_changes_what_it_says(name):
    base = Config(env="TempControl-v1", env_kwargs={"load_rounds": 0}, sampler="lhs", env_steps=20_000)
    two = dataclasses.replace(base, env="HalfCheetah-v5", env_kwargs={}, sampler="env")
    three = dataclasses.replace(base, env_steps=900_000)
    some = [one for one in (base, two, three) if differs(one, name)]
    assert some
    for one in some:
        before, after = (dataclasses.asdict(resolve(config)) for config in (one, changed(one, name)))
        names = {key for key in before if before[key] != after[key]}
        sizes = {"episodes", "time_steps", "num_minibatches", "training_steps"}
        assert names and (names <= sizes or len(names) == 1)
    assert not differs(Config(env="CartPole-v1", env_steps=1000), "std of the state")


def test_a_small_difference_is_none():
    config = Config(env="HalfCheetah-v5", env_steps=950_000)
    assert resolve(config).learning_rate != LEARNING_RATE
    assert not differs(config, f"learning rate {LEARNING_RATE:g} for any budget")
    assert differs(dataclasses.replace(config, env_steps=500_000), f"learning rate {LEARNING_RATE:g} for any budget")


def test_the_ablation_shows_the_defaults_beside_each_change_and_marks_what_seeds_tell():
    tasks = rows_of(CART_POLE, [4, 6, 2, 5, 3], [])
    ours = [one for one in tasks if one["variant"] == OURS]
    worse = [one | {"variant": "rewards as they are", "returns": "0.5 1.5"} for one in ours]
    like = [one | {"variant": "lambda 0.95"} for one in ours]
    text = ablation_table(tasks, worse + like)
    assert f"| {DEFAULTS} | 4.0 (2.0) |" in text
    assert "| rewards as they are | 1.0 (1.0), p 0.007 * |" in text
    assert "| lambda 0.95 | 4.0 (2.0), p 1 |" in text
    assert "| std of the state | - |" in text
