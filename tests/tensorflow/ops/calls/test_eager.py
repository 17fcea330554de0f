"""Functions of arrays that have values are computed by one program, and give what they give otherwise."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax.tensorflow.ops.calls import _eager
from tools.trips import Counter

UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor",
    "is_finite", "is_inf", "is_nan", "log", "log1p", "logical_not", "negative", "reciprocal", "rint", "round",
    "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "reduce_all", "reduce_any",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
]  # fmt: skip
BINARY = [
    "add", "atan2", "divide", "divide_no_nan", "equal", "greater", "greater_equal", "less", "less_equal",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "not_equal", "pow",
    "subtract", "squared_difference",
]  # fmt: skip
OF_FEATURES = [
    "elu", "leaky_relu", "log_softmax", "relu", "relu6", "softplus",
]  # fmt: skip


def called_as_always(function, *args, **kwargs):
    """What a function gives if no program computes it, and the error that it raises otherwise."""
    array, _eager.Jax.array = _eager.Jax.array, type(None)
    try:
        return result_of(function, *args, **kwargs)
    finally:
        _eager.Jax.array = array


def result_of(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError, tf.errors.OpError) as error:
        return type(error), str(error)


def same(first, second):
    if isinstance(first, tuple) or isinstance(second, tuple):
        return first == second
    kinds = [(made.dtype, made.weak_type, tuple(made.shape), made.committed) for made in (first, second)]
    return kinds[0] == kinds[1] and np.asarray(first).tobytes() == np.asarray(second).tobytes()


def operands(dtype):
    """Two arrays whose shapes fit, of numbers that are usual, and of some that are not."""
    draw = np.random.default_rng(7)
    usual = draw.normal(size=(2, 5, 7)) * (1 if np.dtype(dtype).kind != "i" else 10)
    rare = (
        np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
        if np.dtype(dtype).kind == "f"
        else np.arange(7)
    )
    first = np.concatenate([usual[0], rare[None]]).astype(dtype)
    return jnp.asarray(first), jnp.asarray(np.concatenate([usual[1], rare[None, ::-1]]).astype(dtype))


def computes_at_once(function, *args, **kwargs):
    """Whether a program computes it."""
    function(*args, **kwargs)
    with Counter() as counter:
        function(*args, **kwargs)
    return not any("_keras_ops" in file for file, _ in counter.calls)


@pytest.mark.exact
@pytest.mark.parametrize("name", [*UNARY, *BINARY, *(f"nn.{name}" for name in OF_FEATURES)])
def test_a_program_gives_the_same_bits(name):
    function = tf
    for part in (name if hasattr(tf, name.split(".")[0]) else f"math.{name}").split("."):
        function = getattr(function, part)
    for dtype in ("float32", "int32", "bool"):
        given = operands(dtype)[: 2 if name in BINARY else 1]
        assert same(result_of(function, *given), called_as_always(function, *given))


@pytest.mark.exact
@pytest.mark.parametrize("name", BINARY)
def test_a_number_beside_an_array_gives_the_same_bits(name):
    function = getattr(tf, name, None) or getattr(tf.math, name)
    for dtype in ("float32", "int32"):
        array = operands(dtype)[0]
        for number in (-0.0, 0.3, 2.0, 2, 2**30 + 1):
            given = (array, number) if name != "subtract" else (number, array)
            assert same(result_of(function, *given), called_as_always(function, *given)), (dtype, number)
    assert computes_at_once(function, operands("float32")[0], 0.3) == (name != "pow")


@pytest.mark.parametrize("array", [np.ones(3, "int8"), np.ones(3, "uint8"), np.ones(3, bool)])
def test_a_number_beside_an_array_of_few_bits_stays_what_it_is(array):
    given = jnp.asarray(array), 2
    assert not computes_at_once(tf.multiply, *given)
    assert same(tf.multiply(*given), called_as_always(tf.multiply, *given))


def test_a_number_beside_an_array_has_its_dtype_also_where_arrays_have_64_bits():
    array = jnp.ones(3, "float32")
    assert tf.maximum(array, 0.3).dtype == "float32"
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        assert [tf.maximum(array, number).dtype for number in (0.3, 2)] == ["float32", "float32"]
    finally:
        jax.config.update("jax_enable_x64", before)


MATRIX = np.asarray([[1, -2, 3], [4, 5, -6]], np.float32)


@pytest.mark.exact
@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (tf.clip_by_value, (MATRIX, 0.0, 4), {}),
        (tf.clip_by_value, (MATRIX.astype("int32"), -1, 4), {}),
        (tf.clip_by_value, (MATRIX,), {"clip_value_min": 5.0, "clip_value_max": -0.5}),
        (tf.clip_by_value, (MATRIX, MATRIX[0], 4.5), {}),
        (tf.einsum, ("ij,kj->ik", MATRIX, MATRIX), {}),
        (tf.einsum, ("ij,kj,kl->l", MATRIX, MATRIX, MATRIX), {"name": "product"}),
        (tf.einsum, ("...j->...", MATRIX), {"optimize": "optimal"}),
        (tf.einsum, ("ij,kj->ik", MATRIX.astype("int8"), MATRIX.astype("int8")), {}),
        (tf.gather, (MATRIX, np.asarray([[1, 0]], "int32")), {}),
        (tf.gather, (MATRIX, np.asarray([2, 2], "uint8")), {"axis": -1}),
        (tf.one_hot, (np.asarray([[0, 2], [5, -1]], "int32"), 4), {}),
        (tf.one_hot, (np.asarray([0, 2], "int32"), 3, 5, -1, 0), {}),
        (tf.one_hot, (np.asarray([0, 2], "int32"), 3), {"on_value": 0.5, "dtype": tf.float16}),
        (tf.pad, (MATRIX, [[1, 0], (2, 3)]), {}),
        (tf.pad, (MATRIX, [[1, 0], [2, 3]]), {"constant_values": -0.0}),
        (tf.pad, (MATRIX, [[0, 1], [2, 1]], "reflect"), {}),
    ],
)
def test_functions_with_options_give_the_same_bits(function, args, kwargs):
    given = [jnp.asarray(each) if isinstance(each, np.ndarray) else each for each in args]
    assert computes_at_once(function, *given, **kwargs)
    assert same(function(*given, **kwargs), called_as_always(function, *given, **kwargs))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (tf.clip_by_value, (MATRIX, "low", 1.0)),
        (tf.clip_by_value, (MATRIX.astype("int32"), 0, 2**40)),
        (tf.einsum, ("ij,jk->ik", MATRIX, MATRIX)),
        (tf.einsum, (3, MATRIX)),
        (tf.gather, (MATRIX, [2])),
        (tf.gather, (MATRIX, np.asarray([0.5], "float32"))),
        (tf.gather, (MATRIX, [2**40])),
        (tf.one_hot, (np.asarray([1], "int32"), -1)),
        (tf.pad, (MATRIX, [[1, 0]])),
        (tf.pad, (MATRIX, [[1, 0], [-1, 0]])),
    ],
)
def test_functions_with_options_refuse_what_they_refuse_otherwise(function, args):
    given = [jnp.asarray(each) if isinstance(each, np.ndarray) else each for each in args]
    made = result_of(function, *given)
    assert isinstance(made, tuple)
    assert made == called_as_always(function, *given)


def test_what_an_option_is_worth_is_looked_at_in_each_call():
    class Value:
        def __init__(self, number):
            self.number = number

        def __jax_array__(self):
            return jnp.asarray(self.number)

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.number, dtype)

    variable, value = keras.Variable(2.0), Value(2.0)
    for number in (2.0, 3.0):
        variable.assign(number)
        value.number = number
        for given in (variable, value):
            assert tf.one_hot(jnp.asarray([1]), 2, given).tolist() == [[0.0, number]]
            assert tf.pad(jnp.ones(1), [[0, 1]], constant_values=given).tolist() == [1.0, number]
    matrix = jnp.ones((1, 1))
    signs = [np.signbit(tf.pad(matrix, [[0, 0], [1, 0]], constant_values=zero)[0, 0]) for zero in (0.0, -0.0)]
    assert signs == [False, True]


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (tf.reduce_sum, (), {"axis": 1}),
        (tf.reduce_sum, ([0, 1],), {}),
        (tf.reduce_max, (-1, True), {"name": "largest"}),
        (tf.reduce_mean, (None, False, "mean"), {}),
        (tf.nn.softmax, (), {"axis": 0}),
        (tf.nn.leaky_relu, (0.5,), {}),
    ],
)
def test_options_are_a_part_of_the_program(function, args, kwargs):
    given = operands("float32")[0][:3]
    assert computes_at_once(function, given, *args, **kwargs)
    expected = called_as_always(function, given, *args, **kwargs)
    np.testing.assert_allclose(function(given, *args, **kwargs), expected, rtol=1e-6)


def test_options_that_are_equal_may_be_different():
    matrix = jnp.asarray([[1.0, 2.0], [3.0, 5.0]])
    assert [tf.nn.leaky_relu(-matrix, alpha).tolist()[0] for alpha in (1, 1.0, 0)] == [
        [-1, -2],
        [-1, -2],
        [0, 0],
    ]
    assert tf.matmul(matrix, matrix, False, True).tolist() == (matrix @ matrix.T).tolist()
    assert tf.matmul(matrix, matrix, transpose_a=True).tolist() == (matrix.T @ matrix).tolist()


def test_operands_may_be_named():
    first, second = operands("float32")
    assert computes_at_once(tf.add, x=first, y=second)
    assert computes_at_once(tf.add, first, y=second, name="sum")
    assert same(tf.subtract(y=first, x=second), second - first)


@pytest.mark.parametrize(
    "operand",
    [
        np.ones(7, np.float32),
        np.float32(2),
        True,
        jnp.ones(7, "bfloat16"),
        [1.0] * 7,
        keras.Variable(np.ones(7)),
    ],
)
def test_other_operands_are_computed_as_always(operand):
    first = operands("float32")[0]
    assert not computes_at_once(tf.multiply, first, operand)
    np.testing.assert_array_equal(tf.multiply(first, operand), first * jnp.asarray(np.asarray(operand)))


@pytest.mark.parametrize("name", ["matmul", "nn.relu", "nn.softmax", "nn.leaky_relu", "linalg.matvec"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_arrays_of_numpy_that_go_to_a_device_are_computed_at_once(name, dtype):
    function = tf
    for part in name.split("."):
        function = getattr(function, part)
    matrix = np.asarray([[1, 2], [0, 3]], dtype)
    given = {"matmul": (matrix, matrix), "linalg.matvec": (matrix, matrix[0])}.get(name, (matrix,))
    if name == "nn.softmax" and dtype in ("int32", "bool"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Logits are floating-point"):
            function(*given)
        return
    assert computes_at_once(function, *given)
    made, always = function(*given), called_as_always(function, *given)
    assert (made.dtype, tuple(made.shape)) == (always.dtype, tuple(always.shape))
    np.testing.assert_allclose(made, always, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int64", "float16", "int16"])
def test_arrays_of_numpy_whose_numbers_are_looked_at_are_computed_as_always(dtype):
    matrix = np.ones((2, 2), dtype)
    assert not computes_at_once(tf.matmul, matrix, matrix)
    assert tf.matmul(matrix, matrix).tolist() == [[2, 2], [2, 2]]


def test_a_number_that_does_not_fit_a_device_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not fit into the 32 bits"):
        tf.matmul(np.full((2, 2), 2**40), np.ones((2, 2), np.int64))


def test_an_array_that_changes_later_has_been_read():
    for _ in range(3):
        matrix = np.ones((1000, 1000), np.float32)
        rows = np.zeros(1000, np.int32)
        made = [tf.nn.relu(matrix), tf.nn.softmax(matrix), tf.matmul(matrix, matrix)]
        made += [tf.einsum("ij->ij", matrix), tf.gather(tf.range(1.0, 3.0), rows)]
        matrix[:] = np.arange(1000)
        rows[:] = 1
        assert [float(np.asarray(each).max()) for each in made] == pytest.approx([1, 0.001, 1000, 1, 1])
        assert [float(np.asarray(each).min()) for each in made] == pytest.approx([1, 0.001, 1000, 1, 1])


def test_a_function_of_a_pipeline_computes_on_the_host():
    def multiply(matrix):
        made = tf.matmul(matrix, matrix)
        assert isinstance(made, np.ndarray)
        return made

    dataset = tf.data.Dataset.from_tensors(np.eye(2, dtype=np.float32)).map(multiply)
    assert next(iter(dataset)).numpy().tolist() == [[1, 0], [0, 1]]


def test_an_operation_that_is_followed_is_no_program_of_its_own():
    x = jnp.asarray([1.0, -2.0, 3.0])
    tf.nn.relu(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.nn.relu(x) * x)
    assert tape.gradient(y, x).tolist() == [2.0, 0.0, 6.0]
    assert jax.grad(lambda x: tf.reduce_sum(tf.square(x)))(x).tolist() == [2.0, -4.0, 6.0]
    assert "compute" not in str(jax.make_jaxpr(lambda: tf.add(x, x))())


def test_what_a_function_refuses_it_says_itself():
    first, second = jnp.ones(2), jnp.ones(3)
    refused = result_of(tf.add, first, second)
    assert refused[0] is tf.errors.InvalidArgumentError or issubclass(refused[0], ValueError)
    assert refused == called_as_always(tf.add, first, second)
    assert result_of(tf.reduce_sum, first, axis=3) == called_as_always(tf.reduce_sum, first, axis=3)
    assert result_of(tf.reduce_sum, first, axis="x") == called_as_always(tf.reduce_sum, first, axis="x")
    assert result_of(tf.add, first, second=1) == called_as_always(tf.add, first, second=1)


def test_the_default_dtype_is_a_part_of_the_program():
    given = jnp.asarray([1, 2])
    kinds = []
    before = keras.config.floatx()
    try:
        for kind in ("float32", "float16", "float32"):
            keras.config.set_floatx(kind)
            kinds.append(str(tf.math.divide(given, given).dtype))
            assert same(tf.math.divide(given, given), called_as_always(tf.math.divide, given, given))
    finally:
        keras.config.set_floatx(before)
    assert kinds[0] == kinds[2]


def test_ever_new_options_are_not_kept(monkeypatch):
    given = jnp.asarray([-1.0, 1.0, -2.0])
    monkeypatch.setattr(_eager, "_MOST", 1)
    for number in (5, 7, 9):
        assert tf.nn.leaky_relu(given, number).tolist() == [-number, 1.0, -2 * number]
    assert not computes_at_once(tf.nn.leaky_relu, given, 9)


def test_a_device_that_is_chosen_computes():
    first, devices = jnp.ones(3), jax.devices("cpu")
    with tf.device(f"CPU:{len(devices) - 1}"):
        assert tf.add(first, first).devices() == called_as_always(tf.add, first, first).devices()


MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
IMAGES = np.random.default_rng(3).normal(size=(2, 6, 6, 3))
KERNEL = np.random.default_rng(4).normal(size=(3, 3, 3, 4))


def tensors(*values):
    return [tf.constant(value, tf.float32) for value in values]


@pytest.mark.exact
@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.gather_nd(*tensors(MATRIX), [[0, 1], [1, 2]]),
        lambda: tf.gather_nd(*tensors(MATRIX), tf.constant([[1]])),
        lambda: tf.gather_nd(*tensors(MATRIX), [[2, 0]]),
        lambda: tf.gather_nd(*tensors(MATRIX), tf.constant([[0, -1]])),
        lambda: tf.scatter_nd([[1], [3], [1]], tf.constant([1.0, 2.0, 4.0]), [5]),
        lambda: tf.scatter_nd(tf.constant([[1], [5]]), tf.constant([1.0, 2.0]), [5]),
        lambda: tf.tensor_scatter_nd_add(*tensors(MATRIX), [[0, 0], [0, 0]], tf.constant([1.0, 2.0])),
        lambda: tf.tensor_scatter_nd_update(*tensors(MATRIX), [[0, 3]], tf.constant([1.0])),
        lambda: tf.tensor_scatter_nd_update(*tensors(MATRIX), [[0], [1, 2]], tf.constant([1.0])),
        lambda: tf.math.unsorted_segment_max(*tensors(MATRIX), [2, -1], 4),
        lambda: tf.math.unsorted_segment_mean(*tensors(MATRIX), tf.constant([1, 1]), 2),
        lambda: tf.math.unsorted_segment_sum(*tensors(MATRIX), tf.constant([1, 2]), 2),
        lambda: tf.math.segment_sum(*tensors(MATRIX), tf.constant([1, 1])),
        lambda: tf.math.segment_mean(*tensors(MATRIX), [0, 2]),
        lambda: tf.math.segment_sum(*tensors(MATRIX), tf.constant([1, 0])),
        lambda: tf.linalg.band_part(*tensors(MATRIX), 0, -1),
        lambda: tf.linalg.band_part(*tensors(MATRIX), 3, 0),
        lambda: tf.linalg.diag(*tensors([1.0, 2.0]), k=1),
        lambda: tf.linalg.diag(*tensors(MATRIX), name="diagonals"),
        lambda: tf.linalg.diag_part(*tensors(MATRIX), k=(-1, 0)),
        lambda: tf.linalg.set_diag(*tensors(MATRIX, [7.0, 8.0])),
        lambda: tf.linalg.set_diag(*tensors(MATRIX, [7.0])),
        lambda: tf.argmax(*tensors(MATRIX), 1),
        lambda: tf.argmin(*tensors(MATRIX), output_type=tf.int32),
        lambda: tf.concat(tensors(MATRIX, MATRIX), 1),
        lambda: tf.concat([*tensors(MATRIX), tf.constant([[1, 2, 3]])], 0),
        lambda: tf.concat([*tensors(MATRIX), [[7.0, 8.0, 9.0]]], 0),
        lambda: tf.concat([], 0),
        lambda: tf.stack(tensors([1.0], [2.0]), 1),
        lambda: tf.stack([1, 2]),
        lambda: tf.stack((tf.constant(1), 2)),
        lambda: tf.nn.bias_add(*tensors(MATRIX, [1.0, 2.0, 3.0])),
        lambda: tf.nn.bias_add(*tensors(MATRIX, [1.0, 2.0])),
        lambda: tf.nn.conv2d(*tensors(IMAGES, KERNEL), 2, "SAME"),
        lambda: tf.nn.conv2d(*tensors(IMAGES, KERNEL), 2, "SOME"),
        lambda: tf.nn.conv2d_transpose(*tensors(IMAGES[..., :1], KERNEL[..., :1]), [2, 12, 12, 3], 2),
        lambda: tf.nn.depthwise_conv2d(*tensors(IMAGES, KERNEL[..., :1]), [1, 1, 1, 1], "VALID"),
        lambda: tf.nn.max_pool2d(*tensors(IMAGES), 2, 2, "VALID"),
        lambda: tf.nn.avg_pool2d(*tensors(IMAGES), 3, 2, "SAME"),
        lambda: tf.nn.l2_loss(*tensors(MATRIX)),
    ],
)
def test_a_program_of_lists_and_of_values_that_are_looked_at_gives_the_same(call):
    expected = called_as_always(call)
    # Once more with a program that is there.
    for found in (result_of(call), result_of(call)):
        assert type(found) is type(expected)
        assert same(found, expected)


def test_values_that_are_wrong_are_told_of_each_time():
    values, right = tf.constant(MATRIX), tf.constant([[0, 1]])
    for _ in range(2):
        assert tf.gather_nd(values, right).numpy() == [2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices"):
            tf.gather_nd(values, tf.constant([[0, 3]]))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: tf.random.normal([3], 1.0, 2.0),
        lambda: tf.random.uniform([2, 2]),
        lambda: tf.random.uniform([3], 0, 10, tf.int32),
        lambda: tf.random.truncated_normal([4]),
        lambda: tf.random.normal([2], dtype=tf.bfloat16),
    ],
)
def test_numbers_are_drawn_by_one_program_as_one_after_the_other(draw, monkeypatch):
    tf.random.set_seed(3)
    found = [draw() for _ in range(3)]
    tf.random.set_seed(3)
    monkeypatch.setattr("stratax.tensorflow.ops.random.random.is_at_once", lambda: False)
    expected = [draw() for _ in range(3)]
    assert all(map(same, found, expected))
    assert not np.array_equal(found[0], found[1])


@pytest.mark.parametrize(
    "call",
    [
        lambda matrix, whole: tf.gather_nd(matrix, [[0, 1]]),
        lambda matrix, whole: tf.scatter_nd([[0], [1]], matrix, [4, 3]),
        lambda matrix, whole: tf.math.unsorted_segment_sum(matrix, whole, 2),
        lambda matrix, whole: tf.math.segment_sum(matrix, whole),
        lambda matrix, whole: tf.linalg.band_part(matrix, 0, -1),
        lambda matrix, whole: tf.linalg.diag(matrix),
        lambda matrix, whole: tf.argmax(matrix, 1),
        lambda matrix, whole: tf.stack([matrix, matrix]),
        lambda matrix, whole: tf.nn.bias_add(matrix, matrix[0]),
        lambda matrix, whole: tf.random.normal([2]),
    ],
)
def test_what_is_done_at_once_takes_few_calls(call):
    (matrix,), whole = tensors(MATRIX), tf.constant([0, 1])
    call(matrix, whole)
    with Counter() as counter:
        call(matrix, whole)
    # One after the other they took 50 to 140.
    assert counter.row()[0] <= 48
