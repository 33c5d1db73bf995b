"""Global random numbers depend on the key alone inside the context, and go on outside it as if nothing had been."""

import random
import threading

import numpy as np
import pytest

from env.randomness import OWN_RANDOMNESS, key_of, set_randomness


def draw():
    return random.random(), np.random.random(), random.gauss(0, 1)  # noqa: NPY002


def seed(number):
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002


def keyed(key):
    with OWN_RANDOMNESS:
        set_randomness(key)
        return draw()


def test_what_is_drawn_depends_on_the_key_alone():
    seed(1)
    first = keyed(7)
    draw()
    assert keyed(7) == first
    assert not set(keyed(8)) & set(first)


def test_the_callers_own_numbers_go_on_as_if_nothing_had_been():
    seed(3)
    expected = [draw() for _ in range(4)]
    seed(3)
    assert draw() == expected[0]
    keyed(5)
    assert draw() == expected[1]
    with pytest.raises(ZeroDivisionError), OWN_RANDOMNESS:
        set_randomness(6)
        raise ZeroDivisionError
    assert draw() == expected[2]
    with OWN_RANDOMNESS:
        keyed(7)
    assert draw() == expected[3]


def test_also_where_several_threads_are_in_it():
    seed(4)
    expected = draw()
    seed(4)
    inside = threading.Barrier(3)

    def work(number):
        for again in range(20):
            with OWN_RANDOMNESS:
                inside.wait(10)
                set_randomness(100 * number + again)
                draw()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert draw() == expected


def test_keys_of_a_row_are_32_bits_and_differ():
    keys = {key_of(seed, number) for seed in (0, 1, 2**32 - 1) for number in range(1000)}
    assert len(keys) == 3000
    assert all(0 <= key < 2**32 for key in keys)
