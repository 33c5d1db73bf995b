"""What f frees is kept for its next evaluation."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from actors.pools.allocator import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        blocks = [np.ones(2**17) for _ in range(5)]  # 1 MiB each
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
keep_freed_memory()
faults()  # the first of them fetches the pages
print(before, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's allocator alone gives memory back so soon")
def test_pages_that_were_freed_are_not_fetched_again():
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before > 10_000  # 50 x 5 x 256 pages, most of them again and again
    assert after < 1000
