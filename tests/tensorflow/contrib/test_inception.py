"""Inception V3 has TensorFlow 1.15's layers, names and numbers: `tests/golden/inception_cases.py`."""

import json
import os

import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.golden import inception_cases as cases
from tests.tensorflow.v1.steps import Step

inception = tf.contrib.slim.nets.inception


def golden():
    with open(os.path.join(os.path.dirname(cases.__file__), "inception.json")) as file:
        return json.load(file)


# A hundred convolutions are compiled: over a minute.
@pytest.mark.stress
def test_layers_names_and_logits_are_tensorflows():
    found, counts = {}, {}

    def body(scope, images):
        ends, found["shapes"] = cases.net(tf, images)
        for key, name in (("moving", "moving_vars"), ("losses", "regularization_losses")):
            counts[key] = len(v1.get_collection(name))
        return {name: jnp.asarray(end) for name, end in ends.items()}

    step, wanted = Step(body), golden()
    values = step(cases.IMAGES)
    assert found["shapes"] == wanted["shapes"]
    # Beside them stands what dropout draws from.
    assert sorted(set(step.names) - {"seed_generator_state"}) == wanted["names"]
    assert counts == {key: wanted[key] for key in counts}
    for name in cases.ENDS:
        value = values[name]
        statistics = [np.mean(value), np.std(value)]
        np.testing.assert_allclose(statistics, wanted["statistics"][name], rtol=2e-3, atol=1e-3, err_msg=name)
    np.testing.assert_allclose(values["Logits"], wanted["logits"], rtol=2e-2, atol=2e-2)


def test_a_part_of_it_ends_with_any_layer():
    def body(scope, images):
        for name in ("Conv2d_1a_3x3", "MaxPool_3a_3x3"):
            net, ends = inception.inception_v3_base(images, name, 4, 0.1, scope=f"to_{name}")
            assert list(ends)[-1] == name
            assert ends[name] is net
        with pytest.raises(errors.BadArgumentError, match="not greater than zero"):
            inception.inception_v3(images, depth_multiplier=0)
        return net

    Step(body)(cases.IMAGES)
    assert inception.inception_v3.default_image_size == 299
