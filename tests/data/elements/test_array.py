"""Operators of elements mean what they do in TensorFlow, for one and for a block; its results stand here as numbers."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.data import Dataset
from stratax.errors import BadArgumentError, DataError

COUNTS = []
PAIR = (1, 2)
INT64, INT32, UINT8 = np.int64(7), np.int32(7), np.uint8(7)
FLOAT32, FLOAT64 = np.float32(2.5), np.float64(2.5)
MEAN = np.array([0.5, 1.0])


def counted(function):
    """The same function with an effect, which keeps it from being called for blocks."""

    def call(x):
        COUNTS.append(1)
        return function(x)

    return call


# What TensorFlow 2.21 gives on a CPU.
@pytest.mark.parametrize(
    ("element", "function", "dtype", "expected"),
    [
        (INT64, lambda x: x * [1, 2], "int64", [7, 14]),
        (INT32, lambda x: [1, 2] * x, "int32", [7, 14]),
        (INT32, lambda x: (x + 1) * [1, 2], "int32", [8, 16]),
        (INT32, lambda x: x + PAIR, "int32", [8, 9]),
        (UINT8, lambda x: x + np.array([1, 2]), "uint8", [8, 9]),
        (INT32, lambda x: x == [7, 2], "bool", [True, False]),
        (INT32, lambda x: x < [1, 9], "bool", [False, True]),
        (INT64, lambda x: x | [1, 8], "int64", [7, 15]),
        (FLOAT32, lambda x: x - [0.5, 1.0], "float32", [2.0, 1.5]),
        (FLOAT32, lambda x: x * MEAN, "float32", [1.25, 2.5]),
        (FLOAT32, lambda x: MEAN - x, "float32", [-2.0, -1.5]),
        (FLOAT32, lambda x: x + np.float64(1), "float32", 3.5),
        (FLOAT64, lambda x: x - [0.5, 1.0], "float64", [2.0, 1.5]),
        (UINT8, lambda x: x / 2, "float32", 3.5),
        (np.int16(7), lambda x: x / x, "float32", 1.0),
        (UINT8, lambda x: 2 / x, "float32", 0.2857142984867096),
        (INT32, lambda x: x / 2, "float64", 3.5),
        (INT64, lambda x: x / 0, "float64", np.inf),
        (INT64, lambda x: (-x) // 2, "int64", -4),
        (INT64, lambda x: x % -3, "int64", -2),
        (FLOAT32, lambda x: x // 0, "float32", np.inf),
        (np.array([1, 200], np.uint8), lambda x: x * [1, 2], "uint8", [1, 144]),
        (np.array([1, 200], np.uint8), lambda x: tf.divide(x, 2), "float32", [0.5, 100.0]),
    ],
)
def test_values_and_dtypes_are_tensorflows(element, function, dtype, expected):
    source = Dataset.from_tensors(element).repeat(20)
    for mapped in (
        source.map(function),
        source.map(counted(function)),
        source.batch(20).unbatch().map(function),
    ):
        for found in (*mapped, *next(iter(mapped.batch(20)))):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, np.array(expected, dtype))
            assert isinstance(found, np.ndarray | np.dtype(dtype).type)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 6 // (x - 30),
        lambda x: x % (x - 30),
        lambda x: divmod(x, x - 30),
        lambda x: tf.math.floordiv(x, x - 30),
        lambda x: tf.math.mod(x, x - 30),
        lambda x: x // [1, 0] if x == 30 else x // [1, 2],
        lambda x: jnp.asarray(x) + 6 // (x - 30),
    ],
)
def test_an_integer_is_not_divided_by_zero(function):
    iterator = iter(Dataset.range(40).map(function).prefetch(2))
    assert len([next(iterator) for _ in range(30)]) == 30
    with pytest.raises(BadArgumentError, match="Integer division by zero") as caught:
        next(iterator)
    assert "element 30" in "".join(caught.value.__notes__)
    assert len(list(iterator)) == 9


def test_functions_of_tf_refuse_to_divide_by_zero_too():
    for divide in (tf.math.floordiv, tf.math.mod):
        for x, y in [(np.int32(5), 0), (tf.constant([5, 6]), tf.constant([1, 0])), (5, tf.constant(0))]:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
                divide(x, y)
        assert np.isnan(tf.math.mod(np.float32(5), 0))
    assert int(sx.function(lambda x: tf.math.floordiv(x, 2))(tf.constant(5))) == 2


def test_filter_flat_map_and_reduce_have_the_same_operators():
    assert [int(x) for x in Dataset.range(4).filter(lambda x: (x * [1, 2]).shape == (2,))] == [0, 1, 2, 3]
    pairs = Dataset.range(1, 3).flat_map(lambda x: Dataset.from_tensor_slices(x * [1, 2]))
    assert [int(x) for x in pairs] == [1, 2, 2, 4]
    total = Dataset.range(3).reduce(np.zeros(2, np.int64), lambda state, x: state + x * [1, 2])
    assert total.tolist() == [3, 6]
    with pytest.raises(BadArgumentError, match="Integer division by zero"):
        Dataset.range(3).filter(lambda x: 6 // x > 0).reduce(np.int64(0), lambda state, x: state)


def test_an_in_place_operator_binds_a_name_anew():
    def change(x):
        before = x
        x += 1
        return before, x

    assert [(int(a), int(b)) for a, b in Dataset.range(2).map(change)] == [(0, 1), (1, 2)]
    images = Dataset.from_tensors(np.array([1, 255], np.uint8)).map(counted(scaled))
    assert next(iter(images)).dtype == np.float32


def scaled(image):
    image /= 255
    return image


def test_scalars_are_what_python_takes_for_numbers():
    table = {0: 10, 1: 11}
    found = Dataset.range(2).map(
        counted(lambda x: (table[x], [5, 6][x], len(range(x)), round(x), f"{x:02d}"))
    )
    assert list(found) == [(10, 5, 0, 0, b"00"), (11, 6, 1, 1, b"01")]


def test_lists_in_structure_have_the_dtype_of_the_components_in_them():
    numbers = Dataset.range(2, output_type=np.int32)
    assert numbers.map(lambda x: (x, [x, 2])).element_spec[1].dtype == np.int32
    assert Dataset.range(2).map(lambda x: (x, [x, 2])).element_spec[1].dtype == np.int64
    assert (
        Dataset.range(2).map(lambda x: (x, [tf.cast(x, tf.float64), 2.5])).element_spec[1].dtype == np.float64
    )
    with pytest.raises(DataError, match="need one dtype. Received: int64 beside fractions"):
        list(Dataset.range(2).map(lambda x: (x, [x, 2.5])))
    with pytest.raises(DataError, match="need one dtype. Received: int64 and float32"):
        list(Dataset.range(2).map(lambda x: (x, [x, tf.cast(x, tf.float32)])))


def test_a_count_compares_as_a_tensor():
    count = tf.data.Dataset.range(3).cardinality()
    assert [(count == 3).numpy(), (count > 3).numpy(), (count != tf.data.INFINITE_CARDINALITY).numpy()] == [
        True,
        False,
        True,
    ]
    # It stays a number of Python's everywhere else.
    assert (hash(count), {3: "three"}[count], max(count, 2), [3].index(count)) == (3, "three", 3, 0)
