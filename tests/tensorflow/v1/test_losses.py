"""Losses and their gradients are TensorFlow's; what TensorFlow gave is in `tests/golden`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import losses
from tests.golden import v1_cases, v1_references
from tests.tensorflow.v1.test_scope import Step

REFERENCES = v1_references.read()
NAMES = sorted({key.split("|")[0] for key in v1_cases.LOSSES})


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_and_its_gradient_are_tensorflows(name):
    for key, (function, arguments, operand) in v1_cases.LOSSES.items():
        if key.split("|")[0] != name:
            continue
        rest = {other: value for other, value in arguments.items() if other != operand}

        def compute(x, function=function, rest=rest, operand=operand):
            loss = getattr(losses, function)(**rest, **{operand: x})
            return jnp.sum(loss), loss

        (_, loss), gradient = jax.value_and_grad(compute, has_aux=True)(jnp.asarray(arguments[operand]))
        wanted = REFERENCES[f"losses|{key}"]
        assert (loss.shape, loss.dtype) == (wanted.shape, "float32"), key
        np.testing.assert_allclose(loss, wanted, rtol=1e-5, atol=1e-6, err_msg=key)
        np.testing.assert_allclose(
            gradient, REFERENCES[f"losses|{key}|gradient"], rtol=1e-5, atol=1e-6, err_msg=key
        )


def gradient_of_replicas(loss_of, features, weights, kernel):
    """The loss and the gradient, each the mean over four replicas, as an Estimator's training step has them."""
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)])

    def step(x, w):
        with sx.GradientTape() as tape:
            tape.watch(kernel)
            loss = loss_of(x @ kernel, w)
        replica = sx.distribute.get_replica_context()
        return replica.all_reduce("mean", [loss, tape.gradient(loss, kernel)])

    dataset = sx.data.Dataset.from_tensor_slices((features, weights)).batch(len(features))
    element = next(iter(strategy.experimental_distribute_dataset(dataset)))
    run = strategy.extended.execution.call_for_each_replica
    loss, gradient = sx.function(lambda *args: run(step, args, {}, averages_gradients=True))(*element)
    return [np.asarray(part.values[0]) for part in (loss, gradient)]


@pytest.mark.parametrize("reduction", v1_cases.REDUCTIONS[1:])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_mean_of_replicas_is_one_devices(reduction, is_weighted):
    random = np.random.default_rng(1)
    features, weights = (
        random.normal(size=(8, 3)).astype("float32"),
        np.array([0, 1, 0, 0, 2, 3, 0.5, 0], "f4"),
    )
    kernel = jnp.asarray(random.normal(size=(3, 2)), "float32")

    def loss_of(outputs, w):
        # The weights depend on the parameters as well, which the gradient has to notice.
        given = w[:, None] * jnp.sum(outputs**2, 1, keepdims=True) if is_weighted else 3.0
        return losses.absolute_difference(jnp.ones_like(outputs), outputs, given, reduction=reduction)

    wanted = jax.value_and_grad(lambda k: loss_of(features @ k, weights))(kernel)
    found = gradient_of_replicas(loss_of, features, weights, kernel)
    for own, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)


def test_a_pairwise_loss_of_replicas_is_one_devices():
    random = np.random.default_rng(1)
    features, weights = random.normal(size=(8, 3)).astype("float32"), np.ones(8, "float32")
    kernel = jnp.asarray(random.normal(size=(3, 2)), "float32")

    def loss_of(outputs, w):
        return losses.mean_pairwise_squared_error(jnp.ones_like(outputs), outputs, w[:, None])

    wanted = jax.value_and_grad(lambda k: loss_of(features @ k, weights))(kernel)
    for own, other in zip(gradient_of_replicas(loss_of, features, weights, kernel), wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5)


def traced(body):
    """What a body gives in a model scope."""
    step = Step(lambda scope: body(scope))
    return step()


def test_a_model_function_collects_its_losses():
    def body(scope):
        first = losses.mean_squared_error([1.0], [3.0])
        with v1.name_scope("head"):
            second = losses.absolute_difference([1.0], [2.0], scope="own")
        losses.hinge_loss([1.0], [3.0], loss_collection=None)
        losses.add_loss(jnp.asarray(0.5))
        scope.collections.add("regularization_losses", jnp.asarray(10.0))
        assert [loss is found for loss, found in zip((first, second), losses.get_losses()[:2], strict=True)]
        assert len(losses.get_losses()) == 3
        assert len(losses.get_losses(scope="head/")) == 1
        assert len(losses.get_regularization_losses()) == 1
        assert {
            "mean_squared_error/value",
            "head/own/value",
            "hinge_loss/value",
        } <= scope.names.tensors().keys()
        own = losses.get_losses(scope="head/own")[0]
        totals = losses.get_total_loss(), losses.get_total_loss(add_regularization_losses=False)
        assert {"total_loss", "total_loss_1"} <= scope.names.tensors().keys()
        return own, *totals, losses.get_regularization_loss()

    assert [float(value) for value in traced(body)] == [1.0, 15.5, 5.5, 10.0]


def test_without_losses_there_is_no_total():
    def body(scope):
        assert losses.get_regularization_losses() == []
        with pytest.raises(ValueError, match="There is no loss to add up"):
            losses.get_total_loss()
        return losses.get_regularization_loss()

    assert float(traced(body)) == 0.0


def test_losses_are_collected_in_a_model_function_only():
    losses.add_loss(1.0)
    with pytest.raises(errors.ModelScopeError, match="inside of a `model_fn`"):
        losses.get_losses()


def test_an_argument_that_is_missing_is_named():
    zeros = np.zeros((2, 3), np.float32)
    for call, name in (
        (lambda: losses.absolute_difference(None, zeros), "labels"),
        (lambda: losses.log_loss(zeros, None), "predictions"),
        (lambda: losses.hinge_loss(zeros, None), "logits"),
        (lambda: losses.sigmoid_cross_entropy(None, zeros), "multi_class_labels"),
        (lambda: losses.softmax_cross_entropy(None, zeros), "onehot_labels"),
        (lambda: losses.sparse_softmax_cross_entropy(None, zeros), "labels"),
        (lambda: losses.compute_weighted_loss(zeros, None), "weights"),
        (lambda: losses.mean_pairwise_squared_error(zeros, zeros, None), "weights"),
    ):
        with pytest.raises(ValueError, match=f"Argument `{name}` must not be None"):
            call()
    with pytest.raises(ValueError, match="must specify argument `axis`"):
        losses.cosine_distance(zeros, zeros)
    with pytest.raises(ValueError, match="both 'axis' and 'dim'"):
        losses.cosine_distance(zeros, zeros, axis=1, dim=1)
    assert losses.cosine_distance(zeros, zeros, dim=1) == 1.0


def test_shapes_that_do_not_fit_are_named():
    zeros = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"Shapes \(3, 2\) and \(2, 3\) are incompatible"):
        losses.mean_squared_error(zeros, zeros.T)
    with pytest.raises(ValueError, match="weights can not be broadcast to values") as error:
        losses.mean_squared_error(zeros, zeros, weights=[1.0, 2.0])
    assert "values.shape=(2, 3)" in str(error.value)
    assert "weights.shape=(2,)" in str(error.value)
    with pytest.raises(ValueError, match="weights can not be broadcast"):
        losses.mean_squared_error(zeros, zeros, weights=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"Expected: labels.shape=\(2,\)"):
        losses.sparse_softmax_cross_entropy([1, 2, 0], zeros)


def test_a_reduction_is_one_of_the_known():
    with pytest.raises(ValueError, match="Invalid Reduction Key 'mean'"):
        losses.mean_squared_error([1.0], [2.0], reduction="mean")


def test_an_empty_batch_has_no_loss():
    empty = np.zeros((0, 3), np.float32)
    for reduction in v1_cases.REDUCTIONS[1:]:
        assert losses.mean_squared_error(empty, empty, reduction=reduction) == 0.0
