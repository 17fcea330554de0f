"""`stratax.Variable`: TensorFlow's signature on a Keras variable."""

import copy
import enum
import pickle
import warnings

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors


@pytest.mark.parametrize(
    ("initial", "dtype"),
    [
        (1.0, "float32"),
        (1, "int32"),
        (True, "bool"),
        ([1.0, 2.0], "float32"),
        ([[1, 2], [3, 4]], "int32"),
        (np.ones(2), "float32"),
        (np.ones(2, "float16"), "float16"),
        (np.ones(2, "uint8"), "uint8"),
        (jnp.ones(2, "bfloat16"), "bfloat16"),
        (lambda: [1, 2, 3], "int32"),
    ],
)
def test_the_dtype_is_that_of_the_initial_value(initial, dtype):
    assert sx.Variable(initial).value.dtype == dtype


def test_it_is_a_keras_variable_with_what_was_asked_for():
    v = sx.Variable([1, 2], trainable=False, name="mine", dtype="float16", aggregation="sum")
    assert isinstance(v, keras.Variable)
    assert (v.name, v.trainable, v.dtype, v.aggregation, v.shape) == ("mine", False, "float16", "sum", (2,))
    assert v.read_value().tolist() == [1, 2]
    assert sx.Variable(v).value.tolist() == [1, 2]


def test_aggregation_may_be_a_member_of_tensorflows_enumeration():
    class VariableAggregation(enum.Enum):
        NONE = 0
        ONLY_FIRST_REPLICA = 3

    assert (
        sx.Variable(0, aggregation=VariableAggregation.ONLY_FIRST_REPLICA).aggregation == "only_first_replica"
    )
    assert sx.Variable(0, aggregation=VariableAggregation.NONE).aggregation == "none"


def test_options_of_a_variable_are_equal_to_tensorflows_members():
    v = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
    assert v.aggregation == tf.VariableAggregation.SUM != "mean"
    assert v.aggregation != tf.VariableAggregation.MEAN
    assert v.synchronization == tf.VariableSynchronization.AUTO
    assert {tf.VariableAggregation.SUM: 1}[v.aggregation] == 1


def test_options_of_a_variable_are_members_with_names_and_words_of_keras():
    v = tf.Variable(0.0, aggregation="mean", synchronization=tf.VariableSynchronization.ON_READ)
    assert v.aggregation is tf.VariableAggregation.MEAN
    assert (v.aggregation.name, v.aggregation.value, v.aggregation) == ("MEAN", 2, "mean")
    assert v.synchronization is tf.VariableSynchronization.ON_READ
    assert (v.synchronization.name, v.synchronization.value, v.synchronization) == ("ON_READ", 3, "on_read")
    assert {"mean": 1}[v.aggregation] == 1
    plain = sx.Variable(0.0)
    assert (plain.aggregation.name, plain.synchronization.name) == ("NONE", "AUTO")
    assert tf.VariableAggregation(1) is tf.VariableAggregation.SUM
    assert tf.VariableAggregation.NONE != tf.VariableSynchronization.NONE
    assert copy.deepcopy(v.aggregation) is v.aggregation is pickle.loads(pickle.dumps(v.aggregation))


def test_an_unknown_aggregation_is_refused():
    with pytest.raises(errors.BadArgumentError, match="(?s)aggregation.*Received: aggregation='max'"):
        sx.Variable(0.0, aggregation="max")


def test_it_counts_in_and_out_of_functions():
    v = sx.Variable([1.0, 2.0])
    assert v.assign_add([1.0, 1.0]).numpy().tolist() == [2, 3]
    assert v.assign_sub([0.0, 1.0]).numpy().tolist() == [2, 2]
    result = sx.function(lambda x: v.assign(v + x))(np.float32(1))
    assert result.tolist() == v.numpy().tolist() == [3, 3]


def test_an_initial_value_may_not_depend_on_a_functions_arguments():
    @sx.function
    def make(x):
        return sx.Variable(x)

    with pytest.raises(errors.BadArgumentError, match="(?s)initial value can't depend on.*zeros and assign"):
        make(np.ones(2, "float32"))


def test_an_initial_value_is_copied():
    array = np.zeros(2, "float32")
    v = sx.Variable(array)
    array[:] = 7
    assert v.numpy().tolist() == [0, 0]


def test_an_assigned_array_is_copied():
    memory = np.zeros(1024 + 16, "float32")
    array = memory[(-memory.ctypes.data % 64) // 4 :][:1024]  # aligned, so that JAX could share it
    v = sx.Variable(np.ones(1024, "float32"))
    v.assign(array)
    array[:] = 7
    assert float(v.value[0]) == 0


def test_a_function_may_compute_the_first_value_of_a_variable_that_it_creates():
    made, count = [], sx.Variable(0)

    @sx.function
    def dense(x):
        count.assign_add(1)
        if not made:
            made.append(sx.Variable(tf.random.normal([x.shape[-1], 2]) * 0.0 + 3.0, name="w"))
            made.append(sx.Variable(made[0].value[0] + 1.0))
        return keras.ops.matmul(x, made[0]) + made[1]

    for rows in (2, 2, 3):
        assert dense(np.ones((rows, 4), np.float32)).tolist() == [[16.0, 16.0]] * rows
    assert len(made) == 2
    assert count.numpy() == 3


def test_a_first_value_that_depends_on_arguments_is_refused():
    with pytest.raises(errors.BadArgumentError, match="depend on the arguments of the compiled function"):
        sx.function(lambda x: sx.Variable(x * 2.0).value)(np.float32(1.0))
    with pytest.raises(errors.BadArgumentError, match="depend on the arguments of the compiled function"):
        jax.jit(lambda x: sx.Variable(x * 2.0).value)(np.float32(1.0))


def test_a_variable_that_is_synchronized_on_read_is_not_trained_unless_asked():
    assert not sx.Variable(1.0, synchronization="on_read", aggregation="sum").trainable
    assert sx.Variable(1.0, True, synchronization="on_read", aggregation="sum").trainable
    assert sx.Variable(1.0).trainable


def test_the_value_of_a_scalar_is_numpys_number():
    assert {sx.Variable(3).numpy(): "three"} == {3: "three"}
    assert sx.Variable([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_a_variable_of_64_bits_is_made_and_assigned_without_a_warning(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        variable = sx.Variable([1, 2], dtype=dtype)
        variable.assign([3, 4])
        variable.assign_add(np.ones(2, dtype))
    assert variable.numpy().tolist() == [4, 5]
