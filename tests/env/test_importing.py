"""What a path names is imported; a path that cannot be is refused with the flag that named it."""

import pytest

from env import UsageError
from env.importing import import_object
from tests.problems import CornerSampler


def test_import_object_returns_the_object_itself():
    assert import_object("--sampler", "tests.problems:CornerSampler") is CornerSampler


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tests.problems", "must be package.module:Class"),
        ("tests.problems:", "must be package.module:Class"),
        ("tests..problems:Quadratic", "must be package.module:Class"),
        ("tests.problems:CornerSampl", "module 'tests.problems' has no 'CornerSampl' .did you mean 'CornerSampler'"),
        ("tests.nowhere:Thing", "no module named 'tests.nowhere' can be imported from here"),
        ("__main__:Thing", "drivers do not run the main program again"),
    ],
)
def test_a_path_that_cannot_be_imported_is_named_with_its_flag(path, message):
    with pytest.raises(UsageError, match=f"^--sampler {path}: .*{message}"):
        import_object("--sampler", path)
