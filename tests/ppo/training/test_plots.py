"""Pictures of a run: f of its rounds over the evaluations paid, and a law with what was tried around it."""

import dataclasses
import types

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra plot")

from matplotlib.figure import Figure

from actors import Law, NetworkSpec, Snapshot
from actors.job import Kind
from actors.law_file import About
from env import Integer, Log, objective
from ppo import Config
from ppo.data.rows import REUSED
from ppo.evaluation.evaluator import Evaluator
from ppo.train import train
from ppo.training.evaluated import MOST_TRIED, evaluated, training_rows, tried
from ppo.training.plots import RoundValues, draw_curves, draw_law, draw_rounds
from ppo.training.run_dir import RunDir
from ppo.training.timing import Timing
from tests.ppo.configs import SMALL

ROW = np.dtype([("kind", "u1"), ("step", "<i8"), ("x", "<f8", (1,)), ("c", "<f8", (1,)), ("f", "<f8")])


def rows(*rounds):
    """Returns rows of rounds ``(kind, step, values of f)``."""
    made = [(kind, step, (0.0,), (0.0,), f) for kind, step, values in rounds for f in values]
    return np.array(made, ROW)


ROUNDS = rows(
    (Kind.PLAN, 1, [4.0, 2.0, np.nan, 3.0]),
    (Kind.PLAN, 2, [np.nan, np.nan]),
    (REUSED, -1, [9.0]),
    (Kind.DESIGN, 0, [8.0, 6.0, 5.0]),
)


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved, which are not written."""
    saved = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *args, **kwargs: saved.append(self))
    return saved


def test_rounds_come_in_their_order_with_what_was_paid_up_to_their_end():
    found = RoundValues.of(ROUNDS)
    assert found.kinds.tolist() == [REUSED, Kind.DESIGN, Kind.PLAN, Kind.PLAN]
    assert found.paid.tolist() == [0, 3, 7, 9]
    np.testing.assert_array_equal(found.best, [9, 5, 2, np.nan])
    np.testing.assert_array_equal(found.median, [9, 6, 3, np.nan])


def test_rounds_are_drawn_with_the_design_and_what_the_model_expects(figures, tmp_path):
    draw_rounds(tmp_path / "curves.png", RoundValues.of(ROUNDS), Timing(), {"law": 1.5, "constant": None})
    axes = figures[0].axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["best f of a round"].get_xdata().tolist() == [0, 3, 7, 9]
    assert lines["median f of a round"].get_ydata()[:3].tolist() == [9, 6, 3]
    assert list(lines["mean f of the law, as the model expects"].get_ydata()) == [1.5, 1.5]
    assert not any("constant" in name for name in lines)
    (design,) = axes.patches
    assert (design.get_x(), design.get_width()) == (0, 3)
    assert axes.get_ylabel() == "f"
    assert axes.get_xlabel() == "evaluations of f paid, at the end of each of 4 rounds"


@pytest.mark.parametrize("values", [[np.nan, np.nan], [-1e308, 1e308], [1e-300, 1e300], [0.0, 0.0]])
def test_any_f_is_drawn(values, tmp_path):
    draw_rounds(tmp_path / "curves.png", RoundValues.of(rows((Kind.COLLECT, 0, values))), Timing(), None)
    assert (tmp_path / "curves.png").is_file()


@pytest.mark.parametrize(
    ("paid", "along", "label"), [(30, [30, 60], "evaluations of f paid"), (0, [1, 2], "training step")]
)
def test_scores_are_drawn_over_what_was_paid(paid, along, label, figures, tmp_path):
    made = [
        {"training_step": step, "objective_evaluations": paid * step, "eval/error": 1.0 / step, "charts/objective": 2.0}
        for step in (1, 2)
    ]
    draw_curves(tmp_path / "curves.png", made, Timing(), Evaluator("mse", np.zeros(1)))
    assert figures[0].axes[0].lines[0].get_xdata().tolist() == along
    assert figures[0].axes[0].get_xlabel().startswith(label)
    assert figures[0].axes[0].get_ylabel() == "mean squared error of f to its minimum"


def test_the_file_of_a_law_holds_what_training_evaluated(tmp_path):
    config = dataclasses.replace(SMALL, env="tests.problems:UnknownOptimum", training_steps=3, episodes=4)
    train(config, tmp_path / "run", quiet=True)
    law, trained = Law.load(tmp_path / "run" / "law.npz"), training_rows(RunDir(tmp_path / "run"))
    assert len(trained) == 3 * 4 * 2
    assert law.tried.x.tolist() == trained["x"].tolist()
    assert law.tried.c.tolist() == trained["c"].tolist()
    assert law.tried.f.tolist() == trained["f"].tolist()
    assert (tmp_path / "run" / "law.png").is_file()


def test_of_many_evaluations_a_sample_is_kept_which_is_always_the_same():
    many = rows((Kind.COLLECT, 0, range(3 * MOST_TRIED)))
    many["f"][7] = np.inf
    found = tried(many)
    assert len(found.f) == MOST_TRIED
    assert (np.diff(found.f[np.isfinite(found.f)]) > 0).all()
    assert not np.isinf(found.f).any()
    assert tried(many).f.tobytes() == found.f.tobytes()
    assert tried(None) is tried(many[:0]) is None


def test_an_archive_that_cannot_be_read_gives_no_points_and_ends_no_run(tmp_path):
    job = types.SimpleNamespace(problem=types.SimpleNamespace(family="tuning"), keep_failures=False)
    assert evaluated(RunDir(tmp_path), job) is None
    (tmp_path / "archive.bin").write_bytes(b"no archive")
    assert evaluated(RunDir(tmp_path), job) is None


@pytest.mark.usefixtures("little_effort")
def test_a_budget_of_an_own_f_is_drawn_over_its_rounds(tmp_path, capsys, monkeypatch):
    seen = []
    monkeypatch.setattr("ppo.training.plots.draw_rounds", lambda path, *rest: seen.append(rest))
    config = Config(env="tests.problems:UnknownOptimum", evaluations=40, hidden_sizes=(8,), drivers=0)
    summary = train(config, tmp_path / "run")
    assert "curves.png, law.png" in capsys.readouterr().out
    ((found, _, model),) = seen
    assert found.paid[-1] == 40
    assert found.kinds[0] == Kind.DESIGN
    assert model["law"] == summary["model"]["law"]


@objective(knobs={"register": Integer(0, 4)}, conditions={"gain": Log(1.0, 100.0)})
def known(register, gain):
    return (register - 2 * np.log10(gain)) ** 2


def test_a_law_over_its_objective_is_drawn_in_units(figures, tmp_path):
    """The law is 0 wherever it is asked: register 2; the best one rises from 0 to 4 over two decades of the gain."""
    made = known.objective()
    spec, c = NetworkSpec(2, (), "tanh", "gaussian", 1, steps=(0.5,)), np.linspace(-1, 1, 5)[:, None]
    law = Law(
        Snapshot(0, spec, np.zeros(spec.size)),
        About(knobs=made.knob_coordinates, conditions=made.condition_coordinates),
    )
    draw_law(tmp_path / "law.png", made, law, c, c)
    axes = figures[0].axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["tuning law"].get_ydata().tolist() == [2, 2, 2, 2, 2]
    assert lines["true minimiser"].get_ydata().tolist() == [0, 1, 2, 3, 4]
    assert lines["true minimiser"].get_xdata() == pytest.approx([1, 10**0.5, 10, 10**1.5, 100])
    assert (axes.get_xscale(), axes.get_xlabel(), axes.get_ylabel()) == ("log", "gain", "register")
