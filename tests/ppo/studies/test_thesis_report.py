"""The tables of the thesis's study, from rows whose statistics are known."""

from ppo.studies.thesis_report import aims_table, algorithms_table, mix_table, modes_table, samplers_table, write_report
from ppo.studies.training_runs import COLUMNS


def row(**changes):
    plain = {
        "env": "ackley", "variant": "random", "metric": "mse", "first mean": "1", "first variance": "0.5",
        "last mean": "1e-4", "last variance": "1e-9", "best": "1e-8", "evaluations to target": "50000",
        "median regret": "0.1", "share of constant": "0.001", "policy sha256": "ab" * 32, "seconds": "1",
        "curve": "1 0.1 0.01",
    }  # fmt: skip
    return dict.fromkeys(COLUMNS, "") | plain | {name.replace("_", " "): value for name, value in changes.items()}


def test_aims_are_met_by_median_and_worst_seed_alike():
    good = [row(seed=str(i)) for i in range(3)]
    table = aims_table({"samplers": good})
    assert "| ackley: last mean | random | 0.0001 | 1e-03 | 0.0001 | 1e-02 | yes |" in table
    assert "| no |" in aims_table({"samplers": [*good, row(last_mean="0.5")]})  # one bad seed
    assert "rosenbrock" not in table  # nothing was run of it


def test_the_samplers_table_has_the_thesis_and_says_never():
    table = samplers_table([row(), row(evaluations_to_target="inf")])
    assert "| 0.6 |" in table
    assert "| inf | never |" not in table
    assert "never |" in table


def test_paired_ratios():
    rows = [row(seed="1"), row(seed="2"), row(variant="lhs", last_mean="2e-4"), row(variant="lhs", last_mean="2e-4")]
    assert "| ackley | lhs | 1 [1, 1] | 2 [2, 2] |" in mix_table(rows)


def test_the_same_digests_and_curves_are_the_same_run():
    assert "bit for bit" in modes_table([row(), row()])
    assert "They differ" in modes_table([row(), row(policy_sha256="cd" * 32)])
    assert "They differ" in modes_table([row(), row(curve="1 0.1 0.02")])


def test_algorithms_side_by_side():
    table = algorithms_table([row()], [row(variant="reinforce", last_mean="3")])
    assert "| ackley | PPO | 0.0001 |" in table
    assert "| ackley | REINFORCE with a value baseline | 3 |" in table


def test_the_report_is_written_with_its_figures(tmp_path):
    rows = {"samplers": [row(), row(variant="lhs")], "modes": [row()]}
    write_report(tmp_path, rows)
    assert "Start samplers" in (tmp_path / "thesis.md").read_text()
    assert (tmp_path / "samplers.png").stat().st_size > 5000
