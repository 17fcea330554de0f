"""A step of a small network by `session.run`, as programs of TensorFlow 1 train."""

import jax
import jax.numpy as jnp
import numpy as np

import stratax as sx
import stratax.tf.compat.v1 as tf
from benchmarks import _measure

_SIZES = (64, 128, 10)
_BATCH = 128


def against_function(plan: _measure.Plan) -> _measure.Figure:
    """A step, against the same one in a compiled function; both hand over their batch and look at the loss."""
    rng = np.random.RandomState(0)
    images = rng.randn(_BATCH, _SIZES[0]).astype(np.float32)
    labels = np.eye(_SIZES[2], dtype=np.float32)[rng.randint(0, _SIZES[2], _BATCH)]
    first = [
        (0.1 * rng.randn(*shape)).astype(np.float32)
        for shape in (_SIZES[:2], _SIZES[1:2], _SIZES[1:], _SIZES[2:])
    ]
    times = _measure.in_turns(
        _by_session(images, labels, first), _by_function(images, labels, first), plan=plan
    )
    return _measure.ratio(*times, numerator="session", denominator="function")


def _by_session(images: np.ndarray, labels: np.ndarray, first: list[np.ndarray]) -> _measure.Run:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, _SIZES[0]])
        y = tf.placeholder(tf.float32, [None, _SIZES[2]])
        w1, b1, w2, b2 = map(tf.Variable, first)
        logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        initialize = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(initialize)

    def run(count: int) -> None:
        for _ in range(count):
            session.run([train, loss], {x: images, y: labels})

    return run


def _by_function(images: np.ndarray, labels: np.ndarray, first: list[np.ndarray]) -> _measure.Run:
    w1, b1, w2, b2 = variables = [sx.Variable(each) for each in first]

    def loss_of(x: jax.Array, y: jax.Array) -> jax.Array:
        logits = jax.nn.relu(x @ w1.value + b1.value) @ w2.value + b2.value
        return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(logits), axis=1))

    differentiate = sx.value_and_grad(loss_of, variables)

    @sx.function
    def step(x: jax.Array, y: jax.Array) -> jax.Array:
        loss, gradients = differentiate(x, y)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign(variable.value - 0.1 * gradient)
        return loss

    def run(count: int) -> None:
        for _ in range(count):
            np.asarray(step(images, labels))

    return run
