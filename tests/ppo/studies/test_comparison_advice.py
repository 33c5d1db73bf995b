"""The advice follows from the numbers: which method, whether a law pays at all, whether to search at each query."""

import pytest

from ppo.studies.comparison import Result
from ppo.studies.comparison_advice import advice


def result(method, shares, evaluations=300, asked=0.0, seconds=1.0, query=1.0):
    return Result(method, evaluations, tuple(shares), evaluations, asked, seconds, query)


LAW = result("law", (0.02, 0.03, 0.04))


@pytest.mark.parametrize(
    ("results", "text"),
    [
        (
            [LAW, result("gp", (1e-6, 2e-6, 3e-6), seconds=20)],
            "With 300 evaluations, use a Gaussian process: gp leaves 2e-06 of the regret of the best constant knobs; "
            "next is law with 0.03.",
        ),
        (
            [LAW, result("gp", (0.5, 0.6, 0.7))],
            "With 300 evaluations, train a law: law leaves 0.03 of the regret of the best constant knobs; "
            "next is gp with 0.6.",
        ),
        (
            [LAW, result("gp", (0.02, 0.025, 0.04), seconds=20)],
            "With 300 evaluations, train a law: law leaves 0.03 of the regret of the best constant knobs, with least "
            "computing for learning and 1,000 queries among those that are alike, gp (0.025).",
        ),
        (  # what learns quicker may compute more in the end: a query takes a millisecond here
            [result("law", (0.02, 0.03, 0.04), seconds=9.2, query=0.001), result("gp", (0.02, 0.025, 0.04), seconds=9)],
            "With 300 evaluations, train a law: law leaves 0.03 of the regret of the best constant knobs, with least "
            "computing for learning and 1,000 queries among those that are alike, gp (0.025).",
        ),
        (  # one bad seed of a law does not make it like one that is always worse
            [result("law", (6e-8, 6e-8, 0.0085)), result("differential-evolution", (0.007, 0.008, 0.03), seconds=0.1)],
            "With 300 evaluations, train a law: law leaves 6e-08 of the regret of the best constant knobs; next is "
            "differential-evolution with 0.008.",
        ),
        (
            [result("law", (0.5, 0.6, 1.2))],
            "With 300 evaluations, train a law: law leaves 0.6 of the regret of the best constant knobs; check it, "
            "since the worst seed leaves 1.2.",
        ),
        (
            [result("law", (0.9, 0.95, 1.1)), result("gp", (1.0, 1.2, 1.4))],
            "With 300 evaluations, no law pays here: the best leaves 0.95 of the regret of the best constant knobs "
            "(law).",
        ),
        (
            [result("law", (0.95,)), result("law+polish", (0.4,), asked=20)],
            "With 300 evaluations, no law pays here: the best leaves 0.95 of the regret of the best constant knobs "
            "(law). If queries may cost evaluations, solve each query: law+polish leaves 0.4 of the regret of the best "
            "constant knobs for 20 evaluations a query.",
        ),
        (
            [result("law+polish", (0.4,), asked=20)],
            "With 300 evaluations, solve each query: law+polish leaves 0.4 of the regret of the best constant knobs "
            "for 20 evaluations a query.",
        ),
        (
            [result("law+polish", (0.95,), asked=20)],
            "With 300 evaluations, solving each query does not pay here.",
        ),
    ],
)
def test_the_advice_of_one_budget(results, text):
    assert advice(results) == text


def test_a_search_at_each_query_is_named_where_it_leaves_a_third_and_the_law_is_not_exact_anyway():
    assert "solve each query" in advice([LAW, result("law+polish", (0.009,), asked=20)])
    assert "solve each query" not in advice([LAW, result("law+polish", (0.011,), asked=20)])
    assert "solve each query" not in advice([result("gp", (5e-5,)), result("law+polish", (1e-9,), asked=20)])


def test_budgets_with_the_same_advice_share_a_sentence():
    gp = [result("gp", (share,), evaluations) for evaluations, share in ((100, 0.01), (300, 0.001), (1000, 0.5))]
    laws = [result("law", (0.1,), evaluations) for evaluations in (100, 300, 1000)]
    assert advice([*gp, *laws]) == (
        "With 100 to 300 evaluations (figures: 300), use a Gaussian process: gp leaves 0.001 of the regret of the best "
        "constant knobs; next is law with 0.1. With 1,000 evaluations, train a law: law leaves 0.1 of the regret of "
        "the best constant knobs; next is gp with 0.5."
    )


def test_where_constant_knobs_are_optimal_no_law_pays():
    assert advice([LAW], constant_is_best=True) == (
        "No law pays here: the best knobs do not change with the conditions."
    )
