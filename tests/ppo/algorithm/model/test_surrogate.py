"""The model is an objective like any other, and is doubted when it predicts badly."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from actors import NetworkSpec, Policy, Snapshot
from ppo.algorithm.model import constraints, selection
from ppo.algorithm.model import surrogate as module
from ppo.algorithm.model.amortise import Targets, regressed
from ppo.algorithm.model.selection import Count
from ppo.algorithm.model.surrogate import Fit, Surrogate
from tests.ppo.algorithm.model.processes import policy_of
from tests.problems import Quadratic

POLICY = policy_of([[0.0, 0.3], [-0.5, 0.0]])


def evaluations(n, seed=0):
    states = np.random.default_rng(seed).uniform(-1, 1, (n, 3))
    return states, Quadratic()(states[:, :2], states[:, 2:])


def surrogate(n=40, capacity=200, last=False):
    """Returns a model of the quadratic, fitted to n evaluations."""
    made = Surrogate(POLICY.spec, capacity)
    made.evidence.add(*evaluations(n))
    made.fit(POLICY, 0.0, last)
    return made


@pytest.fixture
def fits(monkeypatch):
    """Returns how many points each fit so far was given, from where it started, and how many steps it took."""
    calls, original = [], module.fit

    def counted(states, values, starts, steps, device):
        calls.append((len(values), [(start.kernel, start.side, *start.logs) for start in starts], steps))
        return original(states, values, starts, steps, device)

    monkeypatch.setattr(module, "fit", counted)
    return calls


def counts(fits):
    """Returns the number of points and of starts of each fit."""
    return [(points, len(starts)) for points, starts, _ in fits]


def test_it_orders_knobs_as_f_does():
    made, (states, values) = surrogate(), evaluations(50, seed=1)
    assert not Surrogate(POLICY.spec, 10).fitted
    predicted = made(states[:, :2], states[:, 2:])
    assert predicted.shape == (50,)
    assert np.corrcoef(np.argsort(np.argsort(predicted)), np.argsort(np.argsort(values)))[0, 1] > 0.99
    assert made.dims == 3


def test_it_takes_what_was_found_nearest_to_proposals(monkeypatch):
    """So that they do not look good only because that was left out."""
    monkeypatch.setattr(selection, "POINTS", Count(20, 0))
    made, proposals = surrogate(n=100), evaluations(5, seed=1)[0]
    before, hyperparameters = made._whole.taken, made._whole.hyperparameters
    errors = np.abs(made.whole.mean(made.evidence.states) - made.whole.warped(made.evidence.values))
    made.take_nearest(proposals)
    added = np.setdiff1d(made._whole.taken, before)
    assert 0 < len(added) <= 5 and np.isin(before, made._whole.taken).all()
    assert made._whole.hyperparameters is hyperparameters
    after = np.abs(made.whole.mean(made.evidence.states) - made.whole.warped(made.evidence.values))
    assert (after[added] < 0.1 * errors[added]).all()


def test_a_process_that_takes_or_is_informed_of_all_evaluations_stays_as_it_is(monkeypatch):
    all_taken = surrogate(n=40)
    process = all_taken.whole
    all_taken.take_nearest(evaluations(5, seed=1)[0])
    assert all_taken.whole is process
    monkeypatch.setattr(selection, "POINTS", Count(20, 0))
    noisy = Surrogate(POLICY.spec, 200)
    states, values = evaluations(100)
    noisy.evidence.add(states, values + np.random.default_rng(2).normal(0, 0.3, 100))
    noisy.fit(POLICY, 0.0)
    process = noisy.whole
    assert process.noisy
    noisy.take_nearest(evaluations(5, seed=1)[0])
    assert noisy.whole is process


def test_a_score_is_the_gain_over_knowing_the_mean_and_the_variance_alone():
    made, (states, values) = surrogate(), evaluations(20, seed=1)
    process = made.process
    mean, std = process.mean_and_std(states)
    std = np.sqrt(std**2 + process.variance * process.hyperparameters.noise)
    warped, known = process.warped(values), process.targets
    gains = norm.logpdf(warped, mean, std) - norm.logpdf(warped, known.mean(), known.std())
    expected = np.clip(gains, -5, 5).mean()
    assert made.score(states, values) == {"charts/model_gain": pytest.approx(expected)}
    assert made.gain == pytest.approx((expected + module.FIRST_GAIN) / 2)
    made.score(states, values)
    assert made.gain == pytest.approx(0.75 * expected + module.FIRST_GAIN / 4)


def test_a_model_that_predicts_well_is_believed_and_one_that_does_not_is_doubted():
    made, (states, values) = surrogate(), evaluations(16, seed=1)
    assert (made.gain, made.doubted) == (module.FIRST_GAIN, False)
    assert made.score(states, values)["charts/model_gain"] > 1
    assert not made.doubted
    wrong = values[::-1]
    gains = []
    for _ in range(3):
        assert made.score(states, wrong)["charts/model_gain"] < -1
        gains.append(made.gain)
    assert made.doubted
    assert gains == sorted(gains, reverse=True)
    for _ in range(4):
        made.score(states, values)
    assert not made.doubted


def test_a_single_wild_value_does_not_make_a_good_model_doubted():
    made, (states, values) = surrogate(), evaluations(16, seed=1)
    values[3] = 1e9
    assert made.score(states, values)["charts/model_gain"] > 0


def test_hyperparameters_are_fitted_anew_when_the_evidence_has_grown(fits):
    made = surrogate(40)
    for number, total in ((5, 45), (6, 51), (1, 52), (10, 62)):
        made.evidence.add(*evaluations(number, seed=total))
        made.fit(POLICY, 0.0)
        assert len(made.process.states) == total  # the process has them at once
    assert counts(fits) == [(40, 4), (40, 1), (40, 1), (52, 5), (52, 1), (52, 1)]


@pytest.mark.parametrize(("fitted", "few"), [(40, True), (41, False)])
def test_a_fit_that_takes_no_more_points_than_the_one_before_takes_few_steps(fitted, few, fits, monkeypatch):
    """Nearly a polynomial and pairs start from scratch each time."""
    monkeypatch.setattr(module, "FITTED", Count(fitted, 0))
    made = surrogate(40)
    made.evidence.add(*evaluations(20, seed=1))
    made.fit(POLICY, 0.0)
    assert [count for count, *_ in fits] == [40, 40, 40, fitted, fitted, fitted]
    steps = module.FURTHER_STEPS if few else module.STEPS
    assert [found for *_, found in fits] == [*[module.STEPS] * 3, steps, *[module.STEPS] * 2]


def test_the_last_fit_is_to_all_points(fits, monkeypatch):
    monkeypatch.setattr(module, "FITTED", Count(25, 0))
    surrogate(40, last=True)
    assert counts(fits) == [(25, 4), (25, 1), (25, 1), (40, 1)]
    assert [steps for *_, steps in fits] == [*[module.STEPS] * 3, module.FURTHER_STEPS]


def test_the_last_fit_can_be_undone():
    assert surrogate(40).earlier is None
    assert surrogate(40, last=True).earlier is None  # since there was none before it
    made = surrogate(20)
    before = made.whole.hyperparameters
    made.evidence.add(*evaluations(20, seed=1))
    made.fit(POLICY, 0.0, last=True)
    last = made.whole.hyperparameters
    assert made.earlier.hyperparameters is before is not last
    assert len(made.earlier.targets) == 40
    made.undo_last_fit(POLICY, 0.0)
    assert made.whole.hyperparameters is before
    assert len(made.whole.targets) == 40


@pytest.mark.parametrize("little", [True, False])
def test_a_fit_goes_on_from_the_last_one_and_with_little_evidence_from_scratch_too(little, fits, monkeypatch):
    """With much evidence it starts from the other kernel besides."""
    monkeypatch.setattr(module, "BOTH_SIDES", Count(100 if little else 99, 0))
    made = surrogate(40)
    before = made.process.hyperparameters
    made.evidence.add(*evaluations(60, seed=1))
    made.fit(POLICY, 0.0)
    scratch, *simple, again, polynomial_again, pairs_again = (starts for _, starts, _ in fits)
    last, other = ((one.kernel, one.side, *one.logs) for one in (before, before.other_kernel))
    assert again == [last, *(scratch if little else [other])]
    assert simple == [polynomial_again, pairs_again]
    assert [start[0][0] for start in simple] == ["rbf", "pairs"]
    assert simple[0] != scratch[1:2]


@pytest.mark.parametrize("f", ["quartic", "waves"])
def test_a_polynomial_is_recognised_and_nothing_else_is(f):
    states = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    x, y, z = states.T
    made = Surrogate(POLICY.spec, 60)
    made.evidence.add(
        states, 10 * (x - y * y) ** 2 + (y - z) ** 2 if f == "quartic" else np.sin(9 * x) + np.cos(7 * y) * z
    )
    made.fit(POLICY, 0.0)
    hyper = made.whole.hyperparameters
    assert (hyper.warp > 5 and hyper.noise < 1e-8) == (f == "quartic")


@pytest.mark.parametrize("f", ["pairs", "triples"])
def test_a_sum_over_pairs_is_recognised_from_few_evaluations_and_then_fitted_to_more(f, fits, monkeypatch):
    monkeypatch.setattr(module, "TRIED", Count(120, 0))
    states = np.random.default_rng(0).uniform(-1, 1, (150, 3))
    x, y, z = states.T
    made = Surrogate(POLICY.spec, 150)
    made.evidence.add(states, np.sin(6 * x) * y + np.cos(7 * y) * z if f == "pairs" else np.sin(9 * x * y * z) + x)
    made.fit(POLICY, 0.0)
    assert (made.whole.hyperparameters.kernel == "pairs") == (f == "pairs")
    assert counts(fits) == [(150, 4), (120, 1), (120, 1), *([(150, 1)] if f == "pairs" else [])]


def test_two_coordinates_are_one_pair_and_it_is_not_tried(fits):
    made = Surrogate(NetworkSpec(2, (), "tanh", "gaussian", 1), 40)
    states = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    made.evidence.add(states, np.sin(3 * states[:, 0]) * states[:, 1])
    made.fit(policy_of([[0.0]]), 0.0)
    assert [starts[0][0] for _, starts, _ in fits] == ["matern", "rbf"]


@pytest.mark.parametrize("most", [1000, 20], ids=["all points", "some points"])
def test_a_state_round_trip_gives_the_same_bits(most, monkeypatch):
    monkeypatch.setattr(selection, "POINTS", Count(most, 0))
    made, other = surrogate(60), Surrogate(POLICY.spec, 200)
    made.score(*evaluations(9, seed=1))
    other.restore(made.state())
    states, _ = evaluations(30, seed=2)
    assert made(states[:, :2], states[:, 2:]).tobytes() == other(states[:, :2], states[:, 2:]).tobytes()
    assert (other.gain, other.doubted) == (made.gain, made.doubted)
    for one in (made, other):
        one.evidence.add(*evaluations(40, seed=3))
        one.fit(POLICY, 0.0)
    assert made(states[:, :2], states[:, 2:]).tobytes() == other(states[:, :2], states[:, 2:]).tobytes()
    assert all(np.array_equal(array, other.state()[name]) for name, array in made.state().items())


def test_the_state_of_a_model_that_is_not_fitted_takes_a_model_back_to_that():
    empty, made = Surrogate(POLICY.spec, 200), surrogate()
    made.restore(empty.state())
    assert not made.fitted and len(made.evidence) == 0


WINDING = NetworkSpec(2, (16,), "tanh", "gaussian", 1, components=2)


def law_of(c):
    return 0.6 * np.sin(3 * c)


def in_a_winding_valley(n, seed=1):
    """Returns evaluations of a narrow valley that winds with the condition, half of them about its floor."""
    rng = np.random.default_rng(seed)
    states = rng.uniform(-1, 1, (n, 2))
    states[::2, 0] = law_of(states[::2, 1]) + 0.1 * rng.normal(size=len(states[::2]))
    squares = (states[:, 0] - law_of(states[:, 1])) ** 2
    return np.clip(states, -1, 1), 1 - np.exp(-40 * squares) + 0.1 * squares


@pytest.fixture(scope="module")
def winding():
    """Returns parameters under which the first component follows the valley, and the second stands at 0."""
    c = np.linspace(-1, 1, 60)[:, None]
    theta = np.random.default_rng(0).normal(size=WINDING.size)
    WINDING.place(theta, 1, np.zeros(1), 0.1)
    return regressed(WINDING, theta, Targets(c, np.zeros(60, int), law_of(c)), 60)


@pytest.fixture
def local(monkeypatch, winding):
    """Returns a function that fits a model to evaluations of the valley, with some components in use."""
    monkeypatch.setattr(module, "LOCAL_POINTS", 40)
    monkeypatch.setattr(module, "A_COORDINATE", 10)
    monkeypatch.setattr(module, "LEAST_A_COORDINATE", 10)

    def made(n, *live):
        surrogate = Surrogate(WINDING, 500)
        surrogate.evidence.add(*in_a_winding_valley(n))
        policy = Policy(Snapshot(0, WINDING, winding, 0.1, live=np.isin([0, 1], live)))
        surrogate.fit(policy, 0.0)
        return surrogate, policy

    return made


def test_a_law_of_one_component_along_a_winding_valley_has_a_process_of_its_own(local):
    made, policy = local(60, 0)
    assert made.process.frame is not None and made.process is not made.whole
    assert made.whole.frame is None and len(made.whole.states) == 60
    assert len(made.process.states) >= 40
    states, values = in_a_winding_valley(200, seed=2)
    near = np.abs(states[:, 0] - law_of(states[:, 1])) < 0.1
    errors = [np.abs(one.unwarped(one.mean(states)) - values)[near].mean() for one in (made.process, made.whole)]
    assert errors[0] < 0.5 * errors[1]
    offsets = np.abs(policy.proposals(centred(made.process.states))[:, 0] - made.process.states[:, :1])
    assert offsets.max() <= made.process.frame.radius


def centred(states):
    return np.concatenate([np.zeros((len(states), 1)), states[:, 1:]], axis=1)


def test_a_law_that_is_not_along_the_valley_has_none(local):
    made, _ = local(60, 1)
    assert made.process is made.whole


def test_laws_of_several_components_and_of_few_evaluations_have_none(local):
    assert local(60, 0, 1)[0].process.frame is None
    assert local(39, 0)[0].process.frame is None


def test_the_process_about_the_law_goes_on_from_the_one_before_and_starts_from_scratch_too(local, fits, monkeypatch):
    """What is taken for noise while the law is off under some conditions would stay noise otherwise."""
    monkeypatch.setattr(module, "TRIED", Count(30, 0))
    made, policy = local(60, 0)
    points = len(made.process.states)
    assert counts(fits)[:1] + counts(fits)[-1:] == [(60, 4), (30, 4)]
    scratch, before, whole = fits[-1][1], made.process.hyperparameters, made.whole
    fits.clear()
    made.fit_local(policy, 0.0)
    few, every = fits
    assert few == (30, [(before.kernel, before.side, *before.logs), *scratch], module.STEPS)
    assert (every[0], len(every[1]), every[2]) == (points, 1, module.FURTHER_STEPS)
    assert made.whole is whole and made.process.hyperparameters.logs.tolist() != before.logs.tolist()


def test_the_first_process_about_the_law_takes_all_its_evaluations_but_is_fitted_to_some(local, fits, monkeypatch):
    monkeypatch.setattr(module, "TRIED", Count(30, 0))
    made, policy = local(60, 0)
    assert made.process.frame is not None
    taken = len(made.process.states)
    assert taken >= 40 and counts(fits)[-1] == (30, 4)
    made.fit_local(policy, 0.0)
    assert counts(fits)[-1] == (taken, 1)


@pytest.mark.parametrize("common", [0, 5, 40])
def test_a_process_about_the_law_is_compared_where_the_other_takes_other_evaluations_too(common, local):
    made, _ = local(60, 0)
    ours = made._local
    others = np.setdiff1d(np.arange(60), ours.taken)
    whole = np.sort(np.append(others, ours.taken[:common]))
    made._whole = Fit(whole, made._whole.hyperparameters)
    made._processes = {}
    expected = []
    for number in ours.taken:
        left = [Fit(np.setdiff1d(fit.taken, [number]), fit.hyperparameters, fit.frame) for fit in (ours, made._whole)]
        state, value = made.evidence.states[[number]], made.evidence.values[[number]]
        expected.append(np.subtract(*[fit.process(made.evidence).density(state, value)[0] for fit in left]))
    assert made._gain_of(ours) == pytest.approx(np.mean(expected), rel=0.1)


def test_its_window_is_not_narrower_than_what_the_policy_samples(local):
    made, policy = local(60, 0)
    nearest = made.process.frame.radius
    made.fit_local(policy, 1.0)
    assert made.process.frame.radius == pytest.approx(module.REACH * 2) and nearest < module.REACH * 2
    made.fit_local(policy, 1e-3)
    assert made.process.frame.radius == nearest


def test_a_process_that_predicts_rounds_worse_is_left_for_a_while(local):
    made, policy = local(60, 0)
    states, values = in_a_winding_valley(20, seed=3)
    made.score(states, made.whole.unwarped(made.whole.mean(states)))  # as the process of the whole range expects
    made.fit_local(policy, 0.0)
    assert made.process is made.whole
    made.evidence.add(states[:17], values[:17])  # 77 evaluations, of which a third anew would be 78
    made.fit_local(policy, 0.0)
    assert made.process is made.whole
    made.evidence.add(states[17:], values[17:])
    made.fit(policy, 0.0)
    assert made.process.frame is not None


def test_a_process_that_predicts_rounds_better_stays(local):
    made, policy = local(60, 0)
    gain = made.score(*in_a_winding_valley(20, seed=3))["charts/model_gain"]
    made.fit_local(policy, 0.0)
    assert made.process.frame is not None and gain > 0


def test_a_process_is_not_blamed_for_what_lies_beyond_its_window(local):
    """Outside the round has what the process of the whole range expects, and inside what f is."""
    made, policy = local(60, 0)
    states, values = in_a_winding_valley(200, seed=3)
    inside = made.process.frame.inside(states)
    assert 10 < inside.sum() < 150
    alone, _ = local(60, 0)
    alone.score(states[inside], values[inside])
    values = np.where(inside, values, made.whole.unwarped(made.whole.mean(states)))
    made.score(states, values)
    made.fit_local(policy, 0.0)
    assert made.process.frame is not None
    assert made._lead == alone._lead > 0
    made.score(states[~inside], values[~inside])
    assert made._lead == alone._lead


def test_a_process_that_is_worse_from_the_start_is_not_fitted_again_soon(local, fits, monkeypatch):
    made, policy = local(60, 0)
    made.leave_law()
    before = len(fits)
    with monkeypatch.context() as patch:
        patch.setattr(Surrogate, "_gain_of", lambda *_: -0.1)
        for _ in range(3):
            made.fit_local(policy, 0.0)
            assert made.process is made.whole
    assert len(fits) == before + 1
    made.evidence.add(*in_a_winding_valley(20, seed=3))  # a third anew
    made.fit_local(policy, 0.0)
    assert made.process.frame is not None


def test_a_law_that_has_several_components_now_is_left(local):
    made, policy = local(60, 0)
    made.leave_law()
    assert made.process is made.whole
    made.fit_local(policy, 0.0)
    assert made.process.frame is not None


def test_a_state_holds_the_process_about_the_law(local):
    made, policy = local(60, 0)
    other = Surrogate(WINDING, 500)
    other.restore(made.state())
    asked = np.random.default_rng(3).uniform(-1, 1, (30, 2))
    assert other.process.frame is not None
    assert other.process.mean(asked).tobytes() == made.process.mean(asked).tobytes()
    assert other.process.hyperparameters.kernel == made.process.hyperparameters.kernel
    for one in (made, other):
        one.evidence.add(*in_a_winding_valley(30, seed=4))
        one.fit(policy, 0.0)
    assert other.process.mean(asked).tobytes() == made.process.mean(asked).tobytes()


def test_a_fit_says_whether_it_chose_the_hyperparameters_anew():
    made = surrogate(40)
    assert made.refitted
    for total, refitted in ((45, False), (52, True), (60, False)):
        made.evidence.add(*evaluations(total - len(made.evidence), seed=total))
        made.fit(POLICY, 0.0)
        assert made.refitted == refitted


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("equal", [True, False])
def test_few_evaluations_and_equal_ones_are_fitted(n, equal):
    states, values = evaluations(n + 4)
    values = np.full(n + 4, 2.0) if equal else values
    made = Surrogate(POLICY.spec, 20)
    made.evidence.add(states[:n], values[:n])
    for last in (False, True):
        made.fit(POLICY, 0.0, last)
        predicted = made.process.unwarped(made(states[:, :2], states[:, 2:]))
        assert np.isfinite(predicted).all()
        assert not equal or predicted.tolist() == values.tolist()
    if n > 1:
        assert np.isfinite(made.score(states[n:], values[n:])["charts/model_gain"])


def test_all_fits_are_computed_where_the_configuration_says(monkeypatch):
    """Nothing is computed on that device here: the fits are asked for, and give their first start."""
    devices = []

    def asked(states, values, starts, steps, device):
        devices.append(device)
        return starts[0]

    for owner in (module, constraints):
        monkeypatch.setattr(owner, "fit", asked)
    for name, expected in (("cpu", None), ("cuda", torch.device("cuda"))):
        devices.clear()
        made = Surrogate(POLICY.spec, 60, 1, name)
        states = np.random.default_rng(0).uniform(-1, 1, (40, 3))
        made.evidence.add(states, states[:, 0] ** 2, states[:, 2:])
        made.fit(POLICY, 0.0)
        assert len(devices) >= 2 and set(devices) == {expected}
