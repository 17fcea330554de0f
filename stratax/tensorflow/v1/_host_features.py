"""What a `model_fn` takes from the host: features of strings, and what functions make of features (v1 layer)."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.v1._host import Compute, HostResult, HostTensor, HostTrace
from stratax.tensorflow.v1._trace_values import TraceValues


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
