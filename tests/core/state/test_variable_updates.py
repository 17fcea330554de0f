"""What TensorFlow's variables do beside what Keras' do."""

import pytest

import stratax.tf as tf
from stratax import errors

UPDATES = {
    "scatter_add": [11.0, 2.0, 23.0],
    "scatter_sub": [-9.0, 2.0, -17.0],
    "scatter_mul": [10.0, 2.0, 60.0],
    "scatter_div": [0.1, 2.0, 0.15],
    "scatter_max": [10.0, 2.0, 20.0],
    "scatter_min": [1.0, 2.0, 3.0],
    "scatter_update": [10.0, 2.0, 20.0],
}


@pytest.mark.parametrize("name", UPDATES)
def test_rows_are_updated_eagerly(name):
    v = tf.Variable([1.0, 2.0, 3.0])
    slices = tf.IndexedSlices(tf.constant([10.0, 20.0]), tf.constant([0, 2]))
    assert getattr(v, name)(slices) is v
    assert v.numpy().tolist() == pytest.approx(UPDATES[name])


def test_rows_and_elements_are_updated_in_a_compiled_function():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tf.function
    def update(values, indices):
        v.scatter_add(tf.IndexedSlices(values, indices))
        v.scatter_nd_add([[0, 1], [0, 1]], [100.0, 200.0])
        v.scatter_nd_sub([[1]], [[1.0, 1.0]])
        v.batch_scatter_update(tf.IndexedSlices(tf.constant([[9.0], [8.0]]), tf.constant([[0], [1]])))
        v.scatter_nd_update(tf.constant([[1, 0]]), [7.0])
        return v.gather_nd([[0, 0], [1, 1]]), v.sparse_read([1])

    elements, rows = update(tf.constant([[1.0, 1.0], [1.0, 1.0]]), tf.constant([0, 0]))
    assert v.numpy().tolist() == [[9.0, 304.0], [7.0, 8.0]]
    assert (elements.tolist(), rows.tolist()) == ([9.0, 8.0], [[7.0, 8.0]])


@pytest.mark.parametrize("name", UPDATES)
def test_functions_of_tensorflow_1_update_rows(name):
    v = tf.Variable([1.0, 2.0, 3.0])
    getattr(tf, name)(v, [0, 2], [10.0, 20.0])
    assert v.numpy().tolist() == pytest.approx(UPDATES[name])


def test_references_are_keys():
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    table = {v.ref(): "v", w.experimental_ref(): "w"}
    assert (table[v.ref()], table[w.ref()], v.ref().deref() is v) == ("v", "w", True)
    assert v.ref() != w.ref()
    assert repr(v.ref()).startswith("<reference to ")


def test_what_a_variable_tells_of_itself():
    v = tf.Variable([1.0, 2.0])
    assert (v.is_initialized(), v.initializer, v.op is v) == (True, None, True)
    assert tuple(v.get_shape()) == (2,)
    assert v.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    v.set_shape([None])
    with pytest.raises(errors.BadArgumentError, match="keeps its shape"):
        v.set_shape([3])
    with pytest.raises(RuntimeError, match="does not keep its first value"):
        _ = v.initial_value
    v.load([3.0, 4.0])
    assert v.numpy().tolist() == [3.0, 4.0]


def test_counting_up_to_a_limit():
    v = tf.Variable(1)
    assert (v.count_up_to(3).item(), v.count_up_to(3).item(), int(v.numpy())) == (1, 2, 3)
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 3"):
        v.count_up_to(3)
    with pytest.raises(errors.TracingError, match="reaches a limit"):
        tf.function(lambda: v.count_up_to(9))()


@pytest.mark.parametrize("run", [lambda f: f(), lambda f: tf.function(f)()])
def test_a_part_of_a_variable_is_assigned(run):
    # Values of TensorFlow 2.21.
    variable = tf.Variable([[1.0, 2, 3], [4, 5, 6]])

    def step():
        variable[0].assign([7.0, 8, 9])
        variable[1, 2].assign(1.0)
        variable[:, 0].assign([1, 2])
        return variable[0, 0]

    assert float(run(step)) == 1.0
    assert variable.numpy().tolist() == [[1, 8, 9], [2, 5, 1]]
    assert variable[..., 1].assign([0.0, 0.0]) is variable


def test_what_is_no_part_of_a_variable_has_no_assign():
    assert not hasattr(tf.constant([1.0]), "assign")
    with pytest.raises(AttributeError, match="its values do not change"):
        _ = tf.constant([1.0])[0].assign
