"""`tf.Module`, and functions of graphs where there is none."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


class Dense(tf.Module):
    def __init__(self, size, name=None):
        super().__init__(name=name)
        self.size = size
        self.w = None
        self.b = tf.Variable(tf.zeros([size]), trainable=False)

    @tf.function
    def __call__(self, x):
        if self.w is None:
            self.w = tf.Variable(np.ones((x.shape[1], self.size), np.float32))
        return tf.matmul(x, self.w) + self.b


class Mlp(tf.Module):
    def __init__(self):
        super().__init__()
        with self.name_scope:
            self.layers = [Dense(2, name="first"), Dense(1, name="second")]
        self.heads = {"one": Dense(1), "number": 3}
        self.alpha = tf.Variable(1.0)
        self.back = self.layers[0]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.heads["one"](x) * self.alpha


@pytest.fixture(scope="module")
def mlp():
    module = Mlp()
    module(tf.ones([3, 4]))
    return module


def test_variables_are_those_of_attributes_and_then_of_modules(mlp):
    first, second, head = *mlp.layers, mlp.heads["one"]
    expected = [mlp.alpha, first.b, first.w, head.b, head.w, second.b, second.w]
    assert list(map(id, mlp.variables)) == list(map(id, expected))
    assert list(map(id, mlp.trainable_variables)) == list(map(id, expected[:1] + expected[2::2]))
    assert list(map(id, mlp.non_trainable_variables)) == list(map(id, expected[1::2]))
    assert mlp.submodules == (first, head, second)


def test_names_are_those_of_classes_and_scopes(mlp):
    assert (mlp.name, mlp.layers[0].name, mlp.heads["one"].name) == ("mlp", "first", "dense")
    with mlp.layers[0].name_scope as name:
        assert name == "mlp/first/"
    with pytest.raises(errors.BadArgumentError, match="identifier of Python"):
        tf.Module(name="a b")


def test_methods_may_enter_the_name_scope():
    class Named(tf.Module):
        @tf.Module.with_name_scope
        def make(self):
            """Make it."""
            return tf.Variable(1.0, name="v")

    module = Named(name="here")
    assert module.make().path == "here/v"
    assert module.make().path == "here/v"
    assert Named.make.__doc__ == "Make it."


def test_a_checkpoint_saves_the_variables_by_the_attributes_names(mlp, tmp_path):
    mlp.optimizer = keras.optimizers.SGD(0.1)
    path = tf.train.Checkpoint(model=mlp).write(str(tmp_path / "saved"))
    names = [name for name, _ in tf.train.list_variables(path)]
    assert {"model/alpha", "model/layers/0/w", "model/heads/one/b"} <= set(names)
    other = Mlp()
    other(tf.ones([3, 4]))
    mlp.alpha.assign(5.0)
    tf.train.Checkpoint(model=mlp).write(path)
    other.optimizer = keras.optimizers.SGD(0.2)
    tf.train.Checkpoint(model=other).read(path)
    assert other.alpha.numpy() == 5.0
    assert other.optimizer.learning_rate.numpy() == pytest.approx(0.1)


def test_gradients_of_a_modules_variables(mlp):
    mlp.alpha.assign(1.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(mlp(tf.ones([3, 4])))
    gradients = tape.gradient(loss, mlp.trainable_variables)
    assert [gradient.shape for gradient in gradients] == [(), (4, 2), (1, 1), (2, 1)]
    assert gradients[0].item() == 24.0


def test_name_scopes_nest_and_can_be_entered_again():
    scope = tf.name_scope("inner")
    with tf.name_scope("outer") as outer:
        with scope as first, tf.name_scope("/".join(["a", ""])) as absolute:
            assert (outer, first, absolute) == ("outer/", "outer/inner/", "a/")
        with scope as again, tf.name_scope("") as root:
            assert (again, root) == ("outer/inner/", "")
        assert tf.Variable(1.0, name="v").path == "outer/v"
    with tf.compat.v1.name_scope(None, "default", []) as default:
        assert default == "default/"
    with pytest.raises(errors.BadArgumentError, match="must be a string"):
        tf.name_scope(3)


def test_operations_of_a_graph_are_none_where_there_is_no_graph():
    assert tf.no_op() is None
    assert tf.group(tf.constant(1), [tf.no_op()]) is None

    @tf.function
    def double(x):
        with tf.control_dependencies([tf.group(x), None]):
            return x * 2

    assert double(tf.constant(2)).item() == 4
    with pytest.raises(RuntimeError, match=r"tf\.GradientTape"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))
