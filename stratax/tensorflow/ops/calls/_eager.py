"""Functions of arrays that have values, each computed by one compiled program (ops layer).

Dispatching a program takes no longer than one operation of `jax.numpy`. What a function does before that, to tell
operands on the host, text, symbols and lists from each other, takes several times as long, and so do the checks of
`keras.ops`. So where all operands are plain arrays the function is compiled as it stands, and looked into no more:
JAX' arrays, and NumPy's where the function would send them to a device.

That is for functions of one operation, in which XLA has nothing to fuse: their numbers stay the same to the last bit.
Softmax, and products of transposed matrices, are rounded as in compiled functions. Of floats of 16 bits XLA keeps more
than 16 between operations, so those are computed one after the other.
"""

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from stratax.base.tracing import PIPELINE, TRACING

# Enough for the ways in which programs call one function; a function that gets ever new options is better called.
_MOST = 64
# Within one program XLA may compute numbers of 16 bits with more, and round once.
_SIZE_OF_HALVES = 2
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


class EagerPrograms:
    """The programs of one function: one for each set of options and, by JAX' own cache, for shapes and dtypes.

    Args:
        function: It depends on nothing but its arguments, and on the arrays among them not by their values.
        arrays: The names of its first parameters, which are arrays. The others are options.
        sends: Whether it computes on a device whatever the arrays are: outside of pipelines, of NumPy's, too.
    """

    def __init__(self, function: Callable[..., Any], arrays: Sequence[str], *, sends: bool = False) -> None:
        self._function = function
        self._sends = sends
        self._arrays = arrays
        self._count = len(arrays)
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
        operands = args[: self._count]
        for operand in operands:
            if type(operand) is not Jax.array or operand.dtype.itemsize == _SIZE_OF_HALVES:
                sent = _send(operands) if self._sends else None
                if sent is None:
                    return NOT_COMPUTED
                operands = sent
                break
        if TRACING.get() or PIPELINE.get() is not None or not Jax.is_top_level():
            return NOT_COMPUTED
        key: Hashable = Jax.floatx()
        if len(args) > self._count or kwargs:
            # Of 1, 1.0 and True each is another option.
            key = (
                key,
                tuple(map(_make_key, args[self._count :])),
                tuple((name, _make_key(kwargs[name])) for name in sorted(kwargs)),
            )
        try:
            program = self._programs.get(key)
            if program is None:
                program = self._make(key, args[self._count :], kwargs)
            return program(*operands)
        except Exception:
            return NOT_COMPUTED

    def _make(self, key: Hashable, options: tuple[Any, ...], named: dict[str, Any]) -> Callable[..., Any]:
        import jax

        if len(self._programs) >= _MOST:
            # `compute` takes it for a call that is made as always.
            raise LookupError

        def compute(*operands: object) -> Any:
            return self._function(*operands, *options, **named)

        # What profilers and XLA's dumps show.
        compute.__name__ = compute.__qualname__ = self._function.__name__
        program = self._programs[key] = jax.jit(compute)
        return program


def _send(operands: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return arrays as a program takes them; None if one of them is something else, or one that it would not do for."""
    sent = []
    for operand in operands:
        if type(operand) is np.ndarray and operand.dtype in PLAIN_DTYPES:
            # Of its own: the program reads this memory while the caller goes on, and may change what is there.
            sent.append(operand.copy())
        elif type(operand) is Jax.array and operand.dtype.itemsize != _SIZE_OF_HALVES:
            sent.append(operand)
        else:
            return None
    return tuple(sent)


def _make_key(option: object) -> Hashable:
    # Lists can't be keys, and are no tuples either.
    return (list, tuple(map(_make_key, option))) if type(option) is list else (type(option), option)
