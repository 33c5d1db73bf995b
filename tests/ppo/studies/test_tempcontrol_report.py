"""The tables of the article's study, from returns that are known."""

import numpy as np

from ppo.studies import tempcontrol_report as report
from ppo.studies.control_runs import COLUMNS
from ppo.studies.tempcontrol_problems import MODELS
from ppo.studies.tempcontrol_race import COLUMNS as RACE_COLUMNS


def row(problem, variant, returns, **more):
    cells = dict.fromkeys(COLUMNS, "-") | {"problem": problem, "variant": variant} | more
    return cells | {"returns": " ".join(str(value) for value in returns)}


def test_tables_say_whether_drivers_changed_a_policy():
    controllers = {"v0": {"u = 1": np.array([-3.0, -5.0])}}
    rows = [row("v0", model, [-4, -6], **{"policy sha256": model.split()[-1]}) for model in MODELS]
    assert "Drivers changed a policy." in report.returns_table(rows, controllers)
    for one in rows:
        one["policy sha256"] = "same"
    text = report.returns_table(rows, controllers)
    assert "the same to the bit" in text
    assert "| v0 | u = 1 | -4 | 1 | - |" in text
    assert "| Base | -36,299 | 920 | 310.9 | 36.7 | -5 |" in report.article_table(rows)


def test_a_race_that_was_not_won_says_so():
    cells = dict.fromkeys(RACE_COLUMNS, "-") | {"PID": "-2700.0", "env steps": "20000", "return": "-2650.0"}
    rows = [cells | {"variant": "a", "seconds": "12.3", "passed": "True"}]
    rows += [cells | {"variant": "b", "seconds": "99.9", "passed": "False"}]
    rows.append(rows[0] | {"variant": "a + Optuna"})
    text = report.race_table(rows, {"v1": {"seconds": 321.4}})
    assert "| a | 12 | 20000 | -2650.0 | - |" in text
    assert "| a + Optuna | 12 | 20000 | -2650.0 | 321 |" in text
    assert "| b | 100 (not passed) |" in text
