"""Array functions, under the names of `tf`: on the host for NumPy arrays, on a device for all else, equal in both."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

X = np.array([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]], np.float32)
ANY = (
    "abs",
    "ceil",
    "cos",
    "exp",
    "expm1",
    "floor",
    "negative",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "square",
    "tan",
)
ANY += ("tanh", "is_finite", "is_inf", "is_nan")
TWO = (
    "add",
    "atan2",
    "divide",
    "divide_no_nan",
    "equal",
    "floordiv",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
)
TWO += ("maximum", "minimum", "mod", "multiply", "not_equal", "squared_difference", "subtract")
REDUCTIONS = ("reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "reduce_logsumexp")
REDUCTIONS += ("reduce_std", "reduce_variance")


def check_both(function, *operands, rtol=1e-5):
    """The result, which has to be the same for NumPy and JAX operands, each where it came from."""
    host = function(*operands)
    device = function(*(jnp.asarray(operand) for operand in operands))
    assert isinstance(host, np.ndarray | np.generic)
    assert isinstance(device, jax.Array)
    assert host.shape == device.shape
    assert jax.dtypes.canonicalize_dtype(host.dtype) == device.dtype
    np.testing.assert_allclose(host, device, rtol=rtol, atol=1e-6)
    return host


def test_values_are_those_of_tensorflow():
    # Worked out by hand from TensorFlow's documentation.
    assert tf.reduce_mean(np.array([1, 2, 2, 0, -4, -2])) == 0
    assert tf.reduce_mean([1, 0, 1, 0, 1]).item() == 0  # A mean of whole numbers is a whole number.
    assert tf.reduce_mean([1.0, 1.0, 2.0, 2.0]).item() == 1.5
    assert tf.reduce_sum(np.array([200, 100], np.uint8)).dtype == np.uint8
    assert tf.reduce_sum(jnp.array([200, 100], jnp.uint8)).dtype == jnp.uint8
    assert tf.math.divide_no_nan(3.0, 0.0).item() == 0
    assert tf.round([0.5, 1.5, 2.5]).tolist() == [0, 2, 2]
    assert tf.argmax([[1, 9], [5, 2]]).tolist() == [1, 0]
    assert tf.math.mod(-7, 3).item() == 2
    assert tf.cumsum([1, 2, 3], exclusive=True).tolist() == [0, 1, 3]
    assert tf.cumsum([1, 2, 3], reverse=True).tolist() == [6, 5, 3]
    assert tf.clip_by_value([-5, 0, 5], -1, 1).tolist() == [-1, 0, 1]
    assert tf.math.scalar_mul(2, [1, 2]).tolist() == [2, 4]
    with pytest.raises(BadArgumentError, match="Only a scalar"):
        tf.scalar_mul([1, 2], [1, 2])
    assert tf.norm([3.0, 4.0]).item() == 5.0
    assert tf.norm([[3.0, -4.0]], ord=1, axis=1).tolist() == [7.0]


def test_arg_functions_agree_on_host_and_device():
    for name in ("argmax", "argmin"):
        assert check_both(getattr(tf, name), X).shape == (3,)
        assert check_both(lambda x, name=name: getattr(tf, name)(x, axis=-1), X).shape == (2,)


def test_a_dimension_is_added_in_one_place():
    with pytest.raises(BadArgumentError, match=r"axis must be one number.*\[0, 1\]"):
        tf.expand_dims(np.ones((2, 3)), [0, 1])


@pytest.mark.parametrize("words", [["a", "b"], np.array(["a", "b"]), np.array([b"a", b"b"], object)])
def test_text_that_is_padded_stays_text_of_bytes(words):
    padded = tf.pad(words, [[1, 0]])
    assert padded.tolist() == [b"", b"a", b"b"]
    assert {type(word) for word in padded.tolist()} == {bytes}
    assert tf.pad(words, [[0, 1]], constant_values="x\0").tolist() == [b"a", b"b", b"x\0"]
    assert tf.pad(words, [[1, 1]], "REFLECT").tolist() == [b"b", b"a", b"b", b"a"]


def test_padding_has_tensorflows_values_and_limits():
    x = np.array([1, 2, 3])
    assert tf.pad(x, [[1, 2]], constant_values=9).tolist() == [9, 1, 2, 3, 9, 9]
    assert tf.pad(x, [[2, 1]], "REFLECT").tolist() == [3, 2, 1, 2, 3, 2]
    assert tf.pad(x, [[3, 1]], "SYMMETRIC").tolist() == [3, 2, 1, 1, 2, 3, 3]
    with pytest.raises(BadArgumentError, match=r"at most \[2\] on each side"):
        tf.pad(x, [[3, 0]], "REFLECT")
    with pytest.raises(BadArgumentError, match="mode must be one of"):
        tf.pad(x, [[1, 1]], "EDGE")
    for paddings in ([[1, 1], [0, 0]], [[-1, 0]], [[1, 2, 3]]):
        with pytest.raises(BadArgumentError, match="two numbers for each dimension"):
            tf.pad(x, paddings)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: tf.reshape(x, [-1]), (6,)),
        (lambda x: tf.reshape(x, np.array([3, -1])), (3, 2)),
        (lambda x: tf.expand_dims(x, -1), (2, 3, 1)),
        (lambda x: tf.expand_dims(x, [-1]), (2, 3, 1)),
        (lambda x: tf.expand_dims(x, np.array([1])), (2, 1, 3)),
        (lambda x: tf.expand_dims(x, tf.constant([0])), (1, 2, 3)),
        (lambda x: tf.squeeze(tf.expand_dims(x, 0)), (2, 3)),
        (lambda x: tf.squeeze(tf.expand_dims(x, 0), [0]), (2, 3)),
        (lambda x: tf.transpose(x), (3, 2)),
        (lambda x: tf.transpose(x, [1, 0], conjugate=True), (3, 2)),
        (lambda x: tf.broadcast_to(x, [4, 2, 3]), (4, 2, 3)),
        (lambda x: tf.tile(x, [1, 2]), (2, 6)),
        (lambda x: tf.pad(x, [[1, 0], [0, 2]]), (3, 5)),
        (lambda x: tf.pad(x, np.array([[0, 1], [2, 2]]), "reflect"), (3, 7)),
        (lambda x: tf.compat.v1.pad(x, [[2, 2], [3, 0]], "SYMMETRIC", "edges", 7), (6, 6)),
        (lambda x: tf.repeat(x, 2, axis=0), (4, 3)),
        (lambda x: tf.reverse(x, [1]), (2, 3)),
        (lambda x: tf.reverse(x, [0, 1]), (2, 3)),
        (lambda x: tf.stack([x, x], axis=1), (2, 2, 3)),
        (lambda x: tf.stack(tf.unstack(x, axis=1)), (3, 2)),
        (lambda x: tf.concat([x, x], axis=-1), (2, 6)),
        (lambda x: tf.split(x, 3, axis=1)[1], (2, 1)),
        (lambda x: tf.split(x, [1, -1], axis=1)[1], (2, 2)),
        (lambda x: tf.where(x > 0, x, 0), (2, 3)),
        (lambda x: tf.identity(x), (2, 3)),
        (lambda x: tf.stop_gradient(x), (2, 3)),
        (lambda x: tf.zeros_like(x), (2, 3)),
        (lambda x: tf.ones_like(x, dtype=tf.int32), (2, 3)),
        (lambda x: tf.cast(x, tf.int32), (2, 3)),
        (lambda x: tf.cast(x, "float16"), (2, 3)),
        (lambda x: tf.one_hot(tf.cast(tf.abs(x), tf.int32), 3), (2, 3, 3)),
        (lambda x: tf.one_hot(tf.cast(tf.abs(x), tf.int32), 3, on_value=5, off_value=-1, axis=0), (3, 2, 3)),
        (lambda x: tf.cumsum(x, axis=1, exclusive=True, reverse=True), (2, 3)),
    ],
)
def test_functions_that_rearrange_agree_on_host_and_device(function, shape):
    assert check_both(function, X).shape == shape


def test_gather_agrees_on_host_and_device():
    assert check_both(lambda x, i: tf.gather(x, i, axis=1), X, np.array([[0, 2], [1, 1]])).shape == (2, 2, 2)
    assert check_both(tf.gather, X, np.array(1)).tolist() == X[1].tolist()


def test_shapes_are_known_while_a_function_is_traced():
    @tf.function
    def flat(x):
        return tf.reshape(x, [tf.shape(x)[0] * tf.shape(x)[1]]) * tf.cast(tf.size(x), tf.float32)

    assert flat(X).tolist() == (X.ravel() * 6).tolist()
    assert tf.shape(X).tolist() == [2, 3]
    assert tf.rank([[1], [2]]) == 2
    open_size, known_size = tf.shape(keras.KerasTensor((None, 3)))
    assert isinstance(open_size, keras.KerasTensor)
    assert known_size == 3


def test_a_host_operand_beside_a_device_operand_goes_to_the_device():
    assert isinstance(tf.add(X, jnp.ones(3)), jax.Array)
    assert isinstance(tf.concat([X, jnp.asarray(X)], 0), jax.Array)
    assert isinstance(tf.maximum(X, 0.0), np.ndarray)
    assert isinstance(tf.maximum(1.0, 0.0), jax.Array)


def test_linear_algebra_computes_on_a_device_whatever_it_gets():
    product = tf.matmul(X, X, transpose_b=True)
    assert isinstance(product, jax.Array)
    np.testing.assert_allclose(product, X @ X.T, rtol=1e-6)
    np.testing.assert_allclose(tf.matmul(X, X, transpose_a=True), X.T @ X, rtol=1e-6)
    np.testing.assert_allclose(tf.tensordot(X, X, 2), np.sum(X * X), rtol=1e-6)
    np.testing.assert_allclose(tf.einsum("ij,kj->ik", X, X), X @ X.T, rtol=1e-6)
    values, places = tf.math.top_k(X, 2)
    assert values.tolist() == [[1.5, 0.25], [3.0, 0.5]]
    assert places.tolist() == [[0, 2], [1, 0]]


def test_variables_and_symbolic_tensors_go_where_they_belong():
    variable = tf.Variable([1.0, 4.0])
    assert isinstance(tf.sqrt(variable), jax.Array)
    assert tf.reduce_sum(variable).item() == 5.0
    inputs = keras.Input((4,))
    outputs = tf.nn.relu(tf.reduce_mean(tf.square(tf.reshape(inputs, [-1, 2, 2])), axis=1))
    model = keras.Model(inputs, outputs)
    assert model.predict(np.full((3, 4), 2.0, np.float32), verbose=0).tolist() == [[4.0, 4.0]] * 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tf.where(X > 0, X), BadArgumentError, "two values, or none"),
        (lambda: tf.gather(X, [0], batch_dims=1), BadArgumentError, "first batch_dims dimensions of both"),
        (lambda: tf.slice(X, [0], [1]), BadArgumentError, "begin and size need a number for each"),
        (lambda: tf.gather_nd(X, [[5]]), BadArgumentError, "An index is out of range"),
        (lambda: tf.boolean_mask(X, [True]), BadArgumentError, "The mask does not fit"),
        (lambda: tf.split(X, [1, 1], axis=1), BadArgumentError, "must add up to the dimension's size"),
        (lambda: tf.reshape(X, [2.5]), BadTypeError, "`shape` must be whole numbers"),
        (lambda: tf.zeros(None), BadTypeError, "`shape` must be whole numbers"),
        (
            lambda: tf.function(lambda n: tf.zeros([n]))(jnp.int32(3)),
            BadTypeError,
            "while a program is traced",
        ),
    ],
)
def test_what_can_not_be_done_says_why(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_scalars_of_numpy_stay_on_the_host():
    results = [tf.cast(np.int64(3), tf.int32), tf.one_hot(np.int32(1), 3), tf.add(np.float64(1), 2)]
    assert [isinstance(result, np.ndarray | np.generic) for result in results] == [True] * 3
    assert results[0].dtype == np.int32


def test_shapes_that_do_not_fit_are_tensorflows_error_with_the_reason():
    with pytest.raises(tf.errors.InvalidArgumentError, match="contracting dimensions to have the same shape"):
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))


def test_older_names_of_tensorflow_are_there():
    left, places = tf.setdiff1d(tf.constant([1, 2, 3, 2]), tf.constant([2]))
    assert (left.tolist(), places.tolist()) == ([1, 3], [0, 2])
    assert tf.lin_space(0.0, 1.0, 3).tolist() == [0.0, 0.5, 1.0]
    assert tf.tensor_scatter_add is tf.tensor_scatter_nd_add
    assert tf.segment_sum is tf.math.segment_sum


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tf.ones_like([1, 2]), [1, 1]),
        (lambda: tf.zeros_like([1.0, 2]), [0.0, 0.0]),
        (lambda: tf.ones_like(tf.Variable([1, 2])), [1, 1]),
        (lambda: tf.tile([1, 2], [2]), [1, 2, 1, 2]),
        (lambda: tf.reverse([[1, 2]], axis=[1]), [[2, 1]]),
        (lambda: tf.pad([[1]], [[1, 1], [1, 1]], constant_values=9), [[9, 9, 9], [9, 1, 9], [9, 9, 9]]),
        (lambda: tf.pad([1, 2, 3], [[1, 1]], "REFLECT"), [2, 1, 2, 3, 2]),
        (lambda: tf.where([True, False], [1, 2], [3, 4]), [1, 4]),
        (lambda: tf.where([True, False], 1, 0), [1, 0]),
        (lambda: tf.cast(300, tf.uint8), 44),
        (lambda: tf.cast([300, -1], tf.uint8), [44, 255]),
        (lambda: tf.cast(2**40, tf.int32), 0),
        (lambda: tf.cast(-1, tf.uint32), 2**32 - 1),
    ],
)
def test_lists_numbers_and_variables_are_taken_as_arrays(make, expected):
    # Numbers of TensorFlow 2.21.
    assert make().tolist() == expected


@pytest.mark.parametrize(
    "added",
    [
        lambda batch, size: tf.random.normal(shape=(batch, size)) * 0 + 1,
        lambda batch, size: tf.ones([batch, size]),
        lambda batch, size: tf.zeros((batch, size)) + 1,
        lambda batch, size: tf.fill((batch, size), 1.0),
        lambda batch, size: tf.tile(tf.ones((1, 2)), [batch, 1]),
        lambda batch, size: tf.reshape(tf.ones(batch * size), (batch, size)),
        lambda batch, size: tf.keras.backend.random_normal(shape=(batch, size)) * 0 + 1,
    ],
)
def test_a_layer_of_a_functional_model_asks_for_the_size_of_its_batch(added):
    class Layer(keras.layers.Layer):
        def call(self, x):
            # Keras asks with a batch of any size, whose size is a symbol of JAX.
            return x * added(tf.shape(x)[0], tf.shape(x)[1])

    inputs = keras.Input((2,))
    outputs = Layer()(inputs)
    assert outputs.shape == (None, 2)
    np.testing.assert_allclose(keras.Model(inputs, outputs)(np.ones((3, 2), np.float32)), np.ones((3, 2)))


# In a layer of a functional model, where the size of a batch is a symbol.
@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x, n: x + tf.zeros(tf.stack([n, 2])), (None, 2)),
        (lambda x, n: tf.reshape(x, tf.stack([n, 1, -1])), (None, 1, 2)),
        (lambda x, n: tf.tile(tf.ones((1, 3)), tf.stack([n, 1])), (None, 3)),
        (lambda x, n: tf.repeat(tf.ones((1, 3)), n, axis=0), (None, 3)),
        (lambda x, n: tf.gather(x, tf.range(n)), (None, 2)),
        (lambda x, n: tf.one_hot(tf.range(0, n) % 2, 3), (None, 3)),
        (lambda x, n: tf.stack([tf.range(n), tf.zeros(n, tf.int32)], 1), (None, 2)),
        (lambda x, n: tf.reshape(x, [tf.size(x) // 2, 2]), (None, 2)),
    ],
)
def test_layers_make_shapes_and_ranges_of_the_size_of_a_batch(compute, expected):
    class Layer(keras.layers.Layer):
        def call(self, x):
            return compute(x, tf.shape(x)[0])

    inputs = keras.Input((2,))
    outputs = Layer()(inputs)
    assert outputs.shape == expected
    assert keras.Model(inputs, outputs)(np.ones((3, 2), np.float32)).shape == (3, *expected[1:])
