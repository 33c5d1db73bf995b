"""Each variant of the ablation changes a configuration that works, and they all learn different laws."""

import dataclasses

import pytest

from ppo import Config, resolve
from ppo.studies.ablation import VARIANTS
from ppo.studies.thesis import BUDGET
from ppo.train import train


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_changes_what_it_names_alone(name):
    changes = VARIANTS[name]
    plain, varied = resolve(BUDGET), resolve(dataclasses.replace(BUDGET, **changes))
    found = {field for field, value in dataclasses.asdict(varied).items() if value != getattr(plain, field)}
    assert set(changes) <= found or not changes
    if changes != {"advantages": "gae"}:  # which has settings of its own
        assert found == set(changes)


def test_no_two_variants_learn_the_same_law(tmp_path):
    small = Config(drivers=0, training_steps=12, update_epochs=1, eval_every=0)
    digests = {
        name: train(dataclasses.replace(small, **changes), tmp_path / str(number), quiet=True, pictures=False)
        for number, (name, changes) in enumerate(VARIANTS.items())
    }
    assert len({summary["policy_sha256"] for summary in digests.values()}) == len(VARIANTS)
