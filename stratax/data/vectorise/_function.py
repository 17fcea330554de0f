"""Ways of calling a pure function once for a whole block of elements (data layer)."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from stratax.base import tracebacks
from stratax.base.recording import NOT_RECORDED, RECORDER
from stratax.base.refusals import call_symbolically, explain_refusal
from stratax.base.tensors import has_tensors
from stratax.base.tracing import COMPUTES, PIPELINE, TRACING
from stratax.core.control import RunAgainError
from stratax.data.elements import (
    Row,
    Structure,
    as_array,
    as_components,
    as_element,
    as_row,
    as_tensors,
    flatten,
    unflatten,
)
from stratax.data.vectorise._batched_element import BatchedElement, CannotVectorise
from stratax.data.vectorise._chained import Deferred
from stratax.data.vectorise._user_code import describe_unexpected_end, name_of

# A function of elements of ever new shapes is better called one by one.
_MAX_PROGRAMS = 32
# A few units in the last place of float32: XLA may fuse a product with a sum.
_TOLERANCE = 2e-6
Result = tuple[list[np.ndarray], Structure]
Operation = TypeVar("Operation", bound=Callable[..., Any])
# Maps component columns to the columns and structure of the results.
Vectorised = Callable[[Sequence[np.ndarray]], Result]


def uses_jax() -> bool:
    """Return whether the process has imported JAX. Where it has not, a pipeline does not either."""
    return "jax" in sys.modules


def in_pipeline() -> bool:
    """Return whether the caller runs in a function that a pipeline calls, where numbers keep their 64 bits."""
    return PIPELINE.get() is not None


def make_tensors(result: object) -> Any:
    """Return what a function of `tf` gives on the host, with a tensor's methods where the program computes at once.

    That is in programs that have imported `stratax.tf`; in compiled functions only text.
    """
    if not has_tensors() or COMPUTES.get():
        return result
    return _text_tensor(result) if TRACING.get() else as_tensors(result)


def _text_tensor(result: object) -> Any:
    """Return text with a tensor's methods; in compiled functions it is all that stays on the host."""
    is_text = type(result) is bytes or (type(result) is np.ndarray and result.dtype.hasobject)
    return as_tensors(result) if is_text else result


def gives_tensors(function: Operation) -> Operation:
    """Have a function give what :func:`make_tensors` makes of its result, and raise errors that name it.

    Args:
        function: The function. What it calls itself gives plain arrays.
    """

    @functools.wraps(function)
    def make_result(*args: object, **kwargs: object) -> Any:
        recorder = RECORDER.get()
        if recorder is not None:
            recorded = recorder.record_call(make_result, args, kwargs)
            if recorded is not NOT_RECORDED:
                return recorded
        if COMPUTES.get():
            return function(*args, **kwargs)
        is_outermost = has_tensors() and not TRACING.get()
        COMPUTES.set(is_outermost)
        try:
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                if (symbol := call_symbolically(function, args, kwargs)) is not None:
                    return symbol
                if (other := explain_refusal(function, args, kwargs, error)) is None:
                    raise
                raise other from error
        except Exception as error:
            tracebacks.shorten(error)
            raise
        finally:
            COMPUTES.set(False)
        if is_outermost:
            return as_tensors(result)
        return _text_tensor(result) if has_tensors() else result

    return cast(Operation, make_result)


def gives_elements(function: Operation) -> Operation:
    """Have a function that makes arrays on the host give them as a pipeline's elements, where a pipeline calls it.

    Where none does it gives what :func:`make_tensors` makes of them.

    Args:
        function: The function: of `bytes`, for instance, which an array that knows to be an element can't come from.
    """

    @functools.wraps(function)
    def make_result(*args: object, **kwargs: object) -> Any:
        recorder = RECORDER.get()
        if recorder is not None:
            recorded = recorder.record_call(make_result, args, kwargs)
            if recorded is not NOT_RECORDED:
                return recorded
        result = function(*args, **kwargs)
        return as_element(result) if in_pipeline() else make_tensors(result)

    return cast(Operation, make_result)


@contextlib.contextmanager
def on_host() -> Iterator[None]:
    """Run a function of a pipeline on the CPU, eagerly, whatever is being traced or taped around it."""
    # What asks for elements may itself be a function that `gives_tensors`.
    computes, pipeline = COMPUTES.get(), PIPELINE.get()
    COMPUTES.set(False)
    PIPELINE.set(TRACING.get())
    try:
        with _jax_on_cpu():
            yield
    finally:
        PIPELINE.set(pipeline)
        COMPUTES.set(computes)


@contextlib.contextmanager
def _jax_on_cpu() -> Iterator[None]:
    if not uses_jax():
        yield
        return
    import jax

    # JAX may have been told not to start its CPU platform.
    platforms: str | None = jax.config.jax_platforms  # type: ignore[attr-defined]
    has_cpu = not platforms or "cpu" in platforms.split(",")
    device = jax.default_device("cpu") if has_cpu else contextlib.nullcontext()
    # Values and no tracers, also if a compiled function reads the Dataset.
    with device, jax.ensure_compile_time_eval():
        yield


@contextlib.contextmanager
def keep_variables() -> Iterator[None]:
    """Mark a block within which what is assigned to variables of Keras is seen, and forgotten at the end."""
    if "keras" not in sys.modules:
        yield
        return
    from keras import StatelessScope

    # Keras keeps assignments in the scope, which nobody reads.
    with StatelessScope():
        yield


def call(function: Callable[..., Any], structure: Structure, leaves: Sequence[Any]) -> Any:
    """Call a user's function with one element: a tuple becomes positional arguments, as in tf.data."""
    element = unflatten(structure, [as_element(leaf) for leaf in leaves])
    try:
        arguments = element if type(element) is tuple else (element,)
        return function(*arguments)
    except RunAgainError as error:
        return error.rewritten(function)(*arguments)
    except StopIteration as e:
        raise describe_unexpected_end(name_of(function), e) from e


def result_of(
    function: Callable[..., Any],
    structure: Structure,
    leaves: Sequence[Any],
    into: Sequence[np.ndarray] = (),
) -> tuple[Row, Structure]:
    """Return what a user's function makes of one element: leaves and structure of the new element.

    Args:
        function: The function, or what `chained` made of it.
        structure: Structure of the element.
        leaves: The element.
        into: One array for each component of results before this one; a result that is only computed now is written
            there if it fits.
    """
    result = call(function, structure, leaves)
    if isinstance(result, Deferred):
        result = result.value(into[0] if len(into) == 1 else None)
    try:
        return as_row(as_components(result))
    except StopIteration as e:
        raise describe_unexpected_end(f"What {name_of(function)} gave", e) from e


class WithNumPy:
    """Calls a NumPy function once, with stand-ins for the components of an element."""

    def __init__(self, function: Callable[..., Any], structure: Structure) -> None:
        self._function = function
        self._structure = structure

    def __call__(self, columns: Sequence[np.ndarray]) -> Result:
        """Return the results; `columns` stay as they are."""
        count = len(columns[0])
        stand_ins = [BatchedElement(column) for column in columns]
        leaves, structure = flatten(as_components(call(self._function, self._structure, stand_ins)))
        return [self._column(leaf, count) for leaf in leaves], structure

    @staticmethod
    def _column(leaf: object, count: int) -> np.ndarray:
        if isinstance(leaf, BatchedElement):
            return leaf.column
        if isinstance(leaf, list):
            raise CannotVectorise
        # The same for every element: it does not depend on them.
        constant = np.asarray(as_array(leaf))
        return np.repeat(constant[None], count, axis=0)


class WithJAX:
    """Traces a function of `jax.numpy` or `keras.ops` for a block of elements and runs the program.

    Args:
        function: The user's.
        structure: Structure of an element.
        compiled: Whether XLA runs the program (on the CPU), or NumPy.
    """

    def __init__(self, function: Callable[..., Any], structure: Structure, *, compiled: bool) -> None:
        self._function = function
        self._structure = structure
        self._compiled = compiled
        self._programs: dict[Any, tuple[Callable[..., Any], Structure]] = {}

    def __call__(self, columns: Sequence[np.ndarray]) -> Result:
        key = tuple((column.shape, column.dtype) for column in columns)
        if key not in self._programs:
            if len(self._programs) >= _MAX_PROGRAMS:
                raise CannotVectorise
            self._programs[key] = self._build(columns)
        program, structure = self._programs[key]
        return program(columns), structure

    def _build(self, columns: Sequence[np.ndarray]) -> tuple[Callable[..., Any], Structure]:
        import jax

        from stratax.data.vectorise._numpy_program import NumPyProgram, divides_integers, trace

        structures: list[Structure] = []

        def on_leaves(*leaves: object) -> tuple[Any, ...]:
            results, structure = flatten(as_components(call(self._function, self._structure, leaves)))
            structures.append(structure)
            return tuple(_trace_leaf(leaf) for leaf in results)

        with on_host():
            program, _ = trace(on_leaves, columns)
        if divides_integers(program):
            # A compiled program does not notice a division by zero.
            raise CannotVectorise
        if not self._compiled:
            return NumPyProgram(program), structures[-1]
        return functools.partial(_run_compiled, jax.jit(jax.vmap(on_leaves))), structures[-1]


def _trace_leaf(leaf: object) -> Any:
    from jax.core import Tracer

    return leaf if isinstance(leaf, Tracer) else np.asarray(as_array(leaf))


def _run_compiled(program: Callable[..., Any], columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    with on_host():
        return [np.asarray(leaf) for leaf in program(*columns)]


def agrees(column: np.ndarray, rows: Sequence[Any], *, exactly: bool) -> bool:
    """Return whether a column has the values, shapes and dtype of what the function gives element by element."""
    for have, want in zip(column, rows, strict=False):
        if _kind(have) != _kind(want):
            return False
        if exactly or column.dtype.kind != "f":
            if not np.array_equal(have, want, equal_nan=column.dtype.kind in "fc"):
                return False
        elif not np.allclose(have, want, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
            return False
    return True


def _kind(leaf: Any) -> tuple[Any, tuple[int, ...]]:
    """Return dtype and shape; the type of a string, which has no dtype."""
    return getattr(leaf, "dtype", type(leaf)), np.shape(leaf)


def block_agrees(result: Result, rows: Sequence[tuple[Row, Structure]], *, exactly: bool) -> bool:
    """Return whether the results of a block are those of its elements one by one."""
    columns, structure = result
    return all(structure == other for _, other in rows) and all(
        agrees(column, [row[i] for row, _ in rows], exactly=exactly) for i, column in enumerate(columns)
    )
