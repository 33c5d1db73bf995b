"""The problems of the gallery have their published values, and their best knobs are the best of very many."""

import numpy as np
import pytest

from env.coordinates import snapped
from env.gallery import buck_converter, iq_modulator, segmented_converter, wind_turbine
from env.objectives.evaluation import timed_evaluation

PROBLEMS = {
    "image": iq_modulator.image,
    "buck": buck_converter.loss,
    "segmented": segmented_converter.loss,
    "limited": wind_turbine.limited,
    "lost": wind_turbine.lost,
}


def evaluated(objective, x, c):
    return timed_evaluation(objective, x, c, range(len(x)))


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_knobs_are_better_than_the_best_ones(name):
    objective, rng = PROBLEMS[name].objective(), np.random.default_rng(0)
    c = rng.uniform(-1, 1, (12, objective.conditions))
    best, least = objective.solve(c)
    assert (np.abs(best) <= 1).all()
    assert np.abs(best - snapped(best, objective.coordinates[0].steps)).max() < 1e-12
    for row, knobs, f in zip(c, best, least, strict=True):
        near = np.clip(knobs + rng.normal(0, 0.02, (20_000, objective.knobs)), -1, 1)
        tried = np.concatenate([knobs[None], rng.uniform(-1, 1, near.shape), near])
        found = evaluated(objective, tried, np.broadcast_to(row, (len(tried), len(row))))
        kept = found.f[(found.g <= 1e-9).all(axis=1)]
        assert f <= kept.min() + 1e-9 * abs(f)
        assert (found.g[0] <= 1e-9).all()


def test_the_converter_has_the_known_values():
    found = buck_converter.best(np.array([1.0, 3.0]), np.array([5.0, 12.0]), np.array([25.0, 125.0]))
    assert found["frequency"] == pytest.approx([0.481e6, 0.396e6], rel=2e-3)
    assert found["gate_voltage"] == pytest.approx([3.57, 5.0], abs=2e-3)
    given = {"current": np.array([1.0, 3.0]), "input_voltage": np.array([5.0, 12.0])}
    loss = buck_converter.loss(**found, **given, temperature=np.array([25.0, 125.0]))
    assert loss == pytest.approx([0.087, 0.480], rel=2e-3)


def test_the_turbine_has_the_known_values():
    found = wind_turbine.best(np.array([8.0, 16.0]), np.array([1.225, 1.225]))
    assert found["speed"] == pytest.approx([1.029, 1.27], abs=1e-3)
    assert found["pitch"] == pytest.approx([0.0, 16.5], abs=0.05)
    assert wind_turbine.power(1.029, 0.0, 8.0, 1.225) == pytest.approx(1.88e6, rel=2e-3)
    assert wind_turbine.power(1.27, found["pitch"][1], 16.0, 1.225) == pytest.approx(5e6)


def test_the_image_is_80_db_down_where_the_mismatch_is_taken_away():
    found = iq_modulator.best(25.0, 4.0)
    assert (found["gain_trim"], found["phase_trim"]) == pytest.approx((-0.10, -2.2))
    assert iq_modulator.image(**found, temperature=25.0, frequency=4.0) == pytest.approx(-80)
    assert iq_modulator.image(0.0, 0.0, 25.0, 4.0) > -40


def test_the_best_segments_and_the_best_mode_change_with_the_load():
    found = segmented_converter.best(np.array([0.05, 0.3, 1.0, 3.0]), np.full(4, 5.0))
    assert found["segments"].tolist() == [1, 4, 8, 8]
    assert found["mode"].tolist() == ["skipping", "skipping", "continuous", "continuous"]
