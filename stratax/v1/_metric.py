"""What a metric of TensorFlow 1 is: a value that follows from sums, and the operation that adds a batch (v1 layer).

A metric's function gives a pair. The second is an operation like any other; read as a tensor, it is the value behind
this batch. The first is a :class:`MetricValue`, which reads the sums when it is asked: behind the last batch, from
anywhere. The sums are variables that are added up over replicas, so the value is one device's on all examples.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import keras

from stratax._shown import shown
from stratax.errors import BadTypeError
from stratax.ops.creation import on_device
from stratax.v1._current import current
from stratax.v1._operations import Operation, operations_of

# Where TensorFlow puts a metric's variables: they start from 0 in every evaluation and are not saved.
_COLLECTIONS = ("local_variables", "metric_variables")

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

    def __jax_array__(self) -> Any:
        return self.result()

    def __float__(self) -> float:
        return float(self.result())

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda own, given: given + own)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda own, given: given - own)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, lambda own, given: given * own)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda own, given: given / own)

    def __pow__(self, other: Any) -> Any:
        return self._with(other, operator.pow)

    def __neg__(self) -> "MetricValue":
        return MetricValue(lambda: -self.result(), self._variables)

    def __getitem__(self, index: Any) -> "MetricValue":
        return MetricValue(lambda: self.result()[index], self._variables)

    def __iter__(self) -> Any:
        # Python would ask for one index after the other, without an end.
        return iter(self.result())

    def _with(self, other: Any, combine: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, jax.core.Tracer):
            return combine(jnp.asarray(self), other)
        if isinstance(other, MetricValue):
            return MetricValue(
                lambda: combine(self.result(), other.result()), [*self._variables, *other.variables]
            )
        return MetricValue(lambda: combine(self.result(), other), self._variables)


Pair: TypeAlias = tuple[MetricValue, Operation]


def make_metric(
    name: str,
    sums: Sums,
    compute: Callable[[Sums], Any],
    metrics_collections: Collections,
    updates_collections: Collections,
    updated: Callable[[Sums], Any] | None = None,
) -> Pair:
    """Make a metric of the `model_fn` that is traced.

    Args:
        name: Its name, made unique.
        sums: What this batch adds, by the names of its variables.
        compute: Gives the value of such sums.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        updated: Gives what the operation is worth as a tensor; by default the value.

    Returns:
        The value and the operation that adds this batch.

    Raises:
        BadTypeError: If collections are no list or tuple.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    for collections in (metrics_collections, updates_collections):
        if isinstance(collections, str):
            raise BadTypeError(
                f"Collections must be a list or a tuple of names. Received: {shown(collections)}."
            )
    scope = current()
    path = scope.unique_name(name)
    variables = {
        key: scope.make_variable(
            f"{path}/{key}", jnp.shape(part), "float32", aggregation="sum", synchronization="on_read"
        )
        for key, part in sums.items()
    }
    for variable in variables.values():
        for collection in _COLLECTIONS:
            scope.add_to_collection(collection, variable)

    # Once, here: whoever reads the operation's value behind the assignment would add the batch again.
    added = {key: variable.value + sums[key] for key, variable in variables.items()}

    def update() -> None:
        for key, total in added.items():
            keras.Variable.assign(variables[key], total)

    value = MetricValue(
        lambda: compute({key: variable.value for key, variable in variables.items()}), [*variables.values()]
    )
    worth = compute if updated is None else updated
    operation = scope.operation(
        update,
        name=f"{name}/update_op",
        inputs=operations_of(added),
        value=lambda: on_device(worth(added)),
    )
    for collection in metrics_collections or ():
        scope.add_to_collection(collection, value)
    for collection in updates_collections or ():
        scope.add_to_collection(collection, operation)
    return value, operation


def ratio(numerator: Any, denominator: Any) -> Any:
    """Return the quotient; 0 where the divisor is 0."""
    is_zero = denominator == 0
    return jnp.where(is_zero, 0, numerator / jnp.where(is_zero, 1, denominator))


def mean_of(sums: Sums, total: str = "total", count: str = "count") -> Any:
    """Return a sum divided by a count; 0 where nothing counts."""
    return ratio(sums[total], jnp.maximum(sums[count], 0))


def only(sums: Sums) -> Any:
    """Return the one sum that there is."""
    (count,) = sums.values()
    return count
