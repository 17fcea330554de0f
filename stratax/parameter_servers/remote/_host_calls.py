"""Python that a step calls while it runs: in its worker, or in the coordinator's process (distribute layer).

The step itself travels as an exported program, in which calls are numbers. What prints and asserts is pickled by
cloudpickle and travels beside it, over connections whose ends belong to the cluster. A user's function stays in the
process that it was written for, as in TensorFlow: there it finds the variables, lists and locks that it refers to. The
worker asks for its results (`_conversation`).
"""

import functools
import io
import logging
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import jax
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.core import control, host, jaxprs, programs
from stratax.errors import (
    BadArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
    TracingError,
    UnimplementedError,
    UnknownError,
)
from stratax.seams import jax_host_calls as seam

# What an error of a Python function becomes, as in TensorFlow; any other becomes an UnknownError.
_KINDS = (
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    ((ValueError, TypeError), BadArgumentError),
)
# What workers compute on where programs call Python by number.
_PLATFORMS = ("cpu", "cuda", "rocm")
_logger = logging.getLogger("stratax")

# The shapes and dtypes of what a function returns.
Types = tuple[tuple[tuple[int, ...], str], ...]


class HostCalls:
    """The functions that a step calls, by their numbers, as its coordinator knows them."""

    def __init__(self) -> None:
        self._functions: list[tuple[Callable[..., Any], Types]] = []
        self._travelling: list[bool] = []

    def add(self, function: Callable[..., Any], types: Types, *, travels: bool) -> int:
        """Add a function, and return its number.

        Args:
            function: The function, of NumPy arrays.
            types: What it returns.
            travels: Whether it does the same in any process.
        """
        self._functions.append((function, types))
        self._travelling.append(travels)
        return len(self._functions) - 1

    def pickle(self) -> bytes:
        """Return what a worker needs of them: those that travel, if they can be pickled."""
        sent = []
        for (function, types), travels in zip(self._functions, self._travelling, strict=True):
            sent.append((_pickle(function) if travels else None, types))
        return pickle.dumps(sent)

    def call(self, number: int, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Call a function for a worker.

        Args:
            number: Its number.
            arrays: Its arguments.

        Raises:
            StrataxError: It has failed.
        """
        try:
            return _results(*self._functions[number], arrays)
        except Exception as error:
            raise _translate_error(error) from error


class WorkerCalls:
    """The functions that a step calls, as its worker knows them.

    Args:
        payload: What :meth:`HostCalls.pickled` has given.
        ask: Has the coordinator call a function, by its number, with arrays; returns the results.
    """

    def __init__(self, payload: bytes, ask: Callable[[int, Sequence[np.ndarray]], list[np.ndarray]]) -> None:
        sent = pickle.loads(payload)
        self.asks = any(pickled is None for pickled, _ in sent)
        self._calls = [
            functools.partial(ask, number)
            if pickled is None
            else functools.partial(_here, pickle.loads(pickled), types)
            for number, (pickled, types) in enumerate(sent)
        ]

    def program(self, exported: object) -> Callable[..., tuple[list[Any], list[Any]]]:
        """Return a program that calls them.

        Args:
            exported: The program, exported with their numbers.
        """
        errors: list[BaseException] = []
        compiled = seam.compile_with(
            exported, [functools.partial(_call, errors, call) for call in self._calls]
        )

        def run(*operands: object) -> tuple[list[Any], list[Any]]:
            errors.clear()
            # XLA runs a program whose arrays are there in this thread. Others wait for them in its own, of which there
            # are as many as cores: calls would hold these, and may need one themselves.
            operands = jax.block_until_ready(jax.device_put(operands))
            try:
                changed, results = jax.block_until_ready(compiled(*operands))
            except Exception:
                if not errors:
                    raise
                raise _translate_error(errors[0]) from errors[0]
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
    calls = HostCalls()

    def number_call(equation: Any) -> Any:
        if not programs.is_call(equation):
            return None
        types = tuple((tuple(v.aval.shape), np.dtype(v.aval.dtype).name) for v in equation.outvars)
        function, travels = _function_of(equation)
        return seam.number_call(equation, calls.add(function, types, travels=travels))

    return seam.make_caller(jaxprs.rewrite(closed, number_call, seam.effects_of)), calls


def export_compiled(compiled: Any, platform: str, *given: Any) -> bytes:
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


def _function_of(equation: Any) -> tuple[Callable[..., Any], bool]:
    """Return what an operation calls, as a function of NumPy arrays, and whether it does the same in any process."""
    name, params = equation.primitive.name, equation.params
    if name == "stratax_call":
        return params["function"], False
    if name == "stratax_check":
        return functools.partial(_check, params["receive"].describe), True
    if name == "debug_print":
        return functools.partial(seam.print_formatted, **params), True
    if "callback" in params:
        function = params["callback"]
        if isinstance(function, control.Printing):
            return function, function.is_anywhere
        return functools.partial(_on_arrays, function), False
    raise TracingError(
        "A function that a coordinator schedules calls Python in a way that workers can't "
        f"({name}). Return what is wanted, and look at it in the coordinator."
    )


class _AssertionFailedError(Exception):
    """What the message of an assertion travels with."""


def _check(describe: Callable[..., str], holds: Any, *arrays: Any) -> None:
    if not np.all(holds):
        raise _AssertionFailedError(describe(*arrays))


def _on_arrays(callback: Callable[..., Any], *arrays: object) -> Any:
    """Call a function as JAX' callbacks do: with arrays of JAX, on the host."""
    device = jax.local_devices(backend="cpu")[0]
    with jax.default_device(device):
        return callback(*jax.device_put(arrays, device))


def _here(function: Callable[..., Any], types: Types, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return _results(function, types, arrays)


def _call(
    errors: list[BaseException],
    call: Callable[[Sequence[np.ndarray]], list[np.ndarray]],
    token: object,
    *arrays: object,
) -> tuple[Any, ...]:
    """Make a call of a running program; what it raises ends the program."""
    try:
        # Copies: the arrays are views of the program's memory.
        return (token, *call([np.array(array) for array in arrays]))
    except BaseException as error:
        errors.append(error)
        raise


def _results(function: Callable[..., Any], types: Types, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    made = function(*arrays)
    results = [np.asarray(each) for each in made or ()]
    found = tuple((each.shape, jax.dtypes.canonicalize_dtype(each.dtype).name) for each in results)
    if found != types:
        raise BadArgumentError(
            f"A function that a program calls returned other types than it had said. Expected: {shown(types)}. "
            f"Received: {shown(found)}."
        )
    return [each.astype(dtype) for each, (_, dtype) in zip(results, types, strict=True)]


def _translate_error(error: BaseException) -> Exception:
    """Return what is raised for an error of a function that a program calls."""
    error = host.own_of(error)
    if isinstance(error, _AssertionFailedError):
        return BadArgumentError(str(error))
    _logger.debug("A Python function that a step calls has failed.", exc_info=error)
    kind = next((made for kinds, made in _KINDS if isinstance(error, kinds)), UnknownError)
    return kind(str(error) if type(error) is kind else f"{type(error).__name__}: {error}")


def _pickle(function: Callable[..., Any]) -> bytes | None:
    """Return a function, pickled; None where it refers to what is only in this process."""
    stream = io.BytesIO()
    try:
        _Pickler(stream).dump(function)
    except Exception:  # Objects say in various ways that they can't be pickled.
        _logger.debug("A print can't be sent to workers, and is made in this process.", exc_info=True)
        return None
    return stream.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles nothing that would be another one where it arrives."""

    def persistent_id(self, obj: object) -> None:
        if isinstance(obj, keras.Variable):
            raise pickle.PicklingError("A variable belongs to this process.")
