"""TensorFlow's dtypes, and that NumPy, JAX and Keras take them."""

import copy
import pickle

import jax
import jax.numpy as jnp
import keras
import ml_dtypes
import numpy as np
import pytest

import stratax.tf as tf
from stratax.data.vectorise import prove
from stratax.errors import BadTypeError


# What TensorFlow 2.21 says of them: name, size, max, is_floating, is_integer, is_unsigned, is_complex, its number.
@pytest.mark.parametrize(
    ("dtype", "said"),
    [
        (tf.float32, ("float32", 4, np.finfo(np.float32).max, True, False, False, False, 1)),
        (tf.float16, ("float16", 2, 65504, True, False, False, False, 19)),
        (tf.bfloat16, ("bfloat16", 2, ml_dtypes.finfo("bfloat16").max, True, False, False, False, 14)),
        (tf.int8, ("int8", 1, 127, False, True, False, False, 6)),
        (tf.uint64, ("uint64", 8, 2**64 - 1, False, True, True, False, 23)),
        (tf.complex64, ("complex64", 8, None, False, False, False, True, 8)),
        (tf.bool, ("bool", 1, None, False, False, False, False, 10)),
        (tf.string, ("string", 0, None, False, False, False, False, 7)),
    ],
)
def test_dtypes_say_what_they_are(dtype, said):
    if said[2] is None:
        with pytest.raises(BadTypeError, match="Only numbers have a least and a greatest one"):
            _ = dtype.max
    greatest = None if said[2] is None else dtype.max
    found = (dtype.name, dtype.size, greatest, dtype.is_floating, dtype.is_integer, dtype.is_unsigned)
    assert (*found, dtype.is_complex, dtype.as_datatype_enum) == said
    assert (repr(dtype), str(dtype)) == (f"tf.{said[0]}", f"<dtype: '{said[0]}'>")
    assert (dtype.is_numeric, dtype.is_quantized, dtype.is_numpy_compatible) == (any(said[3:7]), False, True)


def test_limits_and_relatives():
    assert (tf.int8.min, tf.float32.limits, tf.uint8.limits, tf.bool.is_bool) == (
        -128,
        (0, 1),
        (0, 255),
        True,
    )
    assert (tf.complex128.real_dtype, tf.int32.real_dtype, tf.int32.base_dtype) == (
        tf.float64,
        tf.int32,
        tf.int32,
    )
    assert (tf.string.as_numpy_dtype, tf.bfloat16.as_numpy_dtype) == (object, ml_dtypes.bfloat16)
    assert (tf.float32.kind, tf.float32.itemsize) == ("f", 4)
    for name in ("shape", "ndim", "foo"):
        with pytest.raises(AttributeError, match=f"tf.float32 has no attribute '{name}'"):
            getattr(tf.float32, name)


def test_there_is_one_of_each():
    assert tf.as_dtype("int32") is tf.int32 is tf.as_dtype(np.int32) is tf.as_dtype(3) is tf.DType(tf.int32)
    assert copy.deepcopy(tf.int32) is pickle.loads(pickle.dumps(tf.int32)) is tf.int32
    assert (tf.as_dtype(float), tf.as_dtype("string"), tf.half) == (tf.float32, tf.string, tf.float16)
    assert tf.as_dtype(tf.constant(1).dtype) is tf.int32


@pytest.mark.parametrize("value", [int, str, None, "foo", "S", 99, [1]])
def test_what_names_no_dtype_is_refused(value):
    with pytest.raises(BadTypeError, match="A dtype was expected, such as"):
        tf.as_dtype(value)


def test_they_equal_what_means_the_same():
    for other in ("float32", np.float32, np.dtype("float32"), jnp.float32, tf.constant(1.0).dtype):
        assert tf.float32 == other
        assert other == tf.float32
        assert tf.int32 != other
    assert {tf.float32: 1}[np.dtype("float32")] == 1
    assert tf.constant(1.0).dtype not in (tf.float16, tf.bfloat16)
    assert tf.float32 not in (None, "x", 3)
    assert tf.float32.is_compatible_with("float32")


def test_numpy_jax_and_keras_take_them():
    made = [
        np.zeros(2, tf.bfloat16),
        np.array([1]).astype(tf.bfloat16),
        jnp.zeros(2, tf.bfloat16),
        jax.jit(lambda x, dtype: x.astype(dtype), static_argnums=1)(jnp.ones(2), tf.bfloat16),
        keras.ops.cast(jnp.ones(2), tf.bfloat16),
        keras.layers.Dense(2, dtype=tf.bfloat16)(np.ones((1, 2))),
        keras.Variable([1.0], dtype=tf.bfloat16).value,
        tf.Variable([1.0], dtype=tf.bfloat16).value,
        tf.cast(tf.ones([2]), tf.bfloat16),
        tf.cast(np.ones(2), tf.bfloat16),
    ]
    assert {array.dtype for array in made} == {tf.bfloat16}
    assert np.issubdtype(tf.float32, np.floating)
    assert jnp.issubdtype(tf.float32, jnp.floating)


def test_functions_of_pipelines_that_name_them_are_called_for_whole_blocks():
    limit = tf.uint8
    assert prove(lambda x: tf.cast(x, limit)) is not None
