"""`tf.contrib.layers` and slim give TensorFlow 1.15's numbers, names and variables' values."""

import pathlib

import numpy as np
import pytest

import stratax.tf as tf
from tests.golden import contrib_cases
from tests.tensorflow.v1.steps import Step

_GOLDEN = np.load(pathlib.Path(contrib_cases.__file__).with_name("contrib.npz"))


@pytest.mark.parametrize("name", contrib_cases.CASES)
def test_a_function_gives_tensorflows_numbers_names_and_variables(name):
    shape, case = contrib_cases.CASES[name]

    def body(scope, x):
        made = case(tf, x)
        scope.run([made, *scope.collections.get("update_ops")])
        return made

    step = Step(body)
    made = step(contrib_cases.inputs(shape))
    np.testing.assert_allclose(made, _GOLDEN[f"{name}/first"], rtol=1e-5, atol=1e-5)
    names = list(_GOLDEN[f"{name}/names"])
    ours = [each.path for each in step.scopes[-1].global_variables()]
    # The order of beta and gamma is that of `tf.layers`.
    assert sorted(ours) == sorted(names)
    for index, each in enumerate(names):
        np.testing.assert_allclose(
            step.value(each), _GOLDEN[f"{name}/variable{index}"], rtol=1e-5, atol=1e-6, err_msg=each
        )
