"""The short form of the stress test: each kind of task killed once, and all; `killed_estimators` does twenty kills."""

import random

import numpy as np
import pytest

from tests.stress import killed_estimators

pytestmark = [pytest.mark.stress, pytest.mark.processes]


def test_killed_tasks_go_on_as_if_nothing_had_happened(tmp_path):
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    kinds = ("chief", "worker")
    victims = chance.sample([*kinds, "evaluator", killed_estimators.EVERYBODY], 4)
    assert killed_estimators.problems(tmp_path, kinds, victims, chance) == []


def test_other_variables_and_evaluations_are_noticed():
    expected = {"model.ckpt-60": {"w": np.float32(1), "metrics loss": np.float32(2)}}
    other = {
        "model.ckpt-60": {"w": np.nextafter(np.float32(1), np.float32(2)), "metrics loss": np.float32(2)}
    }
    assert killed_estimators.differences(expected, expected) == []
    assert killed_estimators.differences(expected, other) == ["w of model.ckpt-60 differs"]
    assert killed_estimators.wrong_evaluations([(60, {"loss": 2.0})], expected) == []
    found = killed_estimators.wrong_evaluations([(60, {"loss": 2.0}), (60, {"loss": 3.0})], expected)
    assert found == ["steps were evaluated in the order [60, 60]", "metrics of step 60 differ: {'loss': 3.0}"]
    assert killed_estimators.wrong_evaluations([], expected) == ["the last checkpoint was not evaluated"]
