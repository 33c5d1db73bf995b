"""Methods are named, and what they need is asked for in one line before anything runs."""

import importlib.util

import pytest

from env import UsageError
from ppo.experiments.rivals import registry
from ppo.experiments.rivals.registry import METHODS, check_methods


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["gb"], r"--methods gb: unknown \(did you mean 'gp'\?\); known are law, gp, "),
        ([], "--methods is empty: name one or several"),
        (["law", "law"], "--methods law law: name one or several, each once"),
    ],
)
def test_a_mistake_is_one_line(names, message):
    with pytest.raises(UsageError, match=message) as error:
        check_methods(names)
    assert "\n" not in str(error.value)


def test_a_missing_extra_is_one_line_for_the_methods_that_need_it(monkeypatch):
    monkeypatch.setattr(registry, "installed", lambda package: False)
    check_methods(["law", "surrogate", "differential-evolution", "law+polish"])
    with pytest.raises(UsageError) as error:
        check_methods(["law", "gp", "cma-es"])
    assert str(error.value) == (
        "--methods gp cma-es: needs botorch, cma; pip install 'tuninglaw[compare]', or leave them out: --methods law"
    )
    with pytest.raises(UsageError, match=r"needs botorch; pip install 'tuninglaw\[compare\]'$"):
        check_methods(["gp"])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_where_it_is_said_to_be(name):
    for package in METHODS[name].packages:
        pytest.importorskip(package, reason="the extra compare")
    assert callable(METHODS[name].load())


def test_packages_are_found_without_importing_them():
    assert registry.installed("numpy")
    assert not registry.installed("no_such_package")
    assert registry.installed("cma") == (importlib.util.find_spec("cma") is not None)
