"""What a metric of TensorFlow 1 is: a value that follows from sums, and the operation that adds a batch (v1 layer).

A metric's function gives a pair. The second is an operation like any other; read as a tensor, it is the value behind
this batch. The first is a :class:`MetricValue`, which reads the sums when it is asked: behind the last batch, from
anywhere. The sums are variables that are added up over replicas, so the value is one device's on all examples.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import keras

from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadTypeError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.described import docstring, make_function, parameter, parameters_of
from stratax.tensorflow.v1._current import current
from stratax.tensorflow.v1._operation import Operation, operations_of

# Where TensorFlow puts a metric's variables: they start from 0 in every evaluation and are not saved.
_COLLECTIONS = ("local_variables", "metric_variables")

# By the names of a metric's variables: what is added up in them.
Sums: TypeAlias = dict[str, Any]
Collections: TypeAlias = Sequence[str] | None


class MetricValue:
    """The value of a metric, read from its variables whenever it is asked for.

    Arithmetic with numbers and with other metrics' values gives such a value again. Used as a tensor, in a `model_fn`,
    it is the value before this batch; what is computed of it there is computed once more behind the last one, where it
    is the value of a metric.

    Args:
        compute: Reads the value.
        variables: The variables that it is read from.
    """

    # NumPy's arrays leave arithmetic with it to this class.
    __array_priority__ = 1000

    def __init__(self, compute: Callable[[], Any], variables: Sequence[keras.Variable]) -> None:
        self._compute = compute
        self._variables = tuple(variables)

    @property
    def variables(self) -> tuple[keras.Variable, ...]:
        """The variables that it is read from."""
        return self._variables

    def result(self) -> Any:
        """Return the value, an array, as the variables are now."""
        return self._compute()

    @property
    def shape(self) -> Any:
        """The shape of what the metric is worth."""
        return jnp.shape(self.result())

    def __jax_array__(self) -> Any:
        return self.result()

    def __float__(self) -> float:
        return float(self.result())

    def __add__(self, other: TensorLike) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: TensorLike) -> Any:
        return self._with(other, lambda own, given: given + own)

    def __sub__(self, other: TensorLike) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: TensorLike) -> Any:
        return self._with(other, lambda own, given: given - own)

    def __mul__(self, other: TensorLike) -> Any:
        return self._with(other, operator.mul)

    def __rmul__(self, other: TensorLike) -> Any:
        return self._with(other, lambda own, given: given * own)

    def __truediv__(self, other: TensorLike) -> Any:
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other: TensorLike) -> Any:
        return self._with(other, lambda own, given: given / own)

    def __pow__(self, other: TensorLike) -> Any:
        return self._with(other, operator.pow)

    def __neg__(self) -> "MetricValue":
        return MetricValue(lambda: -self.result(), self._variables)

    def __getitem__(self, index: TensorLike) -> "MetricValue":
        return MetricValue(lambda: self.result()[index], self._variables)

    def __iter__(self) -> Any:
        # Python would ask for one index after the other, without an end.
        return iter(self.result())

    def _with(self, other: TensorLike, combine: Callable[[Any, Any], Any]) -> Any:
        # With a tensor of the step the value is one of the step, too.
        if isinstance(other, jax.core.Tracer):
            return combine(jnp.asarray(self), other)
        if isinstance(other, MetricValue):
            return MetricValue(
                lambda: combine(self.result(), other.result()), [*self._variables, *other.variables]
            )
        return MetricValue(lambda: combine(self.result(), other), self._variables)


# As TensorFlow gives a metric: its value, and the operation that adds a batch.
Pair: TypeAlias = tuple[MetricValue, Operation]


class Measure(NamedTuple):
    """What a batch adds to a metric, and how the value is read.

    Attributes:
        sums: What the batch adds, by the names of the metric's variables.
        compute: Gives the value of such sums.
        updated: Gives what the metric's operation is worth as a tensor; None for the value.
        name: The metric's name, where it depends on arguments.
    """

    sums: Sums
    compute: Callable[[Sums], Any]
    updated: Callable[[Sums], Any] | None = None
    name: str | None = None


_DESCRIPTIONS = {
    "labels": "The truth.",
    "predictions": "Of the labels' shape.",
    "weights": "A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.",
    "metrics_collections": "The collections that the value is added to.",
    "updates_collections": "The collections that the operation is added to.",
}


def metric(
    arguments: Mapping[str, str] | None = None,
    *,
    returns: str = "a scalar,",
    raises: str = "If shapes don't fit.",
    name: str | None = None,
    what: str | None = None,
    default: str | None = None,
    order: str | None = None,
) -> Callable[[Callable[..., Measure]], Callable[..., Pair]]:
    """Make a function of `tf.compat.v1.metrics` of one that measures a batch.

    It has that one's arguments and docstring, and beyond them those that all metrics have: their collections and the
    metric's name.

    Args:
        arguments: Descriptions of arguments, where they are not those that most metrics have.
        returns: What the value is, for the docstring.
        raises: When `BadArgumentError` is raised, for the docstring.
        name: The function's name; by default that of the decorated one.
        what: What it returns, for the docstring; by default that of the decorated one.
        default: What the metric is called without a name; by default as the function.
        order: The names of all arguments, where those that all metrics have are not the last ones.
    """
    # Written out in this function, where `stratax check` finds them.
    last = (
        parameter("metrics_collections", Collections, None),
        parameter("updates_collections", Collections, None),
        parameter("name", str | None, None),
    )

    def decorate(measure: Callable[..., Measure]) -> Callable[..., Pair]:
        own_name = name or measure.__name__
        parameters = [*parameters_of(measure), *last]
        if order is not None:
            by_name = {each.name: each for each in parameters}
            parameters = [by_name[each] for each in order.split()]
        default_name = default or own_name
        described = {
            **_DESCRIPTIONS,
            "name": f"The metric's name; by default `{default_name}`.",
            **(arguments or {}),
        }

        def call(given: dict[str, Any]) -> Pair:
            of_value, of_operation, path = (given.pop(each.name) for each in last)
            measured = measure(**given)
            # Some names follow from arguments, such as `precision_at_5`.
            return _make_metric(path or measured.name or default_name, measured, of_value, of_operation)

        sentence = measure.__doc__ if what is None else f"{what}, as `tf.compat.v1.metrics.{own_name}`."
        doc = docstring(
            sentence or "",
            {
                "Args": {each.name: described[each.name] for each in parameters},
                "Returns": f"The value, {returns} and the operation that adds this batch.",
                "Raises": {
                    "BadArgumentError": raises,
                    "ModelScopeError": "If it is called outside of a `model_fn`.",
                },
            },
        )
        return composite(make_function(own_name, measure.__module__, parameters, Pair, doc, call))

    return decorate


def _make_metric(
    name: str, measure: Measure, metrics_collections: Collections, updates_collections: Collections
) -> Pair:
    """Make a metric of the `model_fn` that is traced, under a name that is made unique.

    Raises:
        BadTypeError: If collections are no list or tuple.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    # The value outlives the trace, and must not keep the batch's sums.
    sums, compute, updated, _ = measure
    for collections in (metrics_collections, updates_collections):
        if isinstance(collections, str):
            raise BadTypeError(
                f"Collections must be a list or a tuple of names. Received: {shown(collections)}."
            )
    scope = current()
    # Variables and operation of a second metric of one name have `_1` behind it, as in TensorFlow.
    path = scope.names.unique(name)
    # Each replica adds up its own examples, and the sums are added when they are read.
    variables = {
        key: scope.make_variable(
            f"{path}/{key}", jnp.shape(part), "float32", aggregation="sum", synchronization="on_read"
        )
        for key, part in sums.items()
    }
    for variable in variables.values():
        for collection in _COLLECTIONS:
            scope.collections.add(collection, variable)

    # Once, here: whoever reads the operation's value behind the assignment would add the batch again.
    added = {key: variable.value + sums[key] for key, variable in variables.items()}

    def update() -> None:
        for key, total in added.items():
            keras.Variable.assign(variables[key], total)

    value = MetricValue(
        lambda: compute({key: variable.value for key, variable in variables.items()}),
        [*variables.values()],
    )
    worth = updated or compute
    operation = scope.operation(
        update,
        name=f"{name}/update_op",
        inputs=operations_of(added),
        value=lambda: on_device(worth(added)),
    )
    for collection in metrics_collections or ():
        scope.collections.add(collection, value)
    for collection in updates_collections or ():
        scope.collections.add(collection, operation)
    return value, operation


def ratio(numerator: Any, denominator: Any) -> Any:
    """Return the quotient; 0 where the divisor is 0, also in gradients."""
    # Divided by 1 there, since a NaN would reach what `where` does not choose by its gradient.
    is_zero = denominator == 0
    return jnp.where(is_zero, 0, numerator / jnp.where(is_zero, 1, denominator))


def mean_of(sums: Sums, total: str = "total", count: str = "count") -> Any:
    """Return a sum divided by a count; 0 where nothing counts."""
    return ratio(sums[total], jnp.maximum(sums[count], 0))


def only(sums: Sums) -> Any:
    """Return the one sum that there is."""
    (count,) = sums.values()
    return count
