"""Losses of TensorFlow 1: weighted, reduced, and collected in the `model_fn` that they are computed in (v1 layer).

On several replicas whose gradients are averaged, as in an Estimator's training, the mean over replicas of what each
returns is the loss of one device on all examples: sums are scaled by the number of replicas, and means divide by all
replicas' weights. TensorFlow averages the replicas' means, whatever their weights.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.distribute.replicas import ReplicaContext, sum_over_replicas, syncing_replicas
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.described import docstring, make_function, parameter, parameters_of
from stratax.tensorflow.ops.nn import nn
from stratax.tensorflow.v1._current import current, current_or_none
from stratax.tensorflow.v1._metric import ratio
from stratax.tensorflow.v1._weights import check_broadcastable, check_same_shape, squeeze

_LOSSES = "losses"
_REGULARIZATION_LOSSES = "regularization_losses"


class Reduction:
    """How weighted losses become one number, as `tf.compat.v1.losses.Reduction`.

    Attributes:
        AUTO: Keras' mean over the batch; for the losses of Keras that `tf.losses` has in TensorFlow 2.
        NONE: They stay as they are.
        SUM: Their sum.
        MEAN: Their sum divided by that of the weights.
        SUM_OVER_BATCH_SIZE: Their sum divided by their number.
        SUM_BY_NONZERO_WEIGHTS: Their sum divided by the number of weights that are not 0.
        SUM_OVER_NONZERO_WEIGHTS: Another name of the last.
    """

    AUTO = "sum_over_batch_size"
    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return all reductions."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise an error for what is no reduction.

        Raises:
            BadArgumentError: If `key` is none.
        """
        if key not in cls.all():
            raise BadArgumentError(
                f"Invalid Reduction Key {shown(key)}. Expected: an attribute of Reduction, one of {cls.all()}."
            )


@composite
def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Weigh and reduce losses, as `tf.compat.v1.losses.compute_weighted_loss`.

    Args:
        losses: Losses, shape `(batch, ...)`.
        weights: A scalar, or an array of the losses' rank, each dimension 1 or that of the losses.
        scope: The name scope of the loss.
        loss_collection: The collection that the loss is added to in a `model_fn`; None for none.
        reduction: An attribute of :class:`Reduction`.

    Returns:
        A scalar of the losses' dtype; with `Reduction.NONE`, an array of their shape. 0 where no weight counts.

    Raises:
        BadArgumentError: If the weights don't fit, or the reduction is none.

    Example:
        >>> from stratax.v1 import losses
        >>> float(losses.compute_weighted_loss([1.0, 2.0, 6.0], weights=[1.0, 1.0, 0.0]))
        1.5
    """
    Reduction.validate(reduction)
    _check_given(weights=weights)
    with _enter_name_scope(scope, "weighted_loss"):
        given = on_device(losses)
        # As in TensorFlow: losses of half precision are added up in float32.
        values, factors = given.astype(jnp.float32), on_device(weights).astype(jnp.float32)
        check_broadcastable(factors, values)
        graph, is_constant = current_or_none(), _is_constant(weights)

        def reduce_losses() -> Any:
            return _reduce(values, factors, reduction, is_constant=is_constant).astype(given.dtype)

        # One result of the trace: on several replicas it is made of more operations than on one.
        loss = reduce_losses() if graph is None else graph.values.as_one(reduce_losses)
        return _collect(loss, loss_collection, _TENSOR_NAMES[reduction])


_REDUCTION = Reduction.SUM_BY_NONZERO_WEIGHTS
_OF_LABELS = "A float32 scalar; with `Reduction.NONE`, an array of the labels' shape."
_DESCRIPTIONS = {
    "labels": "The truth.",
    "predictions": "Of the labels' shape.",
    "logits": "Of the labels' shape.",
    "weights": "As in :func:`compute_weighted_loss`.",
    "scope": "The name scope of the loss.",
    "loss_collection": "The collection that the loss is added to.",
    "reduction": "An attribute of :class:`Reduction`.",
}


def _loss(
    arguments: Mapping[str, str] | None = None,
    *,
    returns: str = _OF_LABELS,
    scope: str | None = None,
    order: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a loss of TensorFlow of a function that computes it for each element.

    It has that one's arguments and docstring, and beyond them those that losses share: `weights` behind the first
    ones, without defaults, and what is done with the loss at the end.

    Args:
        arguments: Descriptions of arguments, where they are not those that most losses have.
        returns: What it returns, for the docstring.
        scope: The name scope without a given one; by default the function's name.
        order: The names of all arguments, where they are not in that order.
    """

    def decorate(compute: Callable[..., Any]) -> Callable[..., Any]:
        own = parameters_of(compute)
        by_name = {
            **{each.name: each for each in own if each.default is each.empty},
            # TensorFlow has weights behind what must be given, and before what need not.
            "weights": parameter("weights", TensorLike, 1.0),
            **{each.name: each for each in own if each.default is not each.empty},
            "scope": parameter("scope", str | None, None),
            "loss_collection": parameter("loss_collection", str | None, _LOSSES),
            "reduction": parameter("reduction", str, _REDUCTION),
        }
        parameters = [by_name[each] for each in (order.split() if order else by_name)]
        described = {**_DESCRIPTIONS, **(arguments or {})}

        def call(given: dict[str, Any]) -> Any:
            weights, path = given.pop("weights"), given.pop("scope")
            collection, reduction = given.pop("loss_collection"), given.pop("reduction")
            # `compute_weighted_loss` enters the same one again, and makes no second name.
            with _enter_name_scope(path, scope or compute.__name__) as entered:
                return compute_weighted_loss(compute(**given), weights, entered, collection, reduction)

        sections: dict[str, str | Mapping[str, str]] = {
            "Args": {each.name: described[each.name] for each in parameters},
            "Returns": returns,
            "Raises": {"BadArgumentError": "If shapes don't fit, or an argument is None."},
        }
        doc = docstring(compute.__doc__ or "", sections)
        return composite(make_function(compute.__name__, compute.__module__, parameters, Any, doc, call))

    return decorate


@_loss()
def absolute_difference(labels: TensorLike, predictions: TensorLike) -> Any:
    """Return the mean absolute difference, as `tf.compat.v1.losses.absolute_difference`."""
    labels, predictions = _floats(labels, predictions)
    return jnp.abs(predictions - labels)


@_loss()
def mean_squared_error(labels: TensorLike, predictions: TensorLike) -> Any:
    """Return the mean squared difference, as `tf.compat.v1.losses.mean_squared_error`."""
    labels, predictions = _floats(labels, predictions)
    return jnp.square(predictions - labels)


@_loss({"delta": "Up to which difference it is half its square; beyond, it grows linearly."})
def huber_loss(labels: TensorLike, predictions: TensorLike, delta: float = 1.0) -> Any:
    """Return Huber's loss, as `tf.compat.v1.losses.huber_loss`."""
    labels, predictions = _floats(labels, predictions)
    difference = jnp.abs(predictions - labels)
    # What of the difference is squared; the rest counts linearly, so that both have one slope where they meet.
    quadratic = jnp.minimum(difference, delta)
    return 0.5 * quadratic * quadratic + delta * (difference - quadratic)


@_loss(
    {
        "labels": "The truth, from 0 to 1.",
        "predictions": "Probabilities, of the labels' shape.",
        "epsilon": "What is added to probabilities before their logarithm is taken.",
    }
)
def log_loss(labels: TensorLike, predictions: TensorLike, epsilon: float = 1e-7) -> Any:
    """Return the cross entropy of probabilities of yes and no, as `tf.compat.v1.losses.log_loss`."""
    labels, predictions = _floats(labels, predictions)
    return -labels * jnp.log(predictions + epsilon) - (1 - labels) * jnp.log(1 - predictions + epsilon)


@_loss({"labels": "0 or 1.", "logits": "Of the labels' shape; above 0 for a prediction of 1."})
def hinge_loss(labels: TensorLike, logits: TensorLike) -> Any:
    """Return the hinge loss, as `tf.compat.v1.losses.hinge_loss`."""
    labels, logits = _floats(labels, logits, "logits")
    # Labels of 0 and 1 are signs.
    return jax.nn.relu(1 - (2 * labels - 1) * logits)


@_loss(
    {
        "labels": "The truth, normalized.",
        "predictions": "Of the labels' shape, normalized.",
        "axis": "The dimension of the vectors.",
        "weights": "A scalar, or of the labels' rank with size 1 in `axis`.",
        "dim": "An older name of `axis`.",
    },
    returns="A float32 scalar; with `Reduction.NONE`, an array of the labels' rank with size 1 in `axis`.",
    scope="cosine_distance_loss",
    order="labels predictions axis weights scope loss_collection reduction dim",
)
def cosine_distance(
    labels: TensorLike, predictions: TensorLike, axis: int | None = None, dim: int | None = None
) -> Any:
    """Return 1 less the cosine of the angle between unit vectors, as `tf.compat.v1.losses.cosine_distance`."""
    if axis is not None and dim is not None:
        raise BadArgumentError(
            f"Cannot specify both 'axis' and 'dim'. Received: axis={shown(axis)}, dim={shown(dim)}. Leave out dim."
        )
    axis = dim if axis is None else axis
    if axis is None:
        raise BadArgumentError("You must specify argument `axis`: the dimension of the vectors.")
    labels, predictions = _floats(labels, predictions)
    # Both are taken for unit vectors; TensorFlow does not look at that, either.
    return 1 - jnp.sum(predictions * labels, axis, keepdims=True)


@composite
def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
) -> Any:
    """Return how differences within examples differ, as `tf.compat.v1.losses.mean_pairwise_squared_error`.

    For each example it is the mean, over pairs of its elements, of the squared difference between how far apart the
    two are in the labels and in the predictions. The losses of the examples are summed.

    Args:
        labels: The truth, shape `(batch, ...)`.
        predictions: Of the labels' shape.
        weights: A scalar, or of shape `(batch, 1, ...)`; others by the rules of :func:`compute_weighted_loss`.
        scope: The name scope of the loss.
        loss_collection: The collection that the loss is added to.

    Returns:
        A float32 scalar.

    Raises:
        BadArgumentError: If shapes don't fit, or an argument is None.
    """
    _check_given(weights=weights)
    with _enter_name_scope(scope, "mean_pairwise_squared_error"):
        labels, predictions = _floats(labels, predictions)
        factors = on_device(weights).astype(jnp.float32)
        check_broadcastable(factors, labels)
        differences = predictions - labels
        axes = tuple(range(1, differences.ndim))
        count = jnp.sum(_present(differences, factors), axes, keepdims=True)
        # The sum over all pairs of (d_i - d_j)^2 is 2 * n * sum(d^2) - 2 * sum(d)^2, so that no pairs are made.
        squares = jnp.sum(jnp.square(differences), axes, keepdims=True)
        square = jnp.square(jnp.sum(differences, axes, keepdims=True))
        # Divided by the number of pairs, n * (n - 1).
        losses = 2 * _ratio(squares, count - 1) - 2 * _ratio(square, count * (count - 1))
        return _collect(_scale(jnp.sum(losses * factors)), loss_collection, "value")


@_loss(
    {
        "multi_class_labels": "From 0 to 1, shape `(batch, classes)`.",
        "label_smoothing": "How far labels are moved towards 1/2, from 0 to 1.",
    },
    returns="A scalar of the logits' dtype; with `Reduction.NONE`, an array of their shape.",
    scope="sigmoid_cross_entropy_loss",
)
def sigmoid_cross_entropy(
    multi_class_labels: TensorLike, logits: TensorLike, label_smoothing: float = 0
) -> Any:
    """Return the cross entropy of independent yes-or-no answers, as `tf.compat.v1.losses.sigmoid_cross_entropy`."""
    labels, logits = _of_logits("multi_class_labels", multi_class_labels, logits)
    if label_smoothing > 0:
        # Towards a half: each class is a question of its own.
        labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


@_loss(
    {
        "onehot_labels": "Probabilities, shape `(batch, classes)`. No gradient passes through them.",
        "weights": "A scalar, or of shape `(batch,)`.",
        "label_smoothing": "How far labels are moved towards 1/classes, from 0 to 1.",
    },
    returns="A scalar of the logits' dtype; with `Reduction.NONE`, an array of shape `(batch,)`.",
    scope="softmax_cross_entropy_loss",
)
def softmax_cross_entropy(onehot_labels: TensorLike, logits: TensorLike, label_smoothing: float = 0) -> Any:
    """Return the cross entropy of classes, as `tf.compat.v1.losses.softmax_cross_entropy`."""
    labels, logits = _of_logits("onehot_labels", onehot_labels, logits)
    if label_smoothing > 0:
        # Towards an even distribution over the classes.
        labels = labels * (1 - label_smoothing) + label_smoothing / labels.shape[-1]
    return nn.softmax_cross_entropy_with_logits(labels=jax.lax.stop_gradient(labels), logits=logits)


@composite
def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Return the cross entropy of class indices, as `tf.compat.v1.losses.sparse_softmax_cross_entropy`.

    Args:
        labels: Class indices, shape `(batch,)` or `(batch, 1)`.
        logits: Shape `(batch, classes)`.
        weights: A scalar, or of shape `(batch,)` or `(batch, 1)`.
        scope: The name scope of the loss.
        loss_collection: The collection that the loss is added to.
        reduction: An attribute of :class:`Reduction`.

    Returns:
        A scalar of the logits' dtype; with `Reduction.NONE`, an array of shape `(batch,)`.

    Raises:
        BadArgumentError: If shapes don't fit, or an argument is None.
    """
    _check_given(labels=labels, logits=logits)
    with _enter_name_scope(scope, "sparse_softmax_cross_entropy_loss") as path:
        # Logits have the dimension of the classes more.
        classes, logits = squeeze(labels, logits, expected_rank_diff=1)
        if classes.shape != logits.shape[:-1]:
            raise BadArgumentError(
                f"Each example has one class index. Expected: labels.shape={logits.shape[:-1]}, as "
                f"logits.shape={logits.shape}. Received: labels.shape={classes.shape}. For one-hot labels use "
                "softmax_cross_entropy."
            )
        factors: Any = weights
        # Weights lose a dimension of size 1 as labels do.
        if np.ndim(factors) == classes.ndim + 1 and np.shape(factors)[-1] == 1:
            factors = factors[..., 0] if hasattr(factors, "ndim") else on_device(factors)[..., 0]
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
        return compute_weighted_loss(losses, factors, path, loss_collection, reduction)


def add_loss(loss: TensorLike, loss_collection: str | None = _LOSSES) -> None:
    """Add a loss to a collection of the `model_fn`, as `tf.compat.v1.losses.add_loss`; outside of one do nothing.

    Args:
        loss: A tensor.
        loss_collection: The collection; None for none.
    """
    graph = current_or_none()
    if graph is not None and loss_collection:
        graph.collections.add(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = _LOSSES) -> list[Any]:
    """Return the losses that were computed in the `model_fn`, as `tf.compat.v1.losses.get_losses`.

    Args:
        scope: Return only those whose names match this regular expression at their beginning.
        loss_collection: The collection.

    Raises:
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    return current().collections.get(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return what regularizers of variables have added, as `tf.compat.v1.losses.get_regularization_losses`.

    Args:
        scope: Return only those whose names match this regular expression at their beginning.

    Raises:
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    return current().collections.get(_REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """Return the sum of the regularization losses, 0 without any, as TensorFlow's function of that name.

    Args:
        scope: Add only those whose names match this regular expression at their beginning.
        name: The name of the sum.

    Raises:
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    losses = get_regularization_losses(scope)
    return _total(losses, name) if losses else jnp.zeros(())


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """Return the sum of the losses that were computed in the `model_fn`, as `tf.compat.v1.losses.get_total_loss`.

    Args:
        add_regularization_losses: Whether those of regularizers are added.
        name: The name of the sum.
        scope: Add only losses whose names match this regular expression at their beginning.

    Raises:
        BadArgumentError: If there is no loss.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        # To a list of its own: the collection stays as it is.
        losses += get_regularization_losses(scope)
    if not losses:
        raise BadArgumentError(
            "There is no loss to add up. Expected: a function of tf.compat.v1.losses, or add_loss, was called in this "
            f"model_fn. Received: scope={shown(scope)}."
        )
    return _total(losses, name)


# What TensorFlow calls the tensor that each reduction ends with: hooks fetch by name.
_TENSOR_NAMES = {
    Reduction.NONE: "Mul",
    Reduction.SUM: "Sum",
    Reduction.MEAN: "value",
    Reduction.SUM_OVER_BATCH_SIZE: "value",
    Reduction.SUM_BY_NONZERO_WEIGHTS: "value",
}


@contextlib.contextmanager
def _enter_name_scope(scope: str | None, default: str) -> Iterator[str | None]:
    """Enter the name scope of a loss, in a `model_fn`; yields what enters the same one again."""
    graph = current_or_none()
    if graph is None:
        yield scope
        return
    with graph.names.scope(scope or default) as path:
        yield path


def _collect(loss: TensorLike, loss_collection: str | None, name: str) -> Any:
    graph = current_or_none()
    if graph is not None:
        # By which hooks fetch it.
        graph.names.give(name, loss)
    add_loss(loss, loss_collection)
    return loss


@composite
def _total(losses: list[Any], name: str) -> Any:
    total = sum(losses[1:], losses[0])
    current().names.give(name, total)
    return total


def _reduce(losses: Array, weights: Array, reduction: str, is_constant: bool) -> Any:
    weighted = losses * weights
    if reduction == Reduction.NONE:
        return weighted
    total = jnp.sum(weighted)
    if reduction == Reduction.SUM:
        return _scale(total)
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        # A batch without elements has a loss of 0.
        return total / max(losses.size, 1)
    counted = weights if reduction == Reduction.MEAN else (weights != 0).astype(jnp.float32)
    count = jnp.sum(jnp.broadcast_to(counted, losses.shape))
    # With constant weights all replicas count alike, so that the mean of their means is that of all.
    replicas = _find_averaged_replicas()
    if replicas is None or is_constant:
        return ratio(total, count)
    # The mean over replicas of these is the quotient of all replicas' sums; its gradient, too.
    count = sum_over_replicas(count)
    return ratio(total, count) * replicas.num_replicas_in_sync


def _scale(total: Any) -> Any:
    """Return a sum such that the mean over replicas is the sum of all."""
    replicas = _find_averaged_replicas()
    return total if replicas is None else total * replicas.num_replicas_in_sync


def _find_averaged_replicas() -> ReplicaContext | None:
    replicas = syncing_replicas()
    return replicas if replicas is not None and replicas.averages_gradients else None


def _is_constant(weights: object) -> bool:
    """Return whether weights are the same on all replicas, as they are no result of a traced computation."""
    return isinstance(weights, int | float | np.ndarray | np.generic | list | tuple)


def _present(losses: Array, weights: Array) -> Any:
    return jnp.broadcast_to((weights != 0).astype(jnp.float32), losses.shape)


def _ratio(numerator: Any, denominator: Any) -> Any:
    """Divide; by 0 and less, 0."""
    return ratio(numerator, jnp.maximum(denominator, 0))


def _floats(labels: TensorLike, predictions: TensorLike, name: str = "predictions") -> tuple[Any, Any]:
    _check_given(**{"labels": labels, name: predictions})
    truth, predicted = on_device(labels).astype(jnp.float32), on_device(predictions).astype(jnp.float32)
    check_same_shape(predicted, truth)
    return truth, predicted


def _of_logits(name: str, labels: TensorLike, logits: TensorLike) -> tuple[Any, Any]:
    _check_given(**{name: labels, "logits": logits})
    scores = on_device(logits)
    truth = on_device(labels).astype(scores.dtype)
    check_same_shape(scores, truth)
    return truth, scores


def _check_given(**arguments: object) -> None:
    for name, value in arguments.items():
        if value is None:
            raise BadArgumentError(f"Argument `{name}` must not be None.")
