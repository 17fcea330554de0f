"""What iterating a Dataset gives in a program that imports `stratax.tf`: arrays and text with tensors' methods."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import stratax.tf as tf


def first(*arrays, batch=None):
    data = tf.data.Dataset.from_tensor_slices(arrays if len(arrays) > 1 else arrays[0])
    return next(iter(data if batch is None else data.batch(batch)))


def test_numbers_have_the_methods_of_tensors():
    image, label = first(np.ones((2, 3, 4), np.float32), np.arange(2))
    assert (image.shape.as_list(), image.get_shape().rank, label.shape) == ([3, 4], 2, [])
    assert (type(image.numpy()), type(label.numpy()), label.numpy()) == (np.ndarray, np.int64, 0)
    image.numpy()[:] = 7
    assert image.numpy().max() == 1
    image.set_shape([3, None])
    assert (f"{label:03d}", f"{image[0, 0]:.2f}", int(label), {label.ref(): 1}[label.ref()]) == (
        "000",
        "1.00",
        0,
        1,
    )


def test_text_is_bytes_with_the_methods_of_tensors():
    names, single = first(["a", "bc"], batch=2), first(["a", "bc"])
    assert (single, single.numpy(), type(single.numpy()), single.shape.rank) == (b"a", b"a", bytes, 0)
    assert (single.decode(), f"{single}", hash(single)) == ("a", "b'a'", hash(b"a"))
    assert [name.numpy().decode() for name in names] == ["a", "bc"]
    assert (type(names.numpy()), names[1].numpy(), names[:1].shape) == (np.ndarray, b"bc", [1])
    assert tf.strings.length(names).tolist() == [1, 2]
    assert tf.strings.join([single, "z"]) == b"az"


def test_elements_print_as_in_tensorflow():
    numbers, names = first(np.arange(2, dtype=np.int32), ["a", "b"], batch=2)
    assert str(numbers) == "tf.Tensor([0 1], shape=(2,), dtype=int32)"
    assert repr(numbers) == "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([0, 1], dtype=int32)>"
    assert str(names) == "tf.Tensor([b'a' b'b'], shape=(2,), dtype=string)"
    assert str(names[0]) == "tf.Tensor(b'a', shape=(), dtype=string)"
    assert repr(names[0]) == "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"
    assert f"{numbers}" == "[0 1]"


def test_elements_are_tensors_and_plain_arrays_are_none():
    number, name = first(np.arange(2), ["a", "b"])
    assert [tf.is_tensor(x) for x in (number, name, tf.constant(1), tf.Variable(1.0))] == [True] * 4
    assert [tf.is_tensor(x) for x in (number.numpy(), name.numpy(), np.ones(2), 1, "a")] == [False] * 5


def test_as_numpy_iterator_gives_plain_arrays():
    data = tf.data.Dataset.from_tensor_slices((np.zeros((2, 2)), ["a", "b"]))
    assert [list(map(type, element)) for element in data.as_numpy_iterator()] == [[np.ndarray, bytes]] * 2


def test_elements_are_pickled_and_become_datasets_again():
    element = first(np.arange(2), ["a", "b"], batch=2)
    again = tf.data.Dataset.from_tensor_slices(pickle.loads(pickle.dumps(element)))
    assert [(int(number), name.numpy()) for number, name in again] == [(0, b"a"), (1, b"b")]


def test_products_with_variables_have_gradients():
    x = first(np.ones((2, 3), np.float32))
    v = tf.Variable(2.0)
    for product in (lambda: x * v, lambda: v * x, lambda: x.numpy() * v, lambda: tf.ones([3]) * x * v):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(product())
        assert float(tape.gradient(y, v)) == 3


def test_cardinality_is_a_number_with_numpy():
    count = tf.data.Dataset.range(3).cardinality()
    assert (count, count.numpy(), type(count.numpy()), int(count) + 1) == (3, 3, np.int64, 4)
    assert (
        tf.data.experimental.cardinality(tf.data.Dataset.range(3).repeat()).numpy()
        == tf.data.INFINITE_CARDINALITY
    )
    assert list(range(count)) == [0, 1, 2]
    assert tf.constant(count).numpy() == 3


@pytest.mark.parametrize(
    "program", ["import stratax.data as data", "import stratax.tf as tf; data = tf.data"]
)
def test_elements_are_plain_unless_stratax_tf_is_imported(program):
    show = "print([type(x).__name__ for x in next(iter(data.Dataset.from_tensors(([1, 2], 'a', 1))))])"
    environment = {**os.environ, "STRATAX_SIMULATE": ""}
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{show}"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    plain = "['ndarray', 'bytes', 'int32']\n"
    assert done.stdout == (
        plain if "tf" not in program else "['ElementArray', 'TextScalar', 'ElementArray']\n"
    )
