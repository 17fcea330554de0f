"""A `model_fn` as the program of steps (estimator layer).

It is traced once in advance, which gives what the Estimator has to know (hooks, names, which metrics there are) and
makes the variables; and once more within the compiled step for each shape and each set of tensors that hooks ask for.
"""

import dataclasses
import functools
from collections.abc import Callable, Collection, Hashable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax._typing import PyTree
from stratax.core import CompiledPrograms, Function, variable_store
from stratax.distribute import Strategy
from stratax.distribute.replicas import entered
from stratax.engine import StepProgram
from stratax.estimator import _inputs
from stratax.estimator._mode_keys import ModeKeys
from stratax.v1 import ModelScope, ModelState, Operation

LOSS = "loss"
FETCHED = "fetched"
GLOBAL_STEP = "global_step"

# What stands for a tensor in a fetch, the same in each trace: its kind, and its name or number.
Key = tuple[str, Hashable]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A tensor whose value is known."""

    value: np.ndarray


class Model:
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
        self._call = call
        self._strategy = strategy
        self._compiled = compiled

    def build(self, element: PyTree) -> None:
        """Trace the model in advance; its variables are there afterwards.

        Args:
            element: The shapes and dtypes of one replica's batch.
        """
        example = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), element)
        region = functools.partial(self._traced, self._noted)
        with entered(self._strategy, None):
            Function(region, autograph=False, traces_before_warning=0).jaxpr(example)

    def _traced(self, step: Callable[[Any], Any], element: PyTree) -> Any:
        execution = self._strategy.extended.execution
        execution.call_for_each_replica(step, (element,), {}, averages_gradients=True)

    def _noted(self, element: PyTree) -> None:
        self.spec, self.scope = self._run(element, lambda scope, spec: (spec, scope))

    def _run(self, element: PyTree, then: Callable[[ModelScope, Any], Any]) -> Any:
        """Call the `model_fn` in a scope, then something with it and the spec."""
        features, labels = _inputs.features_and_labels(element)
        scope = ModelScope(self.state, self.mode)
        with scope.entered((features, labels)):
            # First, as in TensorFlow: it is there before the model's own variables.
            scope.global_step()
            spec = self._call(features, labels)
            return then(scope, spec)

    def program(
        self, outputs: Callable[[ModelScope, Any], Any], *, of_first: Collection[str] = (), name: str
    ) -> StepProgram:
        """Compile steps; a dispatch gives what each of them returns.

        Args:
            outputs: Computes it of the scope and the spec, and runs operations.
            of_first: The keys of it, a dict then, that are the first replica's and not the replicas' mean.
            name: What the program is called.
        """

        def step(element: PyTree) -> Any:
            return self._run(element, outputs)

        if self.mode == ModeKeys.PREDICT:
            return StepProgram.of_examples(self._strategy, step, name=name, compiled=self._compiled)
        return StepProgram.of_each_step(
            self._strategy, step, of_first=of_first, name=name, compiled=self._compiled
        )

    def train_program(self, fetched: frozenset[Key]) -> StepProgram:
        """Compile steps of training; a dispatch gives each step's loss and what was asked for.

        Args:
            fetched: The keys of what is asked for.
        """

        def outputs(scope: ModelScope, spec: Any) -> dict[str, Any]:
            loss = jnp.reshape(jnp.asarray(spec.loss), ())
            return {LOSS: loss, FETCHED: self.fetched(scope, fetched, spec.train_op)}

        return self.program(outputs, of_first=(FETCHED,), name="train")

    def fetched(self, scope: ModelScope, keys: frozenset[Key], train_op: object = None) -> dict[Key, Any]:
        """Run an operation, and compute what hooks ask for.

        Args:
            scope: The scope of the trace.
            keys: What they ask for.
            train_op: What is run besides.
        """
        # Before the operations: in TensorFlow tensors are computed with the variables of before the step.
        found = {key: _value(scope, key) for key in keys if key[0] not in ("variable", "operation")}
        scope.run([train_op, *(scope.operation_of(order) for kind, order in keys if kind == "operation")])
        return found | {key: _value(scope, key) for key in keys if key[0] == "variable"}

    def global_step(self) -> int:
        """Return the global step now."""
        (step,) = variable_store.read_all([self.state.variables[GLOBAL_STEP]])
        return int(np.asarray(step))

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
            if name in scope.tensors():
                return "name", name
            if name in self.state.variables:
                return "variable", name
            known = [*scope.tensors(), *self.state.variables]
            raise errors.BadArgumentError(
                f"The model has no tensor of this name. Expected: one of {', '.join(map(repr, known))}. Received: "
                f"{shown(fetch)}. Name a tensor with tf.identity(tensor, name=...)."
            )
        if isinstance(fetch, keras.Variable):
            return "variable", fetch.path
        if isinstance(fetch, Operation):
            return "operation", fetch.order
        if isinstance(fetch, np.ndarray | np.generic | int | float) or (
            isinstance(fetch, jax.Array) and not isinstance(fetch, jax.core.Tracer)
        ):
            # A tensor that was computed of constants alone is a number already.
            return "constant", Constant(np.asarray(fetch))
        number = scope.number_of(fetch)
        if number is None:
            raise errors.BadTypeError(
                "A hook asked for something that the model_fn did not compute. Expected: a tensor, variable or "
                f"operation of the model_fn, or its name. Received: {shown(fetch)}."
            )
        return "number", number


def _value(scope: ModelScope, key: Key) -> Any:
    """Return what a key stands for in a trace."""
    kind, which = key
    if kind == "name":
        return jnp.asarray(scope.tensors()[str(which)])
    if kind == "variable":
        return scope.state.variables[str(which)].value
    try:
        return scope.result(which)  # type: ignore[arg-type]
    except IndexError:
        raise errors.TracingError(
            "A tensor that a hook asks for was not found again: the model_fn computes something else each time that it "
            "is traced. Give the tensor a name with tf.identity(tensor, name=...), and ask for the name."
        ) from None
