"""Functions of arrays that have values, each computed by one compiled program (ops layer).

Dispatching a program takes no longer than one operation of `jax.numpy`. What a function does before that, to tell
operands on the host, text, symbols and lists from each other, takes several times as long, and so do the checks of
`keras.ops`. So where all operands are plain arrays the function is compiled as it stands, and looked into no more:
JAX' arrays, Python's numbers beside such, and NumPy's arrays where the function would send them to a device.

That is for functions in which XLA has nothing to fuse, most of one operation: their numbers stay the same to the last
bit. Softmax, and products of transposed matrices, are rounded as in compiled functions. Of floats of 16 bits XLA keeps
more than 16 between operations, so those are computed one after the other.
"""

import sys
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from stratax.base.tracing import PIPELINE, TRACING
from stratax.base.typing import Array
from stratax.data.elements import DType

# Enough for the ways in which programs call one function; a function that gets ever new options is better called.
_MOST = 64
# Within one program XLA may compute numbers of 16 bits with more, and round once.
_SIZE_OF_HALVES = 2
_SIZE_OF_NUMBERS = 4
# Beside arrays of these a number of Python has the dtype that its array has in a program; not beside int8, for one.
_DTYPES_BESIDE_NUMBERS = frozenset(np.dtype(name) for name in ("int32", "float32"))
# What options may be.
_UNCHANGING = (int, float, complex, str, bytes, types.NoneType, np.generic, np.dtype, DType, type)
# Of NumPy's arrays which devices take without a look at their values: those that have no whole numbers of 64 bits.
PLAIN_DTYPES = frozenset(
    np.dtype(name)
    for name in ("bool", "int8", "uint8", "int32", "uint32", "float32", "float64", "complex64", "complex128")
)


class _NotComputed:
    """Says that a call is to be made as always."""


NOT_COMPUTED: Final = _NotComputed()


class Jax:
    """What is taken from JAX once it is imported: without it nobody has an array of it.

    Attributes:
        array: The class of its arrays that have values.
        is_top_level: Tells whether nothing is traced.
        floatx: Gives the default dtype of Keras.
    """

    array: Any = None
    is_top_level: Callable[[], bool] = staticmethod(lambda: False)
    floatx: Callable[[], str] = staticmethod(str)

    @classmethod
    def find(cls) -> None:
        """Take them, if JAX and Keras are imported by now."""
        if "jax" in sys.modules and "keras" in sys.modules:
            from keras.config import floatx

            from stratax.seams import jax_arrays

            cls.is_top_level, cls.floatx = jax_arrays.is_top_level, floatx
            cls.array = jax_arrays.ArrayImpl


def is_at_once() -> bool:
    """Return whether what is called now is computed now, outside of pipelines and of what is traced or taped."""
    if Jax.array is None and "jax" in sys.modules:
        Jax.find()
    return not TRACING.get() and PIPELINE.get() is None and Jax.is_top_level()


class EagerPrograms:
    """The programs of one function: one for each set of options and, by JAX' own cache, for shapes and dtypes.

    Args:
        function: It depends on nothing but its arguments, and on the arrays among them not by their values.
        arrays: The names of its first parameters, which are arrays; or `*name` for those that have no parameters of
            their own, behind one that is an option. The others are options.
        sends: Whether it computes on a device whatever the arrays are: outside of pipelines, of NumPy's, too.
        numbers: Whether Python's numbers among them are arrays; not if it computes otherwise with what it can look at.
        lists: The names of those that may be lists: of arrays, or of whole numbers, which become an array.
        is_checked: Whether it tells `check_bound` of values, which are looked at before the program runs.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arrays: Sequence[str],
        *,
        sends: bool = False,
        numbers: bool = True,
        lists: Sequence[str] = (),
        is_checked: bool = False,
    ) -> None:
        self._function = function
        self._lists = frozenset(map(arrays.index, lists))
        self._is_checked = is_checked
        self._sends = sends
        self._numbers = (float, int) if numbers else ()
        self._arrays = arrays
        is_open = arrays[0].startswith("*")
        self._count = 1 if is_open else len(arrays)
        self._operands = slice(1, None) if is_open else slice(len(arrays))
        self._options = slice(1) if is_open else slice(len(arrays), None)
        self._programs: dict[Hashable, Callable[..., Any]] = {}

    def compute(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result; `NOT_COMPUTED` where an operand is something else, or a program would not do.

        That is inside of what is traced or taped, and where the function refuses its arguments: it says itself what is
        wrong with them.
        """
        if len(args) < self._count:
            if not kwargs.keys() >= set(self._arrays[len(args) :]):
                return NOT_COMPUTED
            kwargs = kwargs.copy()
            args = (*args, *map(kwargs.pop, self._arrays[len(args) :]))
        if Jax.array is None and "jax" in sys.modules:
            Jax.find()
        operands = args[self._operands]
        for operand in operands:
            kind = type(operand)
            if kind is not Jax.array or operand.dtype.itemsize == _SIZE_OF_HALVES:
                # Nothing is looked for in vain.
                may_do = self._sends or kind in self._numbers or self._lists
                taken = self._take(operands) if may_do else None
                if taken is None:
                    return NOT_COMPUTED
                operands = taken
                break
        if TRACING.get() or PIPELINE.get() is not None or not Jax.is_top_level():
            return NOT_COMPUTED
        options = args[self._options]
        try:
            key: Hashable = Jax.floatx()
            if options or kwargs:
                # Of 1, 1.0 and True each is another option.
                key = (
                    key,
                    tuple(map(_make_key, options)),
                    tuple([(name, _make_key(kwargs[name])) for name in sorted(kwargs)]),
                )
            program = self._programs.get(key)
            if program is None:
                program = self._make(key, options, kwargs)
            return program(*operands)
        except Exception:
            return NOT_COMPUTED

    def _take(self, operands: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return operands as a program takes them; None if one is something else, or it would not do for one."""
        taken = []
        has_numbers, dtypes = False, set()
        for place, operand in enumerate(operands):
            kind = type(operand)
            if place in self._lists and (kind is list or kind is tuple):
                listed = _take_list(operand)
                if listed is None:
                    return None
                operand = listed
            elif kind in self._numbers:
                has_numbers = True
            elif kind is Jax.array and operand.dtype.itemsize != _SIZE_OF_HALVES:
                dtypes.add(operand.dtype)
            elif self._sends and kind is np.ndarray and operand.dtype in PLAIN_DTYPES:
                dtypes.add(operand.dtype)
                # Of its own: the program reads this memory while the caller goes on, and may change what is there.
                operand = operand.copy()
            else:
                return None
            taken.append(operand)
        if has_numbers and not (dtypes and dtypes <= _DTYPES_BESIDE_NUMBERS):
            return None
        return tuple(taken)

    def _make(self, key: Hashable, options: tuple[Any, ...], named: dict[str, Any]) -> Callable[..., Any]:
        import jax

        if len(self._programs) >= _MOST:
            # `compute` takes it for a call that is made as always.
            raise LookupError
        before, behind = (options, ()) if self._operands.start else ((), options)

        def compute(*operands: Any) -> Any:
            # With JAX' setting for 64 bits a number is of 64, and the array beside it would become so.
            leaves = jax.tree.leaves(operands)
            if any(leaf.weak_type and leaf.dtype.itemsize > _SIZE_OF_NUMBERS for leaf in leaves):
                raise LookupError
            return self._function(*before, *operands, *behind, **named)

        # What profilers and XLA's dumps show.
        compute.__name__ = compute.__qualname__ = self._function.__name__
        program = jax.jit(compute)
        self._programs[key] = _look_before(program) if self._is_checked else program
        return self._programs[key]


def _take_list(given: Sequence[Any]) -> Any:
    """Return a list as a program takes it: of arrays, or an array of whole numbers; None if it is another one."""
    if given and type(given[0]) is Jax.array:
        dtypes = {value.dtype if type(value) is Jax.array else None for value in given}
        # Of different dtypes it is the function's to say what comes of them.
        is_plain = len(dtypes) == 1 and None not in dtypes and given[0].dtype.itemsize != _SIZE_OF_HALVES
        return list(given) if is_plain else None
    if not given or not _is_whole(given):
        return None
    try:
        array = np.asarray(given)
    except ValueError:
        # Rows of different lengths.
        return None
    if array.dtype != np.int64 or abs(array).max(initial=0) > np.iinfo(np.int32).max:
        return None
    return array.astype(np.int32)


def _is_whole(given: Sequence[Any]) -> bool:
    """Return whether a nested list holds nothing but Python's whole numbers."""
    for value in given:
        kind = type(value)
        if kind is not int and not ((kind is list or kind is tuple) and _is_whole(value)):
            return False
    return True


def _look_before(program: Any) -> Callable[..., Any]:
    """Return a program that first looks at the operands of which `check_bound` is told while it is traced."""
    from stratax.core import known

    # By the operands' shapes and dtypes, as JAX keeps programs.
    found: dict[Hashable, Any] = {}

    def run(*operands: Array) -> Any:
        shapes = tuple([(operand.shape, operand.dtype) for operand in operands])
        if shapes not in found:
            with known.watching():
                # The call finds this trace: nothing is traced twice.
                found[shapes] = known.watches_of_all(program.trace(*operands).jaxpr)
        watches = found[shapes]
        if watches is None:
            # `compute` takes it for a call that is made as always.
            raise LookupError
        known.check_ranges(watches, operands, {})
        return program(*operands)

    return run


def _make_key(option: object) -> Hashable:
    kind = type(option)
    # Lists can't be keys, and are no tuples either.
    if kind is list or kind is tuple:
        return (kind, tuple(map(_make_key, option)))  # type: ignore[call-overload]
    # Anything else may change, and stay the same key: a variable, or an object that a program makes a tensor of.
    if not isinstance(option, _UNCHANGING):
        raise LookupError
    # 0.0 is equal to -0.0, and NaN to nothing.
    return (kind, option.hex()) if kind is float else (kind, option)  # type: ignore[union-attr]
