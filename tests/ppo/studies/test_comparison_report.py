"""The table of a comparison shows what the rows hold, and says what was left out."""

import pytest

from ppo.evaluation.shares import Scale
from ppo.studies.comparison import Result
from ppo.studies.comparison_report import draw, report

RESULTS = [
    Result("law", 300, (0.01, 0.02, 0.09), 300, 0.0, 0.25, 0.005),
    Result("gp", 300, (1e-6, 2e-6, 3e-6), 300, 0.0, 12.0, 10.0),
    Result("law+polish", 300, (1e-7, 2e-7, 2e-7), 300, 19.6, 0.25, 2.0),
    Result("law", 5000, (0.001, 0.002, 0.003), 4980, 0.0, 2.0, 0.005),
]


def test_the_table_of_known_results():
    text = report("--env rosenbrock", RESULTS, Scale(0.5, 2.0, 9.0), ("law", "gp", "law+polish"), 3)
    lines = text.splitlines()
    assert lines[0] == "# --env rosenbrock"
    assert lines[2].startswith("With 300 evaluations, use a Gaussian process: ")
    assert "least 0.5, best constant knobs 2, random knobs 9. Seeds 501 to 503;" in text
    assert "| `law` | 300 | 300 | 0 | 0.02 (0.09) | 0.04 [0.01, 0.09] | 0.25 | 0.005 |" in lines
    assert "| `law+polish` | 300 | 300 | 19.6 | 2e-07 (2e-07) | 1.7e-07 [1e-07, 2e-07] | 0.25 | 2 |" in lines
    assert "| `law` | 5,000 | 4,980 | 0 | 0.002 (0.003) | 0.002 [0.001, 0.003] | 2 | 0.005 |" in lines
    assert "`gp` was not run with 5,000 evaluations: it takes at most 2,000." in lines
    assert "- `law`: this program with its defaults" in lines


def test_a_single_seed_has_no_interval():
    text = report("x", [Result("law", 300, (0.5,), 300, 0.0, 1.0, 1.0)], Scale(0, 1, 2), ("law",), 1)
    assert "| `law` | 300 | 300 | 0 | 0.5 (0.5) |  | 1 | 1 |" in text
    assert "Seeds 501;" in text


def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra plot")
    draw(tmp_path / "compare.png", "--env x", [*RESULTS, Result("surrogate", 300, (0.0, float("inf")), 300, 0, 1, 1)])
    assert (tmp_path / "compare.png").stat().st_size > 5000
