"""Test cases with assertions on arrays, as `tf.test` (ops layer)."""

import atexit
import contextlib
import functools
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from absl.testing import absltest

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, PyTree, TensorLike
from stratax.errors import BadArgumentError, BadTypeError, StrataxError
from stratax.tensorflow.ops.random.random import set_seed

# What TensorFlow's test case seeds its generators with.
_SEED = 87654321


@functools.cache
def get_temp_dir() -> str:
    """Return a folder for the files of tests, which goes with the process, as `tf.compat.v1.test.get_temp_dir`."""
    folder = tempfile.mkdtemp(prefix="stratax-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class TestCase(absltest.TestCase):
    """A test case that compares arrays, variables and structures of them, as `tf.test.TestCase`.

    There are neither graphs nor sessions: `evaluate` gives the values that there are. `setUp` seeds the random
    generators.
    """

    _folder: str | None = None

    def setUp(self) -> None:
        """Seed the random generators, as TensorFlow's does: a test draws the same numbers each time."""
        super().setUp()
        set_seed(_SEED)

    def get_temp_dir(self) -> str:
        """Return a folder of this test's own, which is empty at first; the same one at each call."""
        if self._folder is None:
            self._folder = str(self.create_tempdir().full_path)
        return self._folder

    def evaluate(self, tensors: PyTree) -> Any:
        """Return the values of arrays and variables in a structure, as NumPy arrays."""
        if isinstance(tensors, Mapping):
            return {key: self.evaluate(value) for key, value in tensors.items()}
        if isinstance(tensors, list | tuple):
            values = [self.evaluate(value) for value in tensors]
            return type(tensors)(*values) if hasattr(tensors, "_fields") else type(tensors)(values)
        return tensors if tensors is None or isinstance(tensors, str | bytes) else np.asarray(tensors)[()]

    def assertAllClose(
        self, a: TensorLike, b: TensorLike, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Fail unless two structures have arrays of the same shapes with close values; NaN is close to NaN.

        Args:
            a: Arrays, or a structure of them.
            b: Likewise.
            rtol: The relative difference that is allowed.
            atol: The absolute difference that is allowed in addition.
            msg: What a failure says first.
        """
        self._compare(a, b, "", lambda x, y, where: _check_close(x, y, rtol, atol, where, msg))

    def assertAllCloseAccordingToType(
        self,
        a: TensorLike,
        b: TensorLike,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Fail unless arrays are close, where narrow dtypes may differ more.

        Args:
            a: An array.
            b: Another one.
            rtol: The relative difference that is allowed.
            atol: The absolute difference that is allowed in addition.
            float_rtol: The least `rtol` for float32.
            float_atol: The least `atol` for float32.
            half_rtol: The least `rtol` for float16.
            half_atol: The least `atol` for float16.
            bfloat16_rtol: The least `rtol` for bfloat16.
            bfloat16_atol: The least `atol` for bfloat16.
            msg: What a failure says first.
        """
        least = {
            "float32": (float_rtol, float_atol),
            "complex64": (float_rtol, float_atol),
            "float16": (half_rtol, half_atol),
            "bfloat16": (bfloat16_rtol, bfloat16_atol),
        }
        # The narrower of both decides.
        for value in (a, b):
            relative, absolute = least.get(np.asarray(value).dtype.name, (0.0, 0.0))
            rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(
        self, a: TensorLike, b: TensorLike, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Fail if two structures are close, as `assertAllClose` has it."""
        self._assert_fails(lambda: self.assertAllClose(a, b, rtol, atol), "close", a, b, msg)

    def assertAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:
        """Fail unless two structures have arrays of the same shapes and values; NaN is equal to NaN."""
        self._compare(a, b, "", lambda x, y, where: _check_equal(x, y, where, msg))

    def assertNotAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:
        """Fail if two structures are equal, as `assertAllEqual` has it."""
        self._assert_fails(lambda: self.assertAllEqual(a, b), "equal", a, b, msg)

    def assertAllGreater(self, a: TensorLike, comparison_target: TensorLike) -> None:
        """Fail unless each value is greater than a number."""
        _check_all(np.asarray(a) > comparison_target, a, f"greater than {comparison_target}")

    def assertAllGreaterEqual(self, a: TensorLike, comparison_target: TensorLike) -> None:
        """Fail unless each value is a number or greater."""
        _check_all(np.asarray(a) >= comparison_target, a, f"at least {comparison_target}")

    def assertAllLess(self, a: TensorLike, comparison_target: TensorLike) -> None:
        """Fail unless each value is less than a number."""
        _check_all(np.asarray(a) < comparison_target, a, f"less than {comparison_target}")

    def assertAllLessEqual(self, a: TensorLike, comparison_target: TensorLike) -> None:
        """Fail unless each value is a number or less."""
        _check_all(np.asarray(a) <= comparison_target, a, f"at most {comparison_target}")

    def assertAllInRange(
        self,
        target: TensorLike,
        lower_bound: TensorLike,
        upper_bound: TensorLike,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fail unless each value is between two numbers.

        Args:
            target: An array of numbers.
            lower_bound: The least value.
            upper_bound: The greatest.
            open_lower_bound: Whether the least itself is not allowed.
            open_upper_bound: Whether the greatest itself is not allowed.
        """
        array = np.asarray(target)
        if array.dtype.kind not in "iuf" and array.dtype.name != "bfloat16":
            raise AssertionError(f"Only numbers are in a range. Received: an array of {array.dtype}.")
        above = array > lower_bound if open_lower_bound else array >= lower_bound
        below = array < upper_bound if open_upper_bound else array <= upper_bound
        interval = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}{')' if open_upper_bound else ']'}"
        _check_all(above & below, array, f"in {interval}")

    def assertAllInSet(self, target: TensorLike, expected_set: Iterable[Any]) -> None:
        """Fail unless each value is one of a set."""
        array = np.asarray(target)
        allowed = set(expected_set)
        found = np.array([value in allowed for value in array.ravel().tolist()], bool).reshape(array.shape)
        _check_all(found, array, f"in {sorted(allowed)}")

    def assertNear(self, f1: TensorLike, f2: TensorLike, err: float, msg: str | None = None) -> None:
        """Fail unless two numbers differ by no more than `err`."""
        first, second = float(np.squeeze(f1)), float(np.squeeze(f2))
        if not (first == second or abs(first - second) <= err):
            raise AssertionError(f"{_prefix(msg)}{first} and {second} differ by more than {err}.")

    def assertArrayNear(
        self, farray1: Sequence[float], farray2: Sequence[float], err: float, msg: str | None = None
    ) -> None:
        """Fail unless the numbers of two lists differ by no more than `err` each."""
        _check_same(len(farray1), len(farray2), "lengths", "", msg)
        for first, second in zip(farray1, farray2, strict=True):
            self.assertNear(first, second, err, msg)

    def assertNDArrayNear(
        self, ndarray1: TensorLike, ndarray2: TensorLike, err: float, msg: str | None = None
    ) -> None:
        """Fail unless the norm of the difference of two arrays is less than `err`."""
        norm = np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2))
        if not norm < err:
            raise AssertionError(f"{_prefix(msg)}The norm of the difference is {norm}, not less than {err}.")

    def assertShapeEqual(self, input_a: TensorLike, input_b: TensorLike, msg: str | None = None) -> None:
        """Fail unless two arrays have the same shape."""
        _check_same(np.shape(input_a), np.shape(input_b), "shapes", "", msg)

    def assertDTypeEqual(self, target: TensorLike, expected_dtype: DTypeLike) -> None:
        """Fail unless an array has a dtype."""
        _check_same(np.asarray(target).dtype, np.dtype(expected_dtype), "dtypes")

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Fail unless a text begins with another one."""
        if not actual.startswith(expected_start):
            raise AssertionError(
                f"{_prefix(msg)}{shown(actual)} does not start with {shown(expected_start)}."
            )

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]
        self,
        exception_type: type[Exception],
        expected_err_re_or_predicate: str | Callable[[Exception], Any],
    ) -> Iterator[None]:
        """Fail unless the block raises an error that fits.

        Args:
            exception_type: Its class.
            expected_err_re_or_predicate: A regular expression that is found in its message, or a function of it.
        """
        fits = expected_err_re_or_predicate
        try:
            yield
        # Any: one of another class is told with its class.
        except Exception as error:
            is_expected = fits(error) if callable(fits) else re.search(fits, str(error))
            if isinstance(error, exception_type) and is_expected:
                return
            raise AssertionError(f"Another error was raised: {type(error).__name__}: {error}") from error
        raise AssertionError(f"{exception_type.__name__} was not raised.")

    def assertRaisesOpError(
        self, expected_err_re_or_predicate: str | Callable[[Exception], Any]
    ) -> contextlib.AbstractContextManager[None]:
        """Fail unless the block raises an error of `tf.errors` that fits."""
        return self.assertRaisesWithPredicateMatch(StrataxError, expected_err_re_or_predicate)

    def _compare(self, a: Any, b: Any, where: str, check: Callable[[Any, Any, str], None]) -> None:
        # Mappings by key, ragged lists by place, all else as one array.
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            _check_same(set(a), set(b), "keys", where)
            for key in a:
                self._compare(a[key], b[key], f"{where}[{key!r}]", check)
        elif _is_ragged_structure(a) or _is_ragged_structure(b):
            _check_same(len(a), len(b), "lengths", where)
            for index, (first, second) in enumerate(zip(a, b, strict=True)):
                self._compare(first, second, f"{where}[{index}]", check)
        else:
            check(np.asarray(a), np.asarray(b), where)

    def _assert_fails(
        self, check: Callable[[], None], what: str, a: TensorLike, b: TensorLike, msg: str | None
    ) -> None:
        try:
            check()
        except AssertionError:
            return
        raise AssertionError(f"{_prefix(msg)}The two are {what}: {shown(a)} and {shown(b)}.")


def _is_ragged_structure(value: TensorLike) -> bool:
    """Return whether a list or tuple is no array: it holds mappings, or parts of different shapes."""
    if not isinstance(value, list | tuple):
        return False
    if any(isinstance(part, Mapping) or _is_ragged_structure(part) for part in value):
        return True
    return len({np.shape(part) for part in value}) > 1


def _prefix(msg: str | None) -> str:
    return f"{msg} " if msg else ""


def _check_same(a: TensorLike, b: TensorLike, what: str, where: str = "", msg: str | None = None) -> None:
    if a != b:
        raise AssertionError(f"{_prefix(msg)}The {what} differ{where}: {a} and {b}.")


def _check_close(a: np.ndarray, b: np.ndarray, rtol: float, atol: float, where: str, msg: str | None) -> None:
    _check_same(a.shape, b.shape, "shapes", where, msg)
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        _check_equal(a, b, where, msg)
        return
    np.testing.assert_allclose(
        _wide(a), _wide(b), rtol=rtol, atol=atol, err_msg=f"{_prefix(msg)}Not close{where}."
    )


def _check_equal(a: np.ndarray, b: np.ndarray, where: str, msg: str | None) -> None:
    _check_same(a.shape, b.shape, "shapes", where, msg)
    if {a.dtype.kind, b.dtype.kind} <= set("OSU"):
        # Text of tensors is bytes, and tests write it as either.
        a, b = (
            np.array([one.encode() if isinstance(one, str) else one for one in each.ravel().tolist()], object)
            for each in (a, b)
        )
    else:
        a, b = _wide(a), _wide(b)
    np.testing.assert_array_equal(a, b, err_msg=f"{_prefix(msg)}Not equal{where}.")


def _wide(array: np.ndarray) -> np.ndarray:
    # NumPy does not compare the dtypes of ml_dtypes with a tolerance.
    return array.astype(np.float64) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def _check_all(holds: TensorLike, array: TensorLike, what: str) -> None:
    if not np.all(holds):
        wrong = np.argwhere(~np.asarray(holds))
        first = tuple(wrong[0].tolist())
        raise AssertionError(
            f"{len(wrong)} of {np.size(array)} values are not {what}. The first is {np.asarray(array)[first]} at "
            f"{first}."
        )


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program's main module, as `tf.test.main`.

    Args:
        argv: The command line; None is that of the process.
    """
    absltest.main(argv=argv)


def compute_gradient(
    f: Callable[..., Any], x: TensorLike, delta: float | None = None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Compute the Jacobians of a function twice: as it is derived, and of differences, as `tf.test.compute_gradient`.

    Args:
        f: The function of arrays.
        x: A list or tuple of its arguments, of floating point numbers.
        delta: By how much numbers are changed for the differences; None: 2**-10.

    Returns:
        Two lists with a matrix for each argument, of which a row belongs to a number of the result and a column to one
        of the argument.

    Raises:
        BadTypeError: `x` is no list or tuple.
        BadArgumentError: An argument is not of floating point numbers.
    """
    import jax
    import jax.numpy as jnp

    if not isinstance(x, list | tuple):
        raise BadTypeError(
            f"The function's arguments have to be in a list or tuple. Received: x={shown(x)}. Write [x]."
        )
    arguments = [jnp.asarray(value) for value in x]
    for argument in arguments:
        if not jnp.issubdtype(argument.dtype, jnp.floating):
            raise BadArgumentError(
                f"Derivatives are those of floating point numbers. Received: an argument of {argument.dtype}."
            )
    # TensorFlow's default, 1 / 1024.
    step = 2.0**-10 if delta is None else delta
    derived = jax.jacobian(lambda *args: jnp.asarray(f(*args)), argnums=tuple(range(len(arguments))))(
        *arguments
    )
    # Shape (elements of the result, elements of the argument).
    theoretical = [
        np.asarray(part).reshape(-1, argument.size) for part, argument in zip(derived, arguments, strict=True)
    ]
    return theoretical, [_differences(f, arguments, index, step) for index in range(len(arguments))]


def _differences(f: Callable[..., Any], arguments: list[Any], index: int, step: float) -> np.ndarray:
    argument = np.asarray(arguments[index])
    columns = []
    for position in range(argument.size):
        results = []
        # From both sides, whose error falls with the square of the step.
        for sign in (1, -1):
            moved = argument.copy()
            moved.flat[position] += sign * step
            changed = [*arguments[:index], np.asarray(moved), *arguments[index + 1 :]]
            results.append(np.asarray(f(*changed), np.float64).ravel())
        columns.append((results[0] - results[1]) / (2 * step))
    return np.stack(columns, axis=1).astype(argument.dtype)
