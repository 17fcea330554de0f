"""A `model_fn` as the program of steps (estimator layer).

It is traced once in advance, which gives what the Estimator has to know (hooks, names, which metrics there are) and
makes the variables; and once more within the compiled step for each shape and each set of tensors that hooks ask for.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.core import CompiledPrograms, Function, regions, storage
from stratax.core.known import find_used_marks
from stratax.distribute import Strategy
from stratax.distribute.replicas import enter_contexts
from stratax.engine import StepProgram
from stratax.tensorflow.estimator import _layout
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.v1 import (
    DerivativesError,
    HostInputs,
    HostResult,
    HostTensor,
    HostTrace,
    ModelScope,
    ModelState,
    Operation,
    after_step,
)
from stratax.tensorflow.v1.train import Saver

LOSS = "loss"
FETCHED = "fetched"
_LOSSES = "losses"
# Each one more takes a trace, and makes it as long again.
_MOST_DERIVATIVES = 4
GLOBAL_STEP = "global_step"
# The name of a number that no feature has.
_NOTHING = ""

# What stands for a tensor in a fetch, the same in each trace: its kind, and its name or number.
Key = tuple[str, Hashable]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class KnownTensor:
    """A tensor whose value is known."""

    value: np.ndarray


class EstimatorModel:
    """What a `model_fn` computes in one mode under one strategy.

    Args:
        call: Calls the `model_fn` with features and labels; returns its spec.
        mode: `"train"`, `"eval"` or `"infer"`.
        strategy: The strategy.
        state: The variables.
        compiled: What was compiled for earlier calls.

    Attributes:
        state: The variables.
        mode: The mode.
        spec: What `model_fn` returned when it was traced in advance. Its tensors are tracers of that trace.
        scope: The scope of that trace.
        predict_keys: Which of the predictions are wanted; None for all. Set before the model is built.
    """

    def __init__(
        self,
        call: Callable[[Any, Any], Any],
        mode: str,
        strategy: Strategy,
        state: ModelState,
        compiled: CompiledPrograms | None = None,
    ) -> None:
        self.state = state
        self.mode = mode
        self.spec: Any = None
        self.scope: ModelScope | None = None
        self.predict_keys: Collection[str] | None = None
        self._latest: ModelScope | None = None
        self._call = call
        self._strategy = strategy
        self._compiled = compiled
        self._inputs = HostInputs()
        self._layout: _layout.InputLayout | None = None

    def build(self, element: PyTree) -> None:
        """Trace the model in advance; its variables are there afterwards.

        Args:
            element: One replica's batch, on the host.
        """
        self._layout = _layout.InputLayout(element)
        example = self._layout.batch(jax.tree.leaves(element))
        # With one at least: what is computed of the host's results is none of a constant.
        numbers = {_NOTHING: np.zeros((), np.int32), **self._layout.numbers(element)}
        region = functools.partial(self._trace, functools.partial(self._note, example))
        try:
            with enter_contexts(self._strategy, None):
                self._trace_in_advance(region, numbers)
        finally:
            # From now on a trace finds the variables as they are.
            self.state.begins = False

    def _trace_in_advance(self, region: Callable[..., Any], numbers: dict[str, Any]) -> None:
        while True:
            try:
                Function(region, autograph=False, traces_before_warning=0).jaxpr(numbers)
            except DerivativesError:
                # What few models ask for would make the traces of all of them longer.
                if self.state.derivatives > _MOST_DERIVATIVES:
                    raise
            else:
                return

    @property
    def prepares(self) -> bool:
        """Whether batches are prepared on the host before each step."""
        return bool(self._inputs) or self._found_layout.has_host

    def choose_packing(self, element: object, spec: object) -> None:
        """Settle in all workers alike how prepared batches travel to the devices; all call it, once.

        Args:
            element: A batch of this worker, on the host.
            spec: What is known of all its batches, as `Dataset.element_spec`; None if nothing is.
        """
        gathered = self._strategy.extended.membership.gather
        self._found_layout.choose_packing(self._inputs, element, spec, gathered)

    def prepare_batches(
        self, leaves: list[np.ndarray], count: int, treedef: object
    ) -> tuple[list[np.ndarray], Any]:
        """Prepare batches for steps.

        Args:
            leaves: The leaves of batches, stacked.
            count: How many they are.
            treedef: Their structure.
        """
        del treedef
        return jax.tree.flatten(self._found_layout.prepare_batches(self._inputs, leaves, count))

    @property
    def _found_layout(self) -> _layout.InputLayout:
        if self._layout is None:
            raise errors.ModelScopeError("The model has not been built yet.")
        return self._layout

    def _trace(self, step: Callable[[Any], Any], element: PyTree) -> Any:
        execution = self._strategy.extended.execution
        execution.call_for_each_replica(step, (element,), {}, averages_gradients=True)

    def _note(self, example: dict[str, Any], numbers: dict[str, Any]) -> None:
        host = HostTrace(self._inputs, numbers, None, example)
        own = {name: value for name, value in numbers.items() if name != _NOTHING}
        rows = _layout.rows_of(example, {})
        self.spec, self.scope = self._run(own, host, rows, lambda scope, spec: (spec, scope))

    def _step(self, then: Callable[[ModelScope, Any], Any], element: PyTree) -> Any:
        """Do what one replica does with its part of a batch."""
        if not self.prepares:
            numbers, given, shapes = self._found_layout.numbers(element), {}, {}
        else:
            numbers, given, shapes = element.unpack()
            numbers = self._found_layout.mark(numbers)
        host = HostTrace(self._inputs, numbers, given)
        return self._run(numbers, host, _layout.rows_of(numbers, given), then, shapes)

    def _run(
        self,
        numbers: dict[str, Any],
        host: HostTrace,
        rows: int,
        then: Callable[[ModelScope, Any], Any],
        shapes: _layout.Shapes | None = None,
    ) -> Any:
        """Call the `model_fn` in a scope, then something with it and the spec."""
        features, labels = self._found_layout.placeholders(numbers, rows, shapes or {})
        scope = self._latest = ModelScope(self.state, self.mode)
        scope.features.trace = host
        with scope.entered(numbers):
            scope.names.give_inputs(jax.tree.leaves((features, labels)))
            # First, as in TensorFlow: it is there before the model's own variables.
            scope.global_step()
            spec = self._call(features, labels)
            if self.mode == ModeKeys.TRAIN:
                # As in TensorFlow, where nobody runs their updates: they would compute, and grow, for nothing.
                _forget_updates(spec.eval_metric_ops.values())
                # As in TensorFlow: hooks find it there.
                scope.collections.add(_LOSSES, spec.loss)
            if self.mode == ModeKeys.PREDICT:
                spec = spec._replace(predictions=self._with_results(scope, spec.predictions))
            return then(scope, spec)

    def call_for_export(
        self,
        features: object,
        labels: object = None,
        then: Callable[[ModelScope, Any], Any] = lambda scope, spec: spec,
        *,
        shapes: Sequence[tuple[Any, ...]] = (),
    ) -> Any:
        """Return the spec of what an export is fed, or what is made of it; called while the export is traced.

        Args:
            features: Arrays of the program, and values of the host.
            labels: Likewise; None for predictions.
            then: Called in the scope, with it and the spec.
            shapes: Those of features and labels, with symbols for sizes that are not known.
        """
        scope = self._latest = ModelScope(self.state, self.mode)
        scope.names.input_shapes = list(shapes)
        with scope.entered({}):
            scope.global_step()
            return then(scope, self._call(features, labels))

    def _with_results(self, scope: ModelScope, predictions: object) -> Any:
        """Return predictions, those that are wanted as results; the strings of others would be kept for nothing."""
        keys = self.predict_keys
        if keys is None or not isinstance(predictions, dict):
            return _as_results(scope, predictions)
        return {
            key: _as_results(scope, value) if key in keys else value for key, value in predictions.items()
        }

    def program(
        self, outputs: Callable[[ModelScope, Any], Any], *, of_first: Collection[str] = (), name: str
    ) -> StepProgram:
        """Compile steps; a dispatch gives what each of them returns.

        Args:
            outputs: Computes it of the scope and the spec, and runs operations.
            of_first: The keys of it, a dict then, that are the first replica's and not the replicas' mean.
            name: What the program is called.
        """
        step = functools.partial(self._step, outputs)
        make = StepProgram.of_examples if self.mode == ModeKeys.PREDICT else StepProgram.of_each_step
        return make(
            self._strategy,
            step,
            of_first=of_first,
            name=name,
            compiled=self._compiled,
            on_trace=lambda closed: self._found_layout.note_used(find_used_marks(closed)),
        )

    def train_program(self, fetched: frozenset[Key]) -> StepProgram:
        """Compile steps of training; a dispatch gives each step's loss and what was asked for.

        Args:
            fetched: The keys of what is asked for.
        """

        def outputs(scope: ModelScope, spec: Any) -> dict[str, Any]:
            loss = jnp.reshape(jnp.asarray(spec.loss), ())
            return {LOSS: loss, FETCHED: self.fetch(scope, fetched, [spec.train_op, loss])}

        return self.program(outputs, of_first=(FETCHED,), name="train")

    def fetch(self, scope: ModelScope, keys: frozenset[Key], run: object) -> dict[Key, Any]:
        """Run operations, each once, and compute what hooks ask for; called once in a step.

        Args:
            scope: The scope of the trace.
            keys: What they ask for.
            run: What is run besides: operations, and tensors that may depend on some.
        """
        # Before the operations: in TensorFlow tensors are computed with the variables of before the step, and variables
        # are read in no order, which is before they change in practice.
        found = {key: _value(scope, key) for key in keys if key[0] not in ("operation", "assignment")}
        operations = [scope.operation_of(key[1]) for key in keys if key not in found]
        assigned = [key[1] for key in keys if key[0] == "assignment"]
        worth = scope.run([run, operations, list(found.values())], assigned)
        return found | {("assignment", order): value for order, value in worth.items()}

    def global_step(self) -> int:
        """Return the global step now."""
        (step,) = storage.read_all([self.state.variables[GLOBAL_STEP]])
        return int(np.asarray(step))

    @property
    def saver(self) -> Saver | None:
        """What says which variables checkpoints hold; None for all."""
        scaffold = self.spec.scaffold
        return None if scaffold is None else scaffold.saver

    @property
    def metrics(self) -> list[str]:
        """The names of what an evaluation gives."""
        return ["loss", *(self.spec.eval_metric_ops or {})]

    def key_of(self, fetch: object) -> Key:
        """Return what stands for something that a hook asks for.

        Args:
            fetch: A tensor of the `model_fn`, a variable, an operation, or the name of one of them.

        Raises:
            BadArgumentError: If there is no such tensor.
            BadTypeError: If it is none of these.
        """
        scope = self.scope
        if scope is None:
            raise errors.ModelScopeError("The model has not been built yet.")
        if isinstance(fetch, str):
            name = fetch.removesuffix(":0")
            if scope.names.is_given(name):
                return "name", name
            if name in scope.names.tensors():
                # Its name was asked for, perhaps in this trace alone.
                return self.key_of(scope.names.tensors()[name])
            if name in self.state.variables:
                return "variable", name
            known = [*scope.names.tensors(), *self.state.variables]
            raise errors.BadArgumentError(
                f"The model has no tensor of this name. Expected: one of {', '.join(map(repr, known))}. Received: "
                f"{shown(fetch)}. Name a tensor with tf.identity(tensor, name=...)."
            )
        if isinstance(fetch, keras.Variable):
            return "variable", fetch.path
        if isinstance(fetch, Operation):
            return "assignment" if fetch.has_value else "operation", fetch.order
        if isinstance(fetch, np.ndarray | np.generic | int | float) or (
            isinstance(fetch, jax.Array) and not isinstance(fetch, jax.core.Tracer)
        ):
            # A tensor that was computed of constants alone is a number already.
            return "constant", KnownTensor(np.asarray(fetch))
        if isinstance(fetch, HostTensor | HostResult):
            raise errors.BadTypeError(
                "Hooks get numbers of the step; strings stay on the host. Expected: a tensor of numbers. Received: "
                f"{shown(fetch)}. Make the strings predictions, or look them up by the numbers in after_run."
            )
        # A hook that is kept outside of the model_fn has what the last trace of that has given it.
        for trace in (scope, self._latest or scope):
            if (number := trace.values.number_of(fetch)) is not None:
                return "number", number
            if (variable := trace.values.variable_of(fetch)) is not None:
                return "variable", variable.path
            with contextlib.suppress(LookupError):
                return "constant", KnownTensor(np.asarray(trace.values.constant_of(fetch)))
        raise errors.BadTypeError(
            "A hook asked for something that the model_fn did not compute. Expected: a tensor, variable or "
            f"operation of the model_fn, or its name. Received: {shown(fetch)}."
        )


def _as_results(scope: ModelScope, predictions: object) -> Any:
    """Return predictions whose strings of the input are there after the step."""
    if isinstance(predictions, dict):
        return {key: _as_results(scope, value) for key, value in predictions.items()}
    if isinstance(predictions, np.ndarray) and predictions.dtype.kind in "OSU":
        # A constant, by the number of each of its rows, as it comes back in parts.
        rows = jnp.arange(len(predictions)) if predictions.ndim else jnp.zeros((), jnp.int32)
        return after_step(functools.partial(_rows_of, predictions), rows)
    return scope.features.as_result(predictions) if isinstance(predictions, HostTensor) else predictions


def _rows_of(constant: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return constant[rows] if constant.ndim else np.full(rows.shape, constant[()], constant.dtype)


def _forget_updates(metrics: Iterable[Any]) -> None:
    region = regions.current_region()
    for metric in metrics:
        if isinstance(metric, keras.metrics.Metric) and region is not None:
            region.forget(metric.variables)


def _value(scope: ModelScope, key: Key) -> Any:
    """Return what a key stands for in a trace."""
    kind, which = key
    if kind == "name":
        return jnp.asarray(scope.names.tensors()[str(which)])
    if kind == "variable":
        return scope.state.variables[str(which)].value
    try:
        return scope.values.result(which)  # type: ignore[arg-type]
    except IndexError:
        raise errors.TracingError(
            "A tensor that a hook asks for was not found again: the model_fn computes something else each time that it "
            "is traced. Give the tensor a name with tf.identity(tensor, name=...), and ask for the name."
        ) from None
