"""`init_from_checkpoint` maps scopes and variables, and refuses what fits nothing."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.tensorflow.estimator.test_warm_start import TRAINED, begun, data, estimator, v1, values


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = estimator(tmp_path_factory.mktemp("trained"))
    made.train(data, steps=2)
    return made


def test_scopes_are_mapped_and_averages_begin_with_what_was_read(tmp_path, trained):
    def begin():
        tf.train.init_from_checkpoint(trained.model_dir, {"net/": "mine/"})

    old, new = values(trained), begun(tmp_path, scope="mine", begin=begin)
    for name in TRAINED:
        np.testing.assert_array_equal(new[f"mine/{name}"], old[f"net/{name}"])
        np.testing.assert_array_equal(new[f"mine/{name}/ExponentialMovingAverage"], old[f"net/{name}"])


def test_one_value_may_be_several_variables(tmp_path, trained):
    def begin():
        (beta,) = v1.trainable_variables("net/batch_normalization/beta")
        pairs = [("net/hidden/bias", "net/hidden/bias"), ("net/hidden/bias", [beta])]
        tf.contrib.framework.init_from_checkpoint(trained.model_dir, pairs)

    old, new = values(trained), begun(tmp_path, begin=begin)
    for name in ("hidden/bias", "batch_normalization/beta"):
        np.testing.assert_array_equal(new[f"net/{name}"], old["net/hidden/bias"])


def test_a_training_that_goes_on_does_not_look_at_the_other_checkpoint(tmp_path, trained):
    made = estimator(tmp_path)
    made.train(data, steps=1)
    gone = {"begin": lambda: tf.train.init_from_checkpoint("/nowhere", {"/": "/"})}
    estimator(tmp_path, **gone).train(data, steps=1)
    with pytest.raises(errors.FileMissingError, match="nowhere"):
        estimator(tmp_path / "new", **gone).train(data, steps=1)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (
            {"net/other": "net/hidden/kernel"},
            "other, which is for net/hidden/kernel, is not in the checkpoint",
        ),
        ({"net/hidden/bias": "net/logits/bias"}, r"\(2,\) in the model and \(3,\) in the checkpoint"),
        ({"net/": "mine/"}, "names a variable or a scope that the model does not have"),
        ({"net": "net/"}, "A scope is given the values of a scope"),
        ({"net/": 3}, "must be a variable, the name of one, or a scope"),
    ],
)
def test_a_wrong_assignment_is_an_error(tmp_path, trained, mapping, message):
    made = estimator(tmp_path, begin=lambda: tf.train.init_from_checkpoint(trained.model_dir, mapping))
    with pytest.raises(errors.BadArgumentError, match=message):
        made.train(data, steps=1)
