"""Names of a `model_fn`'s tensors."""

import numpy as np

import stratax.tf as tf
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


def test_functions_name_their_results():
    def body(scope, x):
        tf.nn.softmax(x, name="softmax_tensor")
        tf.argmax(x, axis=1, name="classes")
        with v1.name_scope("below"):
            loss = tf.reduce_mean(x, name="loss")
            tf.identity(loss, "loss")
            tf.sigmoid(x)
            tf.add(x, 1, name="sum")
        tensors = scope.names.tensors()
        assert list(tensors) == ["softmax_tensor", "classes", "below/loss", "below/loss_1", "below/sum"]
        return tensors["softmax_tensor"], tensors["below/loss"]

    softmax, loss = Step(body)(np.float32([[0, 0]]))
    assert (softmax.tolist(), float(loss)) == ([[0.5, 0.5]], 0)
    # Nobody is told outside.
    assert tf.identity(tf.constant(1), name="eager").item() == 1


def test_a_tensor_without_a_name_gets_one_that_no_other_trace_has_to_have():
    def body(scope, x):
        made, given = x + 1, tf.identity(x, "given")
        assert scope.names.of(made) == scope.names.of(made) == "Tensor"
        assert scope.names.of(given) == "given"
        assert [scope.names.is_given(name) for name in ("given", "Tensor", "other")] == [True, False, False]
        with scope.names.scope("inner"):
            assert scope.names.path == "inner"
            assert scope.names.unique("x") == "inner/x"
        assert scope.names.path == ""
        return made

    assert float(Step(body)(np.float32(1))) == 2
