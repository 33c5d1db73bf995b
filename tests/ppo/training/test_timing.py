import pytest

from ppo.training.timing import Timing


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves by hand."""
    now = [100.0]
    monkeypatch.setattr("ppo.training.timing.time.perf_counter", lambda: now[0])
    return now


def test_phases_medians_and_loop(clock):
    timing = Timing({"collect": 10.0, "loop": 20.0})
    for seconds in (1.0, 5.0, 2.0):
        with timing.measure("collect"):
            clock[0] += seconds
        timing.add("broadcast", 0.25)
        clock[0] += 0.25
        timing.end_step()
    timing.stop()
    clock[0] += 99.0
    assert timing.loop == 20.0 + 8.75
    summary = timing.summary()
    assert summary["collect"] == {"total": 18.0, "median_per_step": 2.0}
    assert summary["broadcast"] == {"total": 0.75, "median_per_step": 0.25}
    assert summary["loop"] == 28.75
    assert timing.split() == "63/0/3"
    timing.forget()
    assert timing.medians()["collect"] == 0.0
