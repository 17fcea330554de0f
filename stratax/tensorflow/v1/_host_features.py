"""What a `model_fn` takes from the host: features of strings, and what functions make of features (v1 layer)."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.ops.calls.on_host import array_of, is_symbol
from stratax.tensorflow.v1._host import Compute, HostResult, HostTensor, HostTrace, after_step
from stratax.tensorflow.v1._trace_values import TraceValues

Function = Callable[..., np.ndarray]


class TraceFeatures:
    """The features of one trace that are on the host.

    Args:
        values: Of the trace.

    Attributes:
        trace: What the trace takes from the host, if a driver provides it.
    """

    def __init__(self, values: TraceValues) -> None:
        self.trace: HostTrace | None = None
        self._values = values

    def name_of(self, value: object) -> str | None:
        """Return the name under which the host has a feature; None for what was computed in the `model_fn`."""
        return None if self.trace is None else self.trace.name_of(value)

    def example_of(self, value: object) -> Any:
        """Return what a feature or label is in the first batch, on the host; None where that is not known."""
        return None if self.trace is None else self.trace.example_of(value)

    def compute_on_host(
        self, function: Compute, names: Sequence[str], key: str, fills: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """Return what a function makes of features on the host before each step, as arrays of this trace.

        Args:
            function: From the features by name, as they are on the host, to NumPy arrays of numbers by name, whose
                first dimension is the batch's.
            names: The features that it takes, as :meth:`name_of` gives them.
            key: What the results are called, made unique.
            fills: With what those of its results are filled up, by name, whose second dimension differs between
                batches.

        Raises:
            ModelScopeError: If nobody runs functions on the host for this trace.
        """
        return self._number(self._host_of(names).request(function, names, key, fills))

    def compute_shared(
        self,
        wanted: Sequence[Hashable],
        function_of: Callable[[list[Any]], tuple[Compute, Mapping[str, float]]],
        names: Sequence[str],
        key: str,
    ) -> list[dict[str, Any]]:
        """Return what functions make of features on the host, each of which runs once for all who want the same.

        Args:
            wanted: What is wanted, and of which features: equal ones are the same.
            function_of: Called with those that nobody has wanted before in this trace; returns their function and its
                fills, as for :meth:`compute_on_host`.
            names: The features that it takes, as :meth:`name_of` gives them.
            key: What the results are called, made unique.

        Returns:
            For each of what is wanted all results of the function that gives it.

        Raises:
            ModelScopeError: If nobody runs functions on the host for this trace.
        """
        host = self._host_of(names)
        new = [each for each in wanted if each not in host.requested]
        if new:
            function, fills = function_of(new)
            request = host.request(function, names, key, fills)
            host.requested.update(dict.fromkeys(new, request))
            # Only once: in the step they are the same arrays each time.
            self._number(request)
        requests = [host.requested[each] for each in wanted]
        with self._values.leave_unrecorded():
            made = {request: request() for request in dict.fromkeys(requests)}
        return [made[request] for request in requests]

    def apply(self, function: Function, operands: Sequence[Any], name: str, gives: object = None) -> Any:
        """Apply a function of strings to what is known later only: see `stratax.tensorflow.ops.text.strings`.

        Args:
            function: From NumPy arrays to one.
            operands: Features of a `model_fn`, what it computes, and arrays.
            name: What the function is called.
            gives: The dtype of the result; None to find out.
        """
        symbols = [each for each in operands if is_symbol(each)]
        known = [None if is_symbol(each) else array_of(each) for each in operands]

        def of_values(*values: object) -> np.ndarray:
            given = iter(values)
            return function(*(next(given) if each is None else each for each in known))

        # Features are on the host before the step; what depends on its results comes behind it.
        names = [self.name_of(each) for each in symbols]
        if all(each is not None for each in names):
            return self._apply_to_features(of_values, symbols, names, name, gives)
        results = (self.as_result(each) if isinstance(each, HostTensor) else each for each in symbols)
        return after_step(of_values, *results)

    def _apply_to_features(
        self, function: Function, symbols: list[Any], names: list[Any], name: str, gives: Any
    ) -> Any:
        def of_batch(batch: dict[str, Any]) -> np.ndarray:
            return function(*(array_of(batch[each]) for each in names))

        if any(each.shape is None for each in symbols):
            raise errors.BadTypeError(
                f"{name} takes dense strings. Received: {shown(symbols)}, of which one is a SparseTensor. Use "
                "tf.sparse.to_dense in dataset.map, or a feature column."
            )
        # Whether it gives text or numbers, and of which shape, is seen of blank text.
        if gives is None:
            blank = np.asarray(function(*map(_blank, symbols)))
            gives, shape = blank.dtype, blank.shape
        else:
            # Functions that say their dtype give a value for each element.
            shape = np.broadcast_shapes(*(tuple(each.shape) for each in symbols))
        if np.dtype(gives).kind == "O":
            return self.strings(of_batch, names, shape, name)
        return self.compute_on_host(lambda batch: {"value": as_number(of_batch(batch), name)}, names, name)[
            "value"
        ]

    def _host_of(self, names: Sequence[str]) -> HostTrace:
        if self.trace is None:
            raise errors.ModelScopeError(
                "Nothing is computed on the host for this model_fn. Expected: a model_fn that an Estimator traces. "
                f"Received: a function of {shown(list(names))}."
            )
        return self.trace

    def _number(self, request: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        with self._values.leave_unrecorded():
            made = request()
        self._values.number(made)
        return made

    def strings(
        self,
        function: Callable[[dict[str, Any]], Any],
        names: Sequence[str],
        shape: Sequence[int],
        key: str,
    ) -> HostTensor:
        """Return strings that a function makes of features on the host, as a further feature.

        Args:
            function: From the features by name to an array of strings.
            names: The features that it takes, as :meth:`name_of` gives them.
            shape: The shape of the result in this trace.
            key: What it is called, made unique.

        Raises:
            ModelScopeError: If nobody runs functions on the host for this trace.
        """
        return self._host_of(names).strings(function, names, shape, key)

    def as_result(self, value: HostTensor) -> HostResult:
        """Return a feature of strings as a result of the step, which is there after it.

        Args:
            value: The feature.

        Raises:
            BadTypeError: If it is a SparseTensor or a scalar.
            ModelScopeError: If nobody runs functions on the host for this trace.
        """
        if self.trace is None:
            raise errors.ModelScopeError(
                f"Nothing is computed on the host for this model_fn. Received: {shown(value)} as a prediction."
            )
        if not value.shape:
            raise errors.BadTypeError(
                "A prediction has one row for each example. Expected: strings of shape (batch, ...). Received: "
                f"{shown(value)}. Make a SparseTensor dense in the input_fn's dataset.map."
            )
        with self._values.leave_unrecorded():
            made = self.trace.keep(value.name)
        self._values.number(made.tensors)
        return made


def as_number(array: np.ndarray, name: str) -> np.ndarray:
    """Return numbers as a step takes them: of 32 bits."""
    if array.dtype.kind not in "iuf" or array.dtype.itemsize <= 4:
        return array
    if array.dtype.kind == "f":
        # Fractions may be rounded, whole numbers may not.
        return array.astype(np.float32)
    limits = np.iinfo(np.int32)
    if array.size and not (limits.min <= array.min() and array.max() <= limits.max):
        raise errors.BadArgumentError(
            f"{name} gives numbers that 32 bits do not hold. Expected: from {limits.min} to {limits.max}. Received: "
            f"{array.min()} to {array.max()}. Use fewer buckets, or compute in dataset.map."
        )
    return array.astype(np.int32)


def _blank(symbol: Any) -> np.ndarray:
    """Return an array of the shape of a symbol."""
    if isinstance(symbol, HostTensor):
        return np.full([size or 0 for size in symbol.shape or ()], b"", object)
    return np.zeros(symbol.shape, symbol.dtype)
