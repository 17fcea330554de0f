"""What operands are, found in one look: numbers, arrays, text, arrays of devices, and all else."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax.tensorflow.ops.calls._host import ARRAY, DEVICE, NUMBER, OTHER, TEXT, is_on_host, kinds_of
from stratax.tensorflow.ops.calls.text import holds_text


@pytest.fixture(autouse=True, scope="module")
def _arrays_of_devices_are_known():
    tf.constant(1.0)


@pytest.mark.parametrize(
    ("operand", "kind"),
    [
        (1, NUMBER),
        (True, NUMBER),
        (2j, NUMBER),
        (np.float64(1), ARRAY),
        (np.bool_(True), ARRAY),
        (np.ones(2), ARRAY),
        (np.array([1, None], object), ARRAY),
        (tf.add(np.ones(2), 1), ARRAY),
        ("a", TEXT),
        (b"a", TEXT),
        (np.str_("a"), TEXT),
        (np.array("a"), TEXT),
        (np.array([b"a"], object), TEXT),
        (np.array([], object), TEXT),
        (tf.constant("a"), TEXT),
        (tf.constant(["a"]), TEXT),
        (jnp.ones(2), DEVICE),
        (keras.Variable(1.0), OTHER),
        (keras.KerasTensor((2,)), OTHER),
        (None, OTHER),
        ([], 0),
        ([1, [np.ones(2), (b"a",)]], NUMBER | ARRAY | TEXT),
        (tf.TensorShape([1, None]), NUMBER | OTHER),
    ],
)
def test_an_operand_is_of_a_kind(operand, kind):
    assert kinds_of([operand]) == kind
    assert holds_text(operand) == bool(kind & TEXT)
    assert is_on_host(operand, 1) == (kind | NUMBER == ARRAY | NUMBER)


def test_what_is_traced_is_of_no_host():
    kinds = []
    jax.make_jaxpr(lambda x: kinds.append(kinds_of([x, 1])))(1.0)
    assert kinds == [OTHER | NUMBER]


def test_what_a_tape_follows_is_of_no_host():
    component = next(iter(tf.data.Dataset.from_tensors(np.ones(2, np.float32))))
    with tf.GradientTape() as tape:
        tape.watch(component)
        assert kinds_of([component]) == OTHER
        assert not is_on_host(component)


def test_a_class_of_which_tensors_are_made_is_of_no_host():
    class Degrees:
        pass

    tf.register_tensor_conversion_function(Degrees, lambda value, **_: tf.constant(1.0))
    assert kinds_of([Degrees()]) == OTHER
