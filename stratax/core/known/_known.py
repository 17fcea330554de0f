"""What is known of values while they are traced: what some would be right now, and which is which (core layer).

`tf.Variable(tf.zeros([784, 10]))` in a `model_fn` gives a tracer as initial value, as everything computed there is a
part of the step's program. A :class:`KnownTrace` hands every operation on and remembers how results that depend on no
argument came about, so that they can be computed while the program is still being traced. It also numbers all results,
so that a value of one trace of a function is found again in another.
"""

import contextlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax.extend.core import set_current_trace

from stratax import errors
from stratax.base.surroundings import Slot
from stratax.core import regions, storage
from stratax.seams.jax import core


class KnownTrace(core.Trace):
    """Binds every primitive in `parent` and remembers those whose operands are known.

    Args:
        parent: The trace that was current before.
    """

    def __init__(self, parent: Any) -> None:
        super().__init__()
        # As of the tape: what needs lower types is decided by the parent.
        self.requires_low = False
        self.parent = parent
        # By id. The value is kept with its recipe: an id is free again once its value is gone.
        self._made: dict[int, tuple[Any, Any, Sequence[Any], dict[str, Any], int | None]] = {}
        self._read: dict[int, tuple[Any, keras.Variable]] = {}
        self._computed: dict[int, Any] = {}
        # What functions with derivatives of their own have made of known values: it can't be computed again.
        self._opaque: dict[int, tuple[Any, str]] = {}
        # Every result, in the order of the program, and where each one is.
        self._results: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._is_counting = True
        # By id, what values were marked with: what is computed of them has their marks.
        self._marks: dict[int, tuple[Any, frozenset[Any]]] = {}
        self._marking: frozenset[Any] = frozenset()

    @contextlib.contextmanager
    def enter(self) -> Iterator["KnownTrace"]:
        """Make it the current trace of a block."""
        with storage.listening(self._note_read), set_current_trace(self):
            yield self

    @contextlib.contextmanager
    def leave(self) -> Iterator[None]:
        """Have what a block computes be none of the trace's results."""
        with set_current_trace(self.parent):
            yield

    @contextlib.contextmanager
    def as_one(self) -> Iterator[None]:
        """Leave what a block computes without numbers: other traces may compute it by more or fewer operations."""
        before, self._is_counting = self._is_counting, False
        try:
            yield
        finally:
            self._is_counting = before

    @contextlib.contextmanager
    def marking(self, marks: Iterable[Hashable]) -> Iterator[None]:
        """Mark everything that a block computes, and nothing else that blocks around it would mark."""
        before, self._marking = self._marking, frozenset(marks)
        try:
            yield
        finally:
            self._marking = before

    def mark(self, value: object, marks: Iterable[Hashable]) -> None:
        """Mark a value, and with it what is computed of it from now on."""
        if added := frozenset(marks) | self.marks_of(value):
            self._marks[id(value)] = value, added

    def marks_of(self, value: object) -> frozenset[Any]:
        """Return what a value, or anything that it was computed of, was marked with."""
        found = self._marks.get(id(value))
        return frozenset() if found is None or found[0] is not value else found[1]

    def _carry_marks(self, args: Sequence[Any], results: Sequence[Any]) -> None:
        if not self._marks and not self._marking:
            return
        marks = self._marking.union(*map(self.marks_of, args))
        for result in results:
            self.mark(result, marks)

    def _count(self, result: object) -> None:
        if self._is_counting:
            self.number(result)

    def _note_read(self, variable: keras.Variable, value: object) -> None:
        self._read[id(value)] = (value, variable)

    def number_of(self, value: object) -> int | None:
        """Return which result of the trace a value is, counted from 0; None if it is none."""
        number = self._numbers.get(id(value))
        return number if number is not None and self._results[number] is value else None

    def result(self, number: int) -> Any:
        """Return the result of a number; raises IndexError where there are not so many."""
        return self._results[number]

    def number(self, value: object) -> None:
        """Give a value the next number: a result, or an argument of what is traced."""
        if isinstance(value, jax.core.Tracer) and id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._results)
            self._results.append(value)

    def value_of(self, value: object) -> Any:
        """Return what a traced value is right now, while it is traced.

        Args:
            value: A value of this trace, or a constant.

        Raises:
            LookupError: If it depends on an argument of the program.
        """
        return self._value_of(value, self._computed)

    def value_later(self, value: object) -> Any:
        """Return what a traced value would be with the values that variables have now, after the trace.

        Args:
            value: As for :meth:`value_of`.

        Raises:
            LookupError: If it depends on an argument of the program.
            OpaqueError: If it was made of known values by a function with a derivative of its own.
        """
        return self._value_of(value, {})

    def _value_of(self, value: object, computed: dict[int, Any]) -> Any:
        if not isinstance(value, jax.core.Tracer):
            return value
        key = id(value)
        if key in computed:
            return computed[key]
        if key in self._read:
            return regions.concrete_value(self._read[key][1])
        if key in self._opaque:
            raise OpaqueError(self._opaque[key][1])
        if key not in self._made:
            raise LookupError
        _, primitive, args, params, index = self._made[key]
        if primitive is None:
            # Another form of a known value: a Python number has the tensor's dtype.
            found = self._value_of(args[0], computed)
            return np.asarray(found, value.dtype) if isinstance(found, int | float | np.generic) else found
        operands = [self._value_of(arg, computed) for arg in args]
        with regions.outside_scopes():
            results = primitive.bind(*operands, **params)
        computed[key] = results if index is None else results[index]
        return computed[key]

    def is_known(self, value: object) -> bool:
        """Return whether a value depends on constants and variables only."""
        key = id(value)
        return (
            not isinstance(value, jax.core.Tracer)
            or key in self._made
            or key in self._read
            or key in self._opaque
        )

    def constant_of(self, value: object) -> Any:
        """Return the constant that a value of the trace is.

        Raises:
            LookupError: If it is computed, read or an argument.
        """
        if isinstance(value, jax.core.Tracer) and self._made[id(value)][1] is not None:
            raise LookupError
        return self.value_of(value)

    def variable_of(self, value: object) -> keras.Variable | None:
        """Return the variable that a value was read from; None for others."""
        found = self._read.get(id(value))
        return None if found is None or found[0] is not value else found[1]

    def stage_value(self, val: Any) -> Any:
        staged = self.parent.stage_value(val)
        if staged is not val and self.is_known(val):
            self._made[id(staged)] = (staged, None, (val,), {}, None)
        if staged is not val:
            self._carry_marks([val], [staged])
        return staged

    def cur_qdd(self, x: object) -> Any:
        with set_current_trace(self.parent):
            return core.cur_qdd(x)

    def process_primitive(self, primitive: Any, args: Sequence[Any], params: dict[str, Any], /) -> Any:
        results = primitive.bind_with_trace(self.parent, args, [core.typeof(arg) for arg in args], params)
        made = results if primitive.multiple_results else [results]
        for result in made:
            self._count(result)
        self._carry_marks(args, made)
        # With effects (a print, an exchange between devices) an operation is not to be run a second time.
        if all(map(self.is_known, args)) and not _has_effects(params):
            if primitive.multiple_results:
                for index, result in enumerate(results):
                    self._note_made(result, primitive, args, params, index)
            else:
                self._note_made(results, primitive, args, params, None)
        return results

    def _note_made(
        self,
        result: object,
        primitive: object,
        args: Sequence[Any],
        params: dict[str, Any],
        index: int | None,
    ) -> None:
        if isinstance(result, jax.core.Tracer):
            self._made[id(result)] = (result, primitive, args, params, index)

    def process_call(
        self, primitive: object, f: object, args: Sequence[Any], params: dict[str, Any], /
    ) -> Any:
        return self._rebind(primitive, args, {"subfuns": (f,), **params})

    def process_shard_map(self, primitive: object, fun: object, args: Sequence[Any], **params: object) -> Any:
        return self._rebind(primitive, args, {"subfuns": (fun,), **params})

    def process_custom_jvp_call(
        self, primitive: object, fun: object, jvp: object, args: Sequence[Any], /, **params: object
    ) -> Any:
        return self._rebind(primitive, args, {"subfuns": (fun, jvp), **params})

    def process_custom_vjp_call(
        self,
        primitive: object,
        fun: object,
        fwd: object,
        bwd: object,
        args: Sequence[Any],
        /,
        **params: object,
    ) -> Any:
        return self._rebind(primitive, args, {"subfuns": (fun, fwd, bwd), **params})

    def _rebind(self, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Bind a primitive that carries Python functions, which may be called only once: its results are not known."""
        with set_current_trace(self.parent):
            results = primitive.bind(*args, **params)
        is_known = all(map(self.is_known, args))
        made = results if primitive.multiple_results else [results]
        self._carry_marks(args, made)
        for result in made:
            self._count(result)
            if is_known and isinstance(result, jax.core.Tracer):
                self._opaque[id(result)] = (result, str(primitive))
        return results


_TRACE: Slot[KnownTrace | None] = Slot("known values", None)


@contextlib.contextmanager
def keeping(is_wanted: bool) -> Iterator[None]:
    """Have values of a block that depend on no argument be known to `value_now`, if that is wanted."""
    trace = KnownTrace(regions.current_trace()) if is_wanted else None
    with _TRACE.holding(trace), contextlib.nullcontext() if trace is None else trace.enter():
        yield


def value_now(value: object) -> Any:
    """Return what a traced value is, while the function that computes it is traced.

    Raises:
        NotKeptError: If nobody keeps how values come about.
        LookupError: If it depends on an argument of the program.
    """
    trace = _TRACE.get()
    if trace is None:
        raise NotKeptError
    return trace.value_of(value)


class NotKeptError(errors.BadArgumentError, LookupError):
    """How a value came about is not known yet: the function has to be traced with `keeping(True)`."""


class OpaqueError(LookupError):
    """A value was made of known ones, by a function that can be called only once."""


def _has_effects(params: dict[str, Any]) -> bool:
    jaxpr = params.get("jaxpr")
    return bool(getattr(jaxpr, "effects", ()))
