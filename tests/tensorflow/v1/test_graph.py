"""What programs ask of TensorFlow 1's graph, and functions with its arguments."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.golden import layers_cases, layers_references
from tests.tensorflow.v1.steps import Step

compat = tf.compat.v1


def test_gradients():
    def body(scope, x):
        v = tf.get_variable("v", (), initializer=tf.ones_initializer())
        y = x * 3 * v.value
        assert tf.gradients(x, v) == [None]
        with pytest.raises(errors.BadArgumentError, match="stop_gradients is not supported"):
            tf.gradients(y, x, stop_gradients=[x])
        with pytest.raises(errors.BadArgumentError, match='must be "none" or "zero"'):
            tf.gradients(y, x, unconnected_gradients="one")
        zero = tf.gradients(x, v, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return tf.gradients(y, [x, v]), tf.gradients(y, x, grad_ys=[jnp.float32(2)]), zero

    assert Step(body)(np.float32(5)) == ([3, 15], [6], [0])


def test_names_of_tensors_and_scopes():
    def body(scope, x):
        graph = tf.get_default_graph()
        with graph.name_scope("a"):
            y = tf.identity(x, name="y")
        assert graph.get_tensor_by_name("a/y:0") is y
        assert graph.unique_name("a/y") == "a/y_1"
        with pytest.raises(errors.BadArgumentError, match="refers to a Tensor which does not exist"):
            graph.get_tensor_by_name("b")
        with tf.variable_op_scope([x], None, "default") as entered:
            assert entered.name == "default"
        return x

    Step(body)(np.float32(5))
    with tf.name_scope("eager") as name:
        assert name == "eager/"


def test_outside_of_a_model_fn_the_graph_holds_what_was_added_and_no_variables():
    tf.reset_default_graph()
    tf.Variable(1.0)
    graph = tf.get_default_graph()
    assert tf.trainable_variables() == tf.global_variables() == tf.local_variables() == []
    tf.add_to_collection("mine", 1)
    assert graph.get_collection("mine") == tf.get_collection("mine") == [1]
    assert tf.get_default_session() is None
    assert not graph.building_function
    assert tf.function(lambda: tf.get_default_graph().building_function)()
    with graph.as_default() as entered:
        assert entered.get_collection_ref("mine") == [1]
    assert [graph.unique_name("a"), graph.unique_name("a")] == ["a", "a_1"]
    with graph.name_scope("s") as name:
        assert name == "s/"
    graph.finalize()
    tf.reset_default_graph()
    assert tf.get_collection("mine") == []


def test_a_seed_decides_first_values():
    def body(scope, x):
        tf.set_random_seed(7)
        tf.get_variable("v", (5,))
        found.append(tf.get_default_graph().seed)
        return x

    found = []
    first, second = Step(body, seed=1), Step(body, seed=2)
    first(np.float32(0))
    second(np.float32(0))
    assert set(found) == {7}
    assert (first.value("v") == second.value("v")).all()
    tf.set_random_seed(3)
    eager = tf.random_normal([3])
    tf.set_random_seed(3)
    # TensorFlow 2's seed is not the graph's.
    assert tf.get_default_graph().seed is None
    assert (eager == tf.random_normal([3])).all()


def test_print(capfd):
    def body(scope, x):
        return tf.Print(x, [x + 1], "values:")

    assert float(Step(body)(np.float32(4))) == 4
    assert "values: 5" in capfd.readouterr().err


def test_functions_have_their_older_arguments():
    x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
    assert compat.reduce_sum(x, reduction_indices=1, keep_dims=True).tolist() == [[3], [9]]
    assert compat.reduce_mean(x).item() == 3
    assert compat.argmax(x, dimension=1).tolist() == compat.argmax(x, 1, "name").tolist() == [1, 1]
    assert compat.argmin(x, 1).tolist() == [0, 0]
    assert compat.expand_dims(x, dim=0).shape == (1, 2, 2)
    assert compat.squeeze(compat.expand_dims(x, 0), squeeze_dims=[0]).shape == (2, 2)
    assert compat.norm(x, axis=1, keep_dims=True).shape == (2, 1)
    assert compat.gather(x, [1], axis=1).tolist() == [[2], [6]]
    assert np.asarray(compat.shape(x, "name")).tolist() == [2, 2]
    assert int(compat.size(x)) == 4
    np.testing.assert_allclose(compat.nn.softmax(x, dim=0).sum(0), 1, rtol=1e-6)
    np.testing.assert_allclose(compat.nn.log_softmax(x, dim=0), jnp.log(tf.nn.softmax(x, axis=0)), rtol=1e-5)
    assert set(np.unique(compat.nn.dropout(tf.ones([100]), keep_prob=0.5))) == {0, 2}
    for wrong in (
        lambda: compat.reduce_sum(x, 0, reduction_indices=1),
        lambda: compat.expand_dims(x, 0, dim=0),
    ):
        with pytest.raises(errors.BadArgumentError, match="is an older name of axis"):
            wrong()
    with pytest.raises(errors.BadArgumentError, match="needs rate or keep_prob"):
        compat.nn.dropout(x)


def test_functions_that_only_tensorflow_1_has():
    assert tf.to_float(tf.constant([1])).dtype == "float32"
    assert tf.to_int32(1.5).dtype == "int32"
    assert (tf.div(7, 2).item(), tf.div(7.0, 2.0).item(), tf.div(-7, 2).item()) == (3, 3.5, -4)
    assert tf.mod(-7, 3).item() == 2
    assert tf.add_n([tf.constant([1.0]), tf.constant([2.0])]).tolist() == [3]
    with pytest.raises(errors.BadArgumentError, match="at least one tensor"):
        tf.add_n([])
    assert tf.random_uniform([2], 1, 2).shape == tf.truncated_normal([2]).shape == (2,)
    assert tf.multinomial(tf.constant([[0.0, -100.0]]), 3).tolist() == [[0, 0, 0]]
    assert tf.log(tf.constant(1.0)).item() == 0


def test_no_gradient_reaches_labels_of_the_older_cross_entropy():
    def body(scope, x):
        new = tf.nn.softmax_cross_entropy_with_logits(x, x)
        old = compat.nn.softmax_cross_entropy_with_logits(labels=x, logits=x)
        second = compat.nn.softmax_cross_entropy_with_logits_v2(x, x)
        return [tf.gradients(loss, x)[0] for loss in (new, second, old)], old, new

    (new, second, old), *losses = Step(body)(np.float32([[0.2, 0.8]]))
    assert (np.asarray(new) == second).all()
    assert np.abs(np.asarray(new) - old).max() > 0.1
    assert losses[0] == losses[1]


def test_a_keras_constraint_and_tensorflow_1s_arguments_of_variables():
    def body(scope, x):
        made = tf.Variable(
            [1.0], name="v", constraint=keras.constraints.NonNeg(), validate_shape=False, use_resource=True
        )
        assert isinstance(made.constraint, keras.constraints.NonNeg)
        unit, own = keras.constraints.UnitNorm(), keras.constraints.NonNeg()
        with tf.variable_scope("s", constraint=unit), tf.variable_scope("t"):
            assert tf.get_variable("inherits", ()).constraint is unit
            assert tf.get_variable("has", (), constraint=own).constraint is own
            tf.layers.dense(np.ones((1, 2), np.float32), 1, bias_constraint=own)
        assert [v.constraint for v in tf.global_variables("s/t/dense")] == [unit, own]
        assert isinstance(compat.Variable(2.0, expected_shape=[], caching_device="/cpu:0"), tf.Variable)
        return x

    step = Step(body)
    step(np.float32(0))
    assert step.names[:1] + step.names[-1:] == ["v", "Variable"]
    assert v1.Variable(3.0).numpy() == 3


def test_settings_of_sessions_are_accepted():
    config = tf.ConfigProto(allow_soft_placement=True, gpu_options=tf.GPUOptions(allow_growth=True))
    config.graph_options.rewrite_options.memory = 1
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    assert tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0))
    assert (config.allow_soft_placement, config.gpu_options.allow_growth) == (True, True)
    assert config.graph_options.rewrite_options.memory == 1
    assert repr(tf.ConfigProto(a=1)) == "ConfigProto(a=1)"
    assert not hasattr(config, "__deepcopy__")


def test_losses_and_metrics_at_the_top_are_tensorflow_1s():
    assert tf.losses.softmax_cross_entropy is compat.losses.softmax_cross_entropy
    assert tf.metrics.accuracy is compat.metrics.accuracy


def test_messages(caplog):
    before = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.INFO)
        assert compat.logging.get_verbosity() == tf.logging.INFO
        tf.logging.info("step %d", 3)
        tf.logging.debug("not shown")
        tf.logging.warn("warned")
        tf.logging.log_if(tf.logging.ERROR, "no", False)
        tf.logging.error("%s", "wrong")
        tf.logging.fatal("very")
        tf.logging.log(tf.logging.WARN, "logged")
    finally:
        tf.logging.set_verbosity(before)
    assert caplog.messages == ["step 3", "warned", "wrong", "very", "logged"]


@pytest.mark.parametrize("key", layers_cases.NN)
def test_functions_on_weights_give_tensorflows_numbers(key):
    name, given = layers_cases.NN[key]
    result = getattr(compat.nn, name)(**given)
    expected = layers_references.VALUES[key]
    found = np.stack(result) if isinstance(result, tuple) else np.asarray(result)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_functions_on_weights_have_gradients_and_refuse_what_they_cannot_mean():
    image = layers_cases.inputs((1, 5, 5, 2))

    def body(scope, x):
        kernel = tf.get_variable("kernel", (3, 3, 2, 4))
        hidden = tf.nn.bias_add(
            tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME"), np.ones(4, np.float32)
        )
        hidden = tf.nn.max_pool(tf.nn.relu(hidden), 2, 2, "SAME") + tf.nn.avg_pool(hidden, 2, 2, "SAME")
        mean, variance = tf.nn.moments(hidden, [0, 1, 2])
        hidden = tf.nn.batch_normalization(hidden, mean, variance, None, None, 1e-3)
        return tf.gradients(tf.reduce_sum(hidden**2 * hidden), kernel)[0]

    gradient = np.asarray(Step(body)(image))
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 1e-4
    with pytest.raises(errors.BadArgumentError, match="strides says something of one, of 2 or of all 4"):
        tf.nn.conv2d(image, np.ones((1, 1, 2, 1), np.float32), [1, 2, 3], "SAME")
    # Row 1 of what is divided into two parts is the first row of the second.
    np.testing.assert_array_equal(tf.nn.embedding_lookup([image, image + 1], [1])[0], image[0] + 1)
    channels_first = np.moveaxis(image, -1, 1)
    kernel = np.ones((3, 3, 2, 4), np.float32)
    np.testing.assert_allclose(
        np.moveaxis(tf.nn.conv2d(channels_first, kernel, 2, "SAME", "NCHW"), 1, -1),
        tf.nn.conv2d(image, kernel, 2, "SAME"),
        rtol=1e-5,
    )
    assert tf.nn.max_pool(channels_first, [1, 1, 2, 2], [1, 1, 2, 2], "VALID", "NCHW").shape == (1, 2, 2, 2)


def named(body):
    """Run a model's function once; what it finds out is asserted within."""
    Step(body)(np.float32([[1, 2]]))


def test_tensors_have_names_operations_and_a_graph():
    def body(scope, x):
        scope.names.give_inputs([x])
        graph = tf.get_default_graph()
        assert graph is tf.get_default_graph()
        assert (x.name, x.op.name, x.graph is graph, x.op.graph is graph) == (
            *("IteratorGetNext:0", "IteratorGetNext"),
            *(True, True),
        )
        total = tf.reduce_sum(x, name="total")
        same = tf.identity(x, name="same")
        assert (total.name, same.name, same.op.outputs, x.name) == ("total:0", "same:0", [same], x.name)
        with tf.name_scope("around"):
            assert tf.identity(total, name="total").op.name == "around/total"
        # Nobody named these, but each has one name, and is found by it.
        made, other = x + 1.0, tf.square(x)
        assert made.name == made.name != other.name
        assert graph.get_tensor_by_name(made.name) is made
        assert graph.get_tensor_by_name("total:0") is total
        assert graph.get_operation_by_name("total") == total.op
        assert graph.as_graph_element("total") == total.op
        assert graph.as_graph_element("total:0") is total is graph.as_graph_element(total)
        made = tf.get_variable("w", (2,))
        assert graph.get_tensor_by_name("w:0") is made
        assert (made.op.name, made.op.type, made.graph is graph) == ("w", "VarHandleOp", True)
        assert {"w", "total", "same"} <= {operation.name for operation in graph.get_operations()}
        assert {"variables", "trainable_variables"} == set(graph.get_all_collection_keys())
        for find in (graph.get_tensor_by_name, graph.get_operation_by_name):
            with pytest.raises(KeyError, match="^The name 'nosuch' refers to"):
                find("nosuch")
        return x

    named(body)


def test_tensors_and_variables_have_tensorflows_dtypes():
    def body(scope, x):
        made = tf.get_variable("w", (2,))
        for dtype in (
            x.dtype,
            made.dtype,
            (x * made).dtype,
            tf.cast(x, tf.int32).dtype.base_dtype.real_dtype,
        ):
            assert dtype.base_dtype == dtype.name == dtype
            assert dtype.is_floating != dtype.is_integer
        assert x.dtype is tf.float32
        # Libraries and NumPy take it.
        assert np.zeros(2, x.dtype).dtype == jnp.zeros(2, made.dtype).dtype == np.float32
        assert keras.ops.cast(x, made.dtype).dtype == "float32"
        return x

    named(body)


def test_outside_of_a_model_arrays_have_no_names():
    assert not hasattr(tf.constant(1.0), "name")
    assert not hasattr(tf.constant(1.0), "op")


def test_sizes_are_dimensions_where_a_program_wants_tensorflow_1s():
    x = tf.zeros([2, 3])
    assert [dimension.value for dimension in x.shape.dims] == [2, 3]
    assert type(x.shape[1]) is int
    compat.disable_v2_tensorshape()
    try:

        def body(scope, x):
            dense = compat.layers.dense(x, 3)
            assert (x.shape[-1].value, dense.get_shape()[1].value, int(dense.shape[1])) == (2, 3, 3)
            assert dense.shape.as_list() == [1, 3]
            assert tf.reshape(dense, [dense.shape[1], 1]).shape == (3, 1)
            return tf.zeros([x.shape[1], x.shape[0].value])

        assert Step(body)(np.float32([[1, 2]])).shape == (2, 1)
        assert (tf.zeros([2, 3]).shape[1].value, repr(x.shape[0])) == (3, "Dimension(2)")
    finally:
        compat.enable_v2_tensorshape()
    assert type(x.shape[1]) is int


def test_gradients_in_a_function_are_those_of_what_it_has_computed():
    v = tf.Variable([2.0, 3.0])

    @tf.function
    def function(x, z):
        y = x * 2.0
        w = y * y
        of_variable = tf.gradients(tf.reduce_sum(v * v), [v], grad_ys=[tf.constant(2.0)])[0]
        unconnected = tf.gradients(w, [z])[0] is None
        zero = tf.gradients([w, y], [x], stop_gradients=[y], unconnected_gradients="zero")
        return of_variable, unconnected, zero[0], tf.gradients(w, [y, x])

    of_variable, unconnected, zero, both = function(tf.constant(3.0), tf.constant(1.0))
    assert of_variable.tolist() == [8, 12]
    assert (unconnected, float(zero), [float(each) for each in both]) == (True, 0.0, [12.0, 24.0])
    with pytest.raises(errors.ModelScopeError, match=r"of a tf\.function there is none"):
        tf.gradients(tf.constant(1.0), tf.constant(2.0))
