"""Python that a step calls in its worker: prints, functions on the host, assertions (distribute layer).

The step itself travels as an exported program, in which calls are numbers. What they call is pickled by cloudpickle and
travels beside it, over connections whose ends belong to the cluster; a worker in the coordinator's own process calls
the very functions.
"""

import functools
import io
import logging
import pickle
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import jax
import keras
import numpy as np

from stratax._shown import shown
from stratax.core import programs
from stratax.errors import (
    BadArgumentError,
    FailedPreconditionError,
    OutOfRangeError,
    ResourceExhaustedError,
    TracingError,
    UnimplementedError,
    UnknownError,
)
from stratax.seams import jax_host_calls as seam

# What tells this process from others.
HERE = uuid.uuid4().hex

# What an error of a Python function becomes, as in TensorFlow; any other becomes an UnknownError.
_KINDS = (
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    ((ValueError, TypeError), BadArgumentError),
)
# What workers compute on where programs call Python by number.
_PLATFORMS = ("cpu", "cuda", "rocm")

_given: "weakref.WeakValueDictionary[str, HostCalls]" = weakref.WeakValueDictionary()
_logger = logging.getLogger("stratax")


class HostCalls:
    """The functions that a step calls, by their numbers.

    Args:
        calls: The functions, of NumPy arrays, with the types of what each returns.
    """

    def __init__(self, calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]) -> None:
        self.name = uuid.uuid4().hex
        self._calls = calls
        _given[self.name] = self

    def pickled(self) -> bytes:
        """Return the functions, for a worker in another process.

        Raises:
            TracingError: They use what can't be sent.
        """
        stream = io.BytesIO()
        try:
            _Pickler(stream).dump(self._calls)
        except TracingError:
            raise
        except Exception as error:  # Objects say in various ways that they can't be pickled.
            raise TracingError(
                "Python that a scheduled function calls while it runs (print, py_function, an assertion) is sent to "
                f"the workers, and this can't be pickled ({type(error).__name__}: {error}). Make what it needs inside "
                "of the function that is called."
            ) from error
        return stream.getvalue()

    @classmethod
    def unpickled(cls, payload: bytes) -> "HostCalls":
        """Return what :meth:`pickled` has given."""
        return cls(pickle.loads(payload))

    @classmethod
    def named(cls, name: str) -> "HostCalls":
        """Return the functions of this process that have a name."""
        found = _given.get(name)
        if found is None:
            raise FailedPreconditionError("The functions of a step are gone: its coordinator has ended.")
        return found

    def program(self, exported: Any) -> Callable[..., tuple[list[Any], list[Any]]]:
        """Return a program that calls them.

        Args:
            exported: The program, exported with their numbers.
        """
        errors: list[BaseException] = []
        compiled = seam.compiled_with(
            exported,
            [functools.partial(_called, errors, function, types) for function, types in self._calls],
        )

        def run(*operands: Any) -> tuple[list[Any], list[Any]]:
            errors.clear()
            try:
                changed, results = jax.block_until_ready(compiled(*operands))
            except Exception:
                if not errors:
                    raise
                raise _raised(errors[0]) from errors[0]
            return changed, results

        return run


def exportable(closed: Any) -> tuple[Callable[..., list[Any]], HostCalls]:
    """Return a function that computes what was traced, to be exported, and what it calls.

    Args:
        closed: A closed jaxpr.

    Returns:
        The function, which gives a number more behind its results; and the functions that it calls.

    Raises:
        TracingError: It calls Python in a way that only this process can.
    """
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def number_of(equation: Any) -> int | None:
        if not programs.is_call(equation):
            return None
        types = tuple((tuple(v.aval.shape), np.dtype(v.aval.dtype).name) for v in equation.outvars)
        calls.append((_function_of(equation), types))
        return len(calls) - 1

    numbered = seam.with_numbered_calls(closed, number_of)
    return seam.called_with(numbered), HostCalls(calls)


def exported(compiled: Any, platform: str, *given: Any) -> bytes:
    """Return a compiled function, exported.

    Args:
        compiled: The function.
        platform: What it is run on.
        *given: The types of its arguments.

    Raises:
        TracingError: It can't be.
    """
    try:
        made = jax.export.export(compiled, platforms=(platform,), disabled_checks=seam.CHECKS)(*given)
    except NotImplementedError as error:
        raise TracingError(
            "A function that a coordinator schedules does what a worker can't, a summary for instance "
            f"({error}). Return what is wanted, and write it in the coordinator."
        ) from error
    return bytes(made.serialize())


def check_platform(platform: str) -> None:
    """Raise where a worker's programs can't call Python.

    Raises:
        TracingError: The worker computes on TPUs, for instance.
    """
    if platform not in _PLATFORMS:
        raise TracingError(
            "A function that a coordinator schedules calls Python while it runs (print, py_function, an assertion). "
            f"Expected: workers that compute on CPUs or GPUs. Received: {shown(platform)}. Return what is wanted, and "
            "look at it in the coordinator."
        )


def _function_of(equation: Any) -> Callable[..., Any]:
    """Return what an operation calls, as a function of NumPy arrays."""
    name, params = equation.primitive.name, equation.params
    if name == "stratax_call":
        function: Callable[..., Any] = params["function"]
        return function
    if name == "stratax_check":
        return functools.partial(_check, params["receive"].describe)
    if name == "debug_print":
        return functools.partial(seam.print_formatted, **params)
    if "callback" in params:
        return functools.partial(_on_arrays, params["callback"])
    raise TracingError(
        "A function that a coordinator schedules calls Python in a way that workers can't "
        f"({name}). Return what is wanted, and look at it in the coordinator."
    )


def _check(describe: Callable[..., str], holds: Any, *arrays: Any) -> tuple[()]:
    if not np.all(holds):
        raise _AssertionFailedError(describe(*arrays))
    return ()


class _AssertionFailedError(Exception):
    """What the message of an assertion travels with."""


def _on_arrays(callback: Callable[..., Any], *arrays: Any) -> Any:
    """Call a function as JAX' callbacks do: with arrays of JAX, on the host."""
    device = jax.local_devices(backend="cpu")[0]
    with jax.default_device(device):
        return callback(*jax.device_put(arrays, device))


def _called(
    errors: list[BaseException],
    function: Callable[..., Any],
    types: Sequence[tuple[tuple[int, ...], str]],
    token: Any,
    *arrays: Any,
) -> tuple[Any, ...]:
    """Call a function for a running program; what it raises ends the program."""
    try:
        # Copies: the arrays are views of the program's memory.
        made = function(*(np.array(array) for array in arrays))
        results = [np.asarray(each) for each in made or ()]
        found = [(each.shape, jax.dtypes.canonicalize_dtype(each.dtype).name) for each in results]
        if found != list(types):
            raise BadArgumentError(
                f"A function that a program calls returned other types than it had said. Expected: {shown(types)}. "
                f"Received: {shown(found)}."
            )
        return (token, *(each.astype(dtype) for each, (_, dtype) in zip(results, types, strict=True)))
    except BaseException as error:
        errors.append(error)
        raise


def _raised(error: BaseException) -> Exception:
    """Return what the coordinator is told of an error of a Python function."""
    if isinstance(error, _AssertionFailedError):
        return BadArgumentError(str(error))
    _logger.error("A Python function that a step calls has failed.", exc_info=error)
    kind = next((made for kinds, made in _KINDS if isinstance(error, kinds)), UnknownError)
    return kind(f"{type(error).__name__}: {error}")


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Refuses what would be another one where it arrives."""

    def persistent_id(self, obj: Any) -> None:
        if isinstance(obj, keras.Variable):
            raise TracingError(
                "A Python function that a scheduled function calls while it runs can't use variables: it runs in a "
                f"worker. Received: {shown(obj)}. Pass its value as an argument, tf.py_function(fn, [variable], Tout)."
            )
        if isinstance(obj, jax.core.Tracer):
            raise TracingError(
                "A Python function that a scheduled function calls while it runs uses a value that is known when it "
                f"runs only: {shown(obj)}. Pass it as an argument, tf.py_function(fn, [value], Tout)."
            )
