"""Gradients of what a `model_fn` computes, asked for at any time, also of gradients (v1 layer)."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.core import GradientTape
from stratax.core.gradients import rows_of_gradient
from stratax.tensorflow.v1._model_state import ModelState
from stratax.tensorflow.v1._trace_values import TraceValues


class DerivativesError(errors.TapeError):
    """A trace was asked for a derivative of a higher order than it follows; the next one will follow it."""


class Derivatives:
    """The tapes of one trace.

    Args:
        state: The model's.
        values: Of the trace.
    """

    def __init__(self, state: ModelState, values: TraceValues) -> None:
        self._state = state
        self._values = values
        # The first is the innermost: each of the others records what gradients of the one before consist of.
        self._tapes = [GradientTape(persistent=True) for _ in range(state.derivatives)]
        # What `gradients` has given, by tape: what cannot be on the way to what its gradients are asked of.
        self._gradients: list[list[Any]] = [[] for _ in self._tapes]
        # By id of a gradient, with the gradient itself: gives the rows that it consists of.
        self._rows: dict[int, tuple[Any, Callable[[], Any]]] = {}

    @contextlib.contextmanager
    def record(self, watched: Iterable[Any]) -> Iterator[None]:
        """Record a block.

        Args:
            watched: Arrays whose gradients may be asked for; others than floating point are passed over.
        """
        with contextlib.ExitStack() as stack:
            # The outer ones first, so that they see what inner ones compute.
            for tape in reversed(self._tapes):
                stack.enter_context(tape)
            for leaf in watched:
                # Whole numbers and truth values have no derivatives.
                if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating):
                    for tape in self._tapes:
                        tape.watch(leaf)
            yield

    def watch(self, value: Any) -> None:
        """Have gradients be asked for of a value, as of what is watched from the beginning."""
        for tape in self._tapes:
            tape.watch(value)

    def gradients(
        self,
        ys: object,
        xs: object,
        grad_ys: object = None,
        stop_gradients: object = None,
        *,
        zero: bool = False,
    ) -> list[Any]:
        """Return the gradients of the sum of `ys`, as `tf.gradients`; None where it does not depend on one of `xs`.

        Args:
            ys: A tensor or several.
            xs: Variables and tensors.
            grad_ys: The gradients of each of `ys`; None for ones.
            stop_gradients: Refused where given.
            zero: Whether to return zeros instead of None.

        Raises:
            DerivativesError: If `ys` depends on what this function has given before, more often than the model's
                traces were made for so far; the next trace is made for it.
        """
        if stop_gradients is not None:
            raise errors.BadArgumentError(
                f"stop_gradients is not supported. Received: stop_gradients={shown(stop_gradients)}. Wrap these "
                "tensors in tf.stop_gradient where they are used."
            )
        targets, sources = _as_list(ys), _as_list(xs)
        given = None if grad_ys is None else _as_list(grad_ys)
        # The first tape that nobody's gradients lie in the way of: further ones record more, and cost more.
        for level, tape in enumerate(self._tapes):
            found, is_whole = self._find_gradients(level, targets, sources, given)
            if not is_whole:
                continue
            made = [
                self._follow(gradient, source, level, zero=zero)
                for gradient, source in zip(found, sources, strict=True)
            ]
            for gradient, source in zip(made, sources, strict=True):
                if level == 0 and gradient is not None and isinstance(source, keras.Variable):
                    rows = functools.partial(rows_of_gradient, tape, targets, source)
                    self._rows[id(gradient)] = gradient, rows
            return made
        # The model's state outlives the trace, so that the next one has a tape more.
        self._state.derivatives += 1
        raise DerivativesError(
            "A gradient was asked for of something that is computed of gradients. Expected: a trace that follows "
            f"derivatives of this order. Received: ys={shown(ys)}. Trace the function again: from now on it is "
            "followed."
        )

    def _find_gradients(
        self, level: int, targets: list[Any], sources: list[Any], given: list[Any] | None
    ) -> tuple[list[Any], bool]:
        """Return a tape's gradients, and whether they are all there is: no gradient lies on the way."""
        before = self._gradients[level]
        try:
            # What was given before is asked for too: a tape does not know what its own gradients came from.
            with self.not_recorded(level + 1), self._values.leave_uncounted():
                found = self._tapes[level].gradient(targets, [*sources, *before], output_gradients=given)
        except errors.TapeError as error:
            # Nothing of the trace leads to the targets: there are no gradients, which is no error.
            if "recorded" not in str(error):
                raise
            return [None] * len(sources), True
        return found[: len(sources)], all(gradient is None for gradient in found[len(sources) :])

    @contextlib.contextmanager
    def not_recorded(self, count: int | None = None) -> Iterator[None]:
        """Have the first tapes not record a block; None for all."""
        with contextlib.ExitStack() as stack:
            for tape in self._tapes[:count]:
                stack.enter_context(tape.stop_recording())
            yield

    def rows_of(self, gradient: TensorLike) -> Any:
        """Return the rows that a gradient consists of, as booleans; None for one of a whole variable.

        TensorFlow's gradient of a matrix whose rows are looked up (`IndexedSlices`) consists of these rows, also where
        they are zero. What is computed of it is of the whole, but for what :meth:`note_same_rows` is told of.

        Args:
            gradient: A gradient that this trace has given, or something else.
        """
        found = self._rows.get(id(gradient))
        # Ids come again: the object says whether it is the one that was noted.
        return None if found is None or found[0] is not gradient else found[1]()

    def note_whole(self, gradient: TensorLike) -> None:
        """Take note that a gradient counts as one of the whole variable."""
        self._rows.pop(id(gradient), None)

    def note_same_rows(self, made: object, source: object) -> None:
        """Take note that something that was made of a gradient consists of the same rows."""
        found = self._rows.get(id(source))
        if found is not None and found[0] is source:
            self._rows[id(made)] = made, found[1]

    def _follow(self, gradient: TensorLike, source: Any, level: int, *, zero: bool) -> Any:
        """Return a gradient as a value of its own, which its tape follows: what is computed of it is known then."""
        if gradient is None:
            return jax.numpy.zeros_like(getattr(source, "value", source)) if zero else None
        with self.not_recorded(level + 1):
            # The derivative of a product is its other factor: the same object would count as a gradient everywhere.
            made = jax.numpy.array(gradient, copy=True)
        if jax.numpy.issubdtype(made.dtype, jax.numpy.floating):
            for tape, gradients in zip(self._tapes[: level + 1], self._gradients, strict=False):
                tape.watch(made)
                gradients.append(made)
        return made


def _as_list(values: TensorLike) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]
