"""The compiled programs of steps: one for each number and shape of batches (engine layer)."""

import contextlib
import functools
import operator
from collections.abc import Callable, Collection
from typing import Any

import jax
import jax.numpy as jnp

from stratax.base.typing import PyTree
from stratax.core import CompiledPrograms, Function, cpu
from stratax.distribute import Strategy
from stratax.distribute.replicas import enter_contexts
from stratax.distribute.strategies import StepByStep
from stratax.engine import _blocks
from stratax.engine._rows import as_rows

# Looks at a traced program, as a `jax.extend.core.ClosedJaxpr`.
OnTrace = Callable[[Any], None]
_EXPECTED_TRACES = 16  # Batches and their remainders, of training and validation, with and without weights.
# Steps that are run by what is compiled for few: with more, what `cpu.few_runs` leaves as it is takes longer to compute
# than the other program takes to compile.
_FEW = 4

_NOTHING: contextlib.AbstractContextManager[None] = contextlib.nullcontext()


class StepProgram:
    """A step of one replica, compiled so that one dispatch runs several of them on all replicas.

    The step is written for one device: the gradients that it applies are averaged over the replicas.

    Args:
        strategy: The strategy.
        block: A function `(steps, element) -> outputs` that is traced once for each number of steps and shape.
        name: What the function is called in messages and profiles.
        compiled: What was compiled before, to be run again where it is the same.
        on_trace: Called with each program's `ClosedJaxpr` before it is compiled.
        gives_rows: Whether what several steps give is joined along the first dimension; else the last step's counts.

    Attributes:
        block: The function that is traced.
    """

    def __init__(
        self,
        strategy: Strategy,
        block: Callable[[int, Any], Any],
        name: str,
        compiled: CompiledPrograms | None = None,
        on_trace: OnTrace | None = None,
        *,
        gives_rows: bool = False,
    ) -> None:
        self.block = named = _Named(block, name)
        self._strategy = strategy
        self._gives_rows = gives_rows
        self._is_one_by_one = isinstance(strategy.extended.execution, StepByStep)
        make = functools.partial(
            Function,
            named,
            autograph=False,
            traces_before_warning=_EXPECTED_TRACES,
            compiled=compiled,
            on_trace=on_trace,
        )
        self._function, self._for_few = make(), make()
        self._few_left = _FEW
        self._is_few = False

    @classmethod
    def of_updates(
        cls,
        strategy: Strategy,
        step: _blocks.Step,
        results: Callable[[], Any] | None = None,
        *,
        name: str = "train_function",
    ) -> "StepProgram":
        """Compile steps that update variables; a dispatch gives what the last step returned.

        Args:
            strategy: The strategy.
            step: What one replica does with its part of a batch.
            results: What a dispatch gives where the step returns None: a function of the variables.
            name: What the program is called.
        """
        block = functools.partial(_blocks.update_block, strategy, step, results or _nothing)
        return cls(strategy, block, name)

    @classmethod
    def of_each_step(
        cls,
        strategy: Strategy,
        step: _blocks.Step,
        *,
        of_first: Collection[str] = (),
        name: str = "train_function",
        compiled: CompiledPrograms | None = None,
        on_trace: OnTrace | None = None,
    ) -> "StepProgram":
        """Compile steps of which each one's results are wanted, stacked on a leading dimension that counts steps.

        Args:
            strategy: The strategy.
            step: What one replica does with its part of a batch.
            of_first: The keys of what it returns, a dict then, that are the first replica's and not the replicas' mean.
            name: What the program is called.
            compiled: What was compiled before, to be run again where it is the same.
            on_trace: Called with each program's `ClosedJaxpr` before it is compiled.
        """
        block = functools.partial(_blocks.each_step_block, strategy, step, of_first=of_first)
        return cls(strategy, block, name, compiled, on_trace, gives_rows=True)

    @classmethod
    def of_examples(
        cls,
        strategy: Strategy,
        step: _blocks.Step,
        *,
        of_first: Collection[str] = (),
        name: str = "predict_function",
        compiled: CompiledPrograms | None = None,
        on_trace: OnTrace | None = None,
    ) -> "StepProgram":
        """Compile steps that return a row for each example; a dispatch gives all rows in the order of the examples.

        The rows of several steps on several replicas are :class:`stratax.engine._rows.OutputRows`.

        Args:
            strategy: The strategy.
            step: What one replica does with its part of a batch.
            of_first: The keys of what it returns, a dict then, that are the first replica's, of each step.
            name: What the program is called.
            compiled: What was compiled before.
            on_trace: Called with each program's `ClosedJaxpr` before it is compiled.
        """
        block = functools.partial(_blocks.predict_block, strategy, step, of_first=of_first)
        return cls(strategy, block, name, compiled, on_trace, gives_rows=True)

    @property
    def function(self) -> Function:
        """The compiled function `(steps, element)` that is dispatched."""
        return self._function

    @property
    def num_programs(self) -> int:
        """How many programs have been compiled."""
        return self._function.num_programs + self._for_few.num_programs

    def expect(self, steps: int | None) -> None:
        """Say how many steps are run until this is called again: the first few need no program that is fast.

        What is compiled for few steps is compiled sooner, and its results differ in their last bits. All steps up to
        the next call of this are run by one of the two.

        Args:
            steps: How many; None for as many as there may be.
        """
        self._is_few = steps is not None and steps <= self._few_left
        self._few_left = self._few_left - steps if steps is not None and self._is_few else 0

    def __call__(self, steps: int, element: PyTree) -> Any:
        """Run so many steps.

        Args:
            steps: How many.
            element: Their batches: one, or, if there are several, stacked on a leading dimension.
        """
        function, compiling = self._function, _NOTHING
        if self._is_few:
            function, compiling = self._for_few, cpu.few_runs()
        with enter_contexts(self._strategy, None), compiling:
            if steps == 1:
                return function(1, element)
            if not self._is_one_by_one:
                # Only of several steps does each replica keep its own rows.
                outputs = function(steps, element)
                return as_rows(outputs) if self._gives_rows else outputs
            outputs = [function(1, each) for each in unstack_batches(steps, element)]
        if not self._gives_rows:
            return outputs[-1]
        return jax.tree.map(lambda *rows: jnp.concatenate(rows), *outputs)


def unstack_batches(steps: int, element: PyTree) -> list[Any]:
    """Return the batches of several steps, which are stacked on a leading dimension."""
    if steps == 1:
        return [element]
    return [jax.tree.map(operator.itemgetter(step), element) for step in range(steps)]


class _Named:
    """A function of steps under a name.

    Not a closure, as what those hold is compared on every call, nor a partial function, whose arguments would be bound
    to names on every call.

    Args:
        block: The function.
        name: The name.
    """

    def __init__(self, block: Callable[[int, Any], Any], name: str) -> None:
        self._block = block
        self.__name__ = self.__qualname__ = name

    def __call__(self, steps: int, element: object) -> Any:
        return self._block(steps, element)


def _nothing() -> None:
    """Return no results, for programs that report none."""
