"""What a report counts as weights."""

import pytest

from stratax.command.rehearsal import Catcher, _report
from tests.command.rehearsal.test_catching import adam_estimator, batches


@pytest.fixture
def catcher():
    made = Catcher()
    with made.catching():
        yield made


def test_slots_of_tensorflow_1s_optimizers_are_no_weights(tmp_path, catcher):
    estimator = adam_estimator(tmp_path)
    estimator.train(batches, max_steps=2)
    (made,) = [each for each in catcher.caught if each.name == "train"]
    kinds = _report._kinds_of_variables()
    variables = [each for each in (*made.variables[0], *made.variables[1]) if each is not None]
    slots = {each.path for each in variables if kinds.get(id(each)) == "slots"}
    weights = {each.path for each in variables if id(each) not in kinds}
    assert {"dense/kernel/Adam", "dense/bias/Adam_1", "beta1_power"} <= slots
    assert weights == {"dense/kernel", "dense/bias", "global_step"}
