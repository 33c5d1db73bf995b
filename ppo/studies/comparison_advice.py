"""What the results of a comparison advise, in a sentence for each number of evaluations at which it changes."""

import itertools
from collections.abc import Sequence

from ppo.experiments.rivals.registry import METHODS
from ppo.studies.comparison import QUERIES, Result
from ppo.studies.statistics import interval

PAYS = 0.9  # share of the regret of constant knobs that the best law must be below
ALIKE = 1.5  # factor within which two methods are alike, whatever the seeds say
WORTH_ASKING = 1 / 3  # share of the best law's regret that a search at each query must be below to be named
EXACT = 1e-4  # share of the regret of constant knobs below which a law needs no search at each query


def advice(results: Sequence[Result], constant_is_best: bool = False) -> str:
    """Returns the advice.

    A law pays if its median regret is below 0.9 of that of constant knobs. Methods are alike whose median is within a
    factor of 1.5 of the best one's, or where the interval of neither's inter-quartile mean leaves out the other's
    median; the one that computes least, for learning and 1,000 queries, is advised. Searches at each query are advised
    apart, for those whose queries may cost evaluations.

    Args:
        results: results of a problem.
        constant_is_best: whether constant knobs are as good as any law.
    """
    if constant_is_best:
        return "No law pays here: the best knobs do not change with the conditions."
    verdicts = []
    for evaluations in sorted({result.evaluations for result in results}):
        here = [result for result in results if result.evaluations == evaluations]
        verdicts.append((evaluations, *_verdict(here)))
    sentences = []
    for _, group in itertools.groupby(verdicts, key=lambda verdict: verdict[1]):
        same = list(group)
        (first, *_), (last, _, sentence) = same[0], same[-1]
        span = f"{last:,} evaluations" if first == last else f"{first:,} to {last:,} evaluations (figures: {last:,})"
        sentences.append(f"With {span}, {sentence}")
    return " ".join(sentences)


def _verdict(results: Sequence[Result]) -> tuple[str, str]:
    """Returns the advice for one number of evaluations: a word by which it is told from others, and a sentence."""
    free = [result for result in results if not result.asked]
    asking = min((result for result in results if result.asked), key=lambda result: result.median, default=None)
    kind, sentence, least = "", "", 1.0
    if free:
        best = min(free, key=lambda result: result.median)
        kind, sentence, least = "none", f"no law pays here: the best leaves {_left(best)} ({best.method}).", best.median
        if least < PAYS:
            alike = [result for result in free if _alike(result, best)]
            chosen = min(alike, key=lambda result: result.computing)
            kind, sentence = chosen.method, f"{METHODS[chosen.method].advice}: {_reason(chosen, free, alike)}."
    bar = PAYS if kind in ("", "none") else WORTH_ASKING * least
    if asking is None or asking.median >= bar or least < EXACT:
        return kind, sentence or "solving each query does not pay here."
    ask = f"solve each query: {asking.method} leaves {_left(asking)} for {asking.asked:.0f} evaluations a query."
    return f"{kind} or ask", f"{sentence} If queries may cost evaluations, {ask}" if sentence else ask


def _alike(result: Result, best: Result) -> bool:
    overlap = result.median <= interval(best.shares)[2] and best.median >= interval(result.shares)[1]
    return result.median <= ALIKE * best.median or overlap


def _reason(chosen: Result, free: Sequence[Result], alike: Sequence[Result]) -> str:
    """Returns what is left with the chosen method, and what other methods leave."""
    text = f"{chosen.method} leaves {_left(chosen)}"
    others = [result for result in alike if result is not chosen]
    if others:
        names = ", ".join(f"{result.method} ({result.median:.2g})" for result in others)
        text += f", with least computing for learning and {QUERIES:,} queries among those that are alike, {names}"
    elif rest := [result for result in free if result is not chosen]:
        second = min(rest, key=lambda result: result.median)
        text += f"; next is {second.method} with {second.median:.2g}"
    worst = max(chosen.shares)
    return text + (f"; check it, since the worst seed leaves {worst:.2g}" if worst >= PAYS else "")


def _left(result: Result) -> str:
    return f"{result.median:.2g} of the regret of the best constant knobs"
