"""The methods of TensorFlow's tensors on arrays."""

import jax
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError, StrategyError, UnimplementedError
from stratax.tensorflow.ops.arrays import tensors


def test_numpy_gives_values_that_may_be_changed():
    x = tf.constant([[1, 2]])
    values = x.numpy()
    values[0, 0] = 7
    assert (type(values), values.dtype, x.numpy().tolist()) == (np.ndarray, np.int32, [[1, 2]])
    assert type(tf.constant(1.5).numpy()) is np.float32
    assert tf.zeros([2], tf.bfloat16).numpy().dtype == tf.bfloat16


def test_numpy_reads_no_array_of_which_others_have_parts():
    class Spread:
        shape, is_fully_addressable, is_fully_replicated = (4,), False, False
        sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])

    with pytest.raises(StrategyError, match=r"Other processes have parts.*shape \(4,\), on 1 devices"):
        tensors.numpy(Spread())


def test_shapes_are_those_of_tensorflow_in_and_out_of_functions():
    shapes = []

    @tf.function
    def note(x):
        x.set_shape([2, None])
        shapes.extend([x.shape, x.get_shape()])
        return tf.reshape(x, [-1, *x.shape[1:].as_list()])

    x = note(tf.ones([2, 3]))
    assert all(type(shape) is tf.TensorShape and shape.as_list() == [2, 3] for shape in (*shapes, x.shape))
    assert (repr(x.shape), str(x.shape), x.shape.rank, x.shape.num_elements()) == (
        "TensorShape([2, 3])",
        "(2, 3)",
        2,
        6,
    )


def test_set_shape_refuses_another_shape_in_and_out_of_functions():
    def use(x):
        x.set_shape([3])

    for call in (use, tf.function(use)):
        with pytest.raises(
            BadArgumentError, match=r"Expected: shape=\[3\]. Received: an array of shape \(2,\)"
        ):
            call(tf.ones([2]))


def test_references_stand_for_arrays_in_sets():
    x, y = tf.constant([1]), tf.constant([1])
    assert x.ref() == x.ref()
    assert x.ref() != y.ref()
    assert x.ref() != x
    assert {x.ref(): "x", y.ref(): "y"}[x.experimental_ref()] == "x"
    assert x.ref().deref() is x
    assert repr(x.ref()).startswith("<Reference wrapping ")


def test_a_value_that_is_not_there_yet_is_refused_with_what_to_do():
    with pytest.raises(AttributeError, match=r"value is known when the function runs.*tf\.print"):
        tf.function(lambda x: x.numpy())(tf.ones([2]))
    assert tf.function(lambda x: x * (2 if hasattr(x, "numpy") else 3))(tf.ones([1])).numpy().tolist() == [3]


@pytest.mark.parametrize("name", ["name", "op", "graph"])
def test_what_only_tensors_of_graphs_have_is_refused(name):
    for use in (lambda x: getattr(x, name), tf.function(lambda x: getattr(x, name), autograph=False)):
        with pytest.raises(AttributeError, match=f"Only the tensors of a graph have `{name}`"):
            use(tf.ones([2]))
    assert not hasattr(tf.ones([2]), name)


def test_tensors_of_a_datasets_functions_have_names():
    def named(x):
        message = f"{x.name} is wrong"
        with tf.control_dependencies([tf.debugging.Assert(x > 0, [message, tf.sqrt(x).name])]):
            return tf.identity(x)

    (found,) = tf.data.Dataset.from_tensors(4.0).map(named)
    assert float(found) == 4
    assert not hasattr(found, "name")


def test_sizes_in_a_list_may_be_computed_with_fractions():
    x = tf.zeros([12])

    def squared(x):
        side = tf.sqrt(tf.shape(x)[0] / 3)
        return tf.reshape(x, [side, side, -1])

    assert squared(x).shape == tf.function(squared)(x).shape == (2, 2, 3)
    for wrong in ([2.0, 6], np.float32([2, 6])):
        with pytest.raises(BadTypeError, match="must be whole numbers"):
            tf.reshape(x, wrong)


def test_sessions_and_consumers_are_refused():
    for x in (tf.ones([2]), next(iter(tf.data.Dataset.from_tensors([1.0, 2.0]).map(lambda x: x)))):
        if hasattr(x, "eval"):
            with pytest.raises(UnimplementedError, match=r"Write x\.numpy\(\)"):
                x.eval()
            with pytest.raises(NotImplementedError, match="Leave the call out"):
                x.consumers()


def test_gradients_pass_by_what_only_looks():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x * x)
        y.set_shape([])
        seen = y.numpy()
    assert (seen, tape.gradient(y, x).numpy().tolist()) == (5.0, [2.0, 4.0])


def test_symbolic_tensors_of_keras_have_shapes_of_tensorflow():
    x = keras.Input((4, 3))
    y = keras.layers.Dense(2)(x)
    assert (y.shape.as_list(), y.get_shape()[1:].num_elements(), repr(y.shape)) == (
        [None, 4, 2],
        8,
        "TensorShape([None, 4, 2])",
    )
    y.set_shape([None, 4, None])
    with pytest.raises(BadArgumentError, match="set_shape does not fit"):
        y.set_shape([None, 5, 2])
    with pytest.raises(AttributeError, match="value is known when the function runs"):
        y.numpy()
    # What is saved of a layer are plain tuples.
    assert type(keras.Model(x, y).layers[1].get_build_config()["input_shape"]) is tuple


def test_variables_of_keras_have_shapes_of_tensorflow_and_their_own_arithmetic():
    (kernel,) = keras.layers.Dense(2, use_bias=False).weights or [keras.Variable(np.ones((3, 2)))]
    assert (kernel.shape.as_list(), kernel.get_shape().rank, {kernel.ref(): 1}[kernel.ref()]) == (
        [3, 2],
        2,
        1,
    )
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(np.full((3, 2), 2.0, np.float32) * kernel)
    assert tape.gradient(y, kernel).numpy().tolist() == [[2, 2]] * 3
    with pytest.raises(AttributeError, match="immutable"):
        keras.KerasTensor((1,)).shape = (2,)


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda: tf.constant("a"), b"a"),
        (lambda: tf.constant(["a", "b"]), [b"a", b"b"]),
        (lambda: tf.strings.join(["a", "b"]), b"ab"),
        (lambda: tf.strings.split("a b"), [b"a", b"b"]),
        (lambda: tf.strings.length(["a", "bc"]), np.array([1, 2], np.int32)),
        (lambda: tf.gather(["a", "b"], 1), b"b"),
        (lambda: tf.size(tf.ones([2, 3])), np.int32(6)),
        (lambda: tf.shape(tf.ones([2, 3])), np.array([2, 3], np.int32)),
        (lambda: tf.shape(tf.ones([2, 3]))[1] * 2, np.int32(6)),
        (lambda: tf.rank(tf.ones([2, 3])), np.int32(2)),
        (lambda: tf.multiply(np.array([1.0]), 42), np.array([42.0])),
        (lambda: tf.unique(np.array([3, 3])).idx, np.array([0, 0], np.int32)),
        (lambda: tf.data.Dataset.range(4).reduce(np.int64(0), lambda x, y: x + y), np.int64(6)),
        (lambda: tf.io.parse_tensor(tf.io.serialize_tensor(np.float32(2)), tf.float32), np.float32(2)),
        (lambda: tf.io.decode_raw(b"\x01", tf.uint8), np.array([1], np.uint8)),
        (lambda: tf.io.decode_csv("1", [0])[0], np.int32(1)),
    ],
)
def test_what_is_computed_on_the_host_has_the_methods_too(make, value):
    x = make()
    values = x.numpy()
    assert type(values) is type(value) or value == values.tolist()
    assert getattr(values, "dtype", None) == getattr(value, "dtype", getattr(values, "dtype", None))
    np.testing.assert_array_equal(values, value)
    assert x.get_shape() == np.shape(value)
    assert tf.is_tensor(x)


def test_shapes_on_the_host_are_still_sizes():
    x = tf.ones([2, 3])
    rows, columns = tf.shape(x)
    assert (list(range(rows)), [0] * int(tf.size(x)), {rows: 1}[2]) == ([0, 1], [0] * 6, 1)
    assert tf.reshape(x, tf.shape(tf.ones([3, 2]))).shape == tf.zeros([columns, rows]).shape == (3, 2)
    assert keras.ops.zeros((rows, columns)).shape == jax.numpy.zeros(tf.shape(x)).shape == (2, 3)
    assert tf.reduce_sum(x, axis=tf.rank(x) - 1).shape == (2,)


def test_numbers_on_the_host_stay_plain_while_a_function_is_traced():
    kinds = []

    def note(x):
        kinds.append((type(tf.shape(x)), type(tf.size(x)), type(tf.constant("a"))))
        return x

    tf.function(note)(tf.ones([2]))
    list(tf.data.Dataset.from_tensors(np.ones(2)).map(note))
    text = type(tf.constant("a"))
    assert kinds == [(np.ndarray, np.int32, text), *kinds[1:]]
    # In a pipeline, too, numbers have TensorFlow's operators.
    assert set(kinds[1:]) == {(type(tf.shape(np.ones(2))), type(tf.size(np.ones(2))), text)}


def test_functions_that_are_called_back_see_tensors():
    assert tf.cond(tf.constant(True), lambda: tf.size(tf.ones([2])).numpy(), lambda: 0) == 2


def test_texts_with_methods_go_where_plain_text_goes():
    texts = [tf.constant("12"), tf.constant("b\0")]
    assert tf.constant(texts).numpy().tolist() == [b"12", b"b\0"]
    assert [x.numpy() for x in tf.data.Dataset.from_tensor_slices(texts)] == [b"12", b"b\0"]
    for value in (texts[0], texts):
        again = tf.io.parse_tensor(tf.io.serialize_tensor(value), tf.string)
        np.testing.assert_array_equal(again.numpy(), tf.constant(value).numpy())


def test_layers_of_keras_2_may_mark_what_they_compute():
    class Marking(keras.layers.Layer):
        def call(self, x):
            y = x + 1
            y._uses_learning_phase = True
            return y

    inputs = keras.Input((2,))
    assert keras.Model(inputs, Marking()(inputs)).predict(np.zeros((1, 2)), verbose=0).tolist() == [[1, 1]]
