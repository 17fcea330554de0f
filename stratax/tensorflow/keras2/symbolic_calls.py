"""Functions of `tf` called with Keras' symbolic tensors, and sizes that such a tensor leaves open (keras2 layer).

A function that computes with arrays becomes an operation of the model. What depends on a batch's size, as
`tf.zeros([tf.shape(x)[0], 4])`, takes a number once the model is called: shapes are known then. Keras finds out the
shapes of a model's tensors with JAX' symbol for what is open, and that is the size's value meanwhile.
"""

import functools
import importlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import has_symbolic_sizes, is_symbolic_size
from stratax.base.typing import Array, TensorLike
from stratax.errors import BadArgumentError, UnimplementedError
from stratax.seams import keras2 as seam

_PACKAGE = "stratax"
# Where functions of `tf` are that compute, and do nothing else.
_ROOMS = (
    *(f"stratax.tensorflow.ops.{room}." for room in ("arrays", "math", "nn", "random", "signal", "text")),
    "stratax.tensorflow.ops.calls.creation",
    "stratax.image.",
)
_OPERATORS = ("add", "sub", "mul", "floordiv", "mod", "neg")


class Size(keras.KerasTensor):
    """Whole numbers that follow from sizes that symbolic tensors leave open.

    Args:
        shape: The shape of these numbers.
        sources: The symbolic tensors.
        find: From arrays of the sources' shapes to the numbers; sizes may be JAX' symbols there.
    """

    def __init__(
        self, shape: Sequence[int], sources: Sequence[keras.KerasTensor], find: Callable[..., Any]
    ) -> None:
        super().__init__(tuple(shape), "int32")
        self.sources = tuple(sources)
        self.find = find


def _calculating(name: str, *, swapped: bool) -> Any:
    def calculate(self: Size, *others: object) -> Any:
        operands = (*others, self) if swapped else (self, *others)
        return Calculation(name)(*operands)

    return calculate


for _name in _OPERATORS:
    setattr(Size, f"__{_name}__", _calculating(_name, swapped=False))
    if _name != "neg":
        setattr(Size, f"__r{_name}__", _calculating(_name, swapped=True))


@keras.saving.register_keras_serializable(_PACKAGE)
class SizeOf(keras.Operation):
    """One size of a tensor, as a number.

    Args:
        axis: Which.
    """

    def __init__(self, axis: int, name: str | None = None) -> None:
        super().__init__(name=name)
        self.axis = axis

    def call(self, tensor: Array) -> Any:
        """Return the size, a number as soon as the tensor has values."""
        return tensor.shape[self.axis]

    def compute_output_spec(self, tensor: TensorLike) -> Any:
        """Return what stands for the size."""
        return Size((), [tensor], lambda array: array.shape[self.axis])

    def get_config(self) -> dict[str, Any]:
        """Return what the operation is made of."""
        return {"axis": self.axis, "name": self.name}


class _OfSizes(keras.Operation):
    """An operation whose operands may be sizes."""

    def compute_output_spec(self, *args: object, **kwargs: object) -> Any:
        """Return what stands for the result: sizes, if it follows from sizes alone."""
        leaves = keras.tree.flatten((args, kwargs))
        arrays = [
            each for each in leaves if isinstance(each, keras.KerasTensor) and not isinstance(each, Size)
        ]
        # A tensor once, however many sizes follow from it.
        sources = list(
            {id(each): each for size in leaves if isinstance(size, Size) for each in size.sources}.values()
        )
        shapes: list[tuple[int, ...]] = []

        def compute(own: Sequence[Any], given: Sequence[Any]) -> Any:
            found = dict(zip(map(id, sources), given, strict=True))
            left = iter(own)

            def fill(each: object) -> Any:
                if isinstance(each, Size):
                    return each.find(*(found[id(source)] for source in each.sources))
                return next(left) if isinstance(each, keras.KerasTensor) else each

            own_args, own_kwargs = keras.tree.map_structure(fill, (args, kwargs))
            return self.call(*own_args, **own_kwargs)

        def arrays_of(own: Sequence[Any], given: Sequence[Any]) -> Any:
            result = compute(own, given)
            if arrays or not _is_of_sizes(result):
                return result
            shapes.append(np.shape(result))
            return []

        spec = seam.compute_spec(arrays_of, arrays, sources)
        return Size(shapes[0], sources, lambda *given: compute([], given)) if shapes else spec


def _is_of_sizes(result: object) -> bool:
    if isinstance(result, int | np.integer) or is_symbolic_size(result) or has_symbolic_sizes(result):
        return True
    if isinstance(result, np.ndarray) and result.dtype.kind in "iu":
        return True
    return isinstance(result, list | tuple) and all(map(_is_of_sizes, result))


@keras.saving.register_keras_serializable(_PACKAGE)
class Calculation(_OfSizes):
    """Whole numbers from others, by Python's operator.

    Args:
        operator: Its name, as `"add"`.
    """

    def __init__(self, operator: str, name: str | None = None) -> None:
        if operator not in _OPERATORS:
            raise BadArgumentError(
                f"operator must be one of {_OPERATORS}. Received: operator={shown(operator)}."
            )
        super().__init__(name=name)
        self.operator = operator

    def call(self, *operands: object) -> Any:
        """Return the numbers."""
        return getattr(operator, self.operator)(*operands)

    def get_config(self) -> dict[str, Any]:
        """Return what the operation is made of."""
        return {"operator": self.operator, "name": self.name}


@keras.saving.register_keras_serializable(_PACKAGE)
class CalledFunction(_OfSizes):
    """A function of `tf` in a functional model.

    Args:
        function: The function, or where it is, as `"stratax.tensorflow.ops.arrays.arrays:reshape"`.

    Raises:
        BadArgumentError: If no function of `tf` is there.
    """

    def __init__(self, function: str | Callable[..., Any], name: str | None = None) -> None:
        super().__init__(name=name)
        if not isinstance(function, str):
            # What is public of it takes whatever its kind takes.
            function = _find(_place_of(function)) or function
        elif (found := _find(place := function)) is not None:
            function = found
        else:
            raise BadArgumentError(f"There is no function of tf at {shown(place)}.")
        self.function = function

    def call(self, *args: object, **kwargs: object) -> Any:
        """Return what the function makes of its arguments."""
        return self.function(*args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return what the operation is made of."""
        place = _place_of(self.function)
        if _find(place) is None:
            raise UnimplementedError(
                f"A model can't be saved that computes with {shown(place)}, which is no function of tf by that name. "
                "Call it in a layer of your own."
            )
        return {"function": place, "name": self.name}


@keras.saving.register_keras_serializable(_PACKAGE)
class Sliced(_OfSizes):
    """A part of a tensor, between places that follow from sizes."""

    def call(self, tensor: Array, parts: Sequence[Any]) -> Any:
        """Return the part.

        Args:
            tensor: The tensor.
            parts: For each dimension a list of the start, the stop and the step, or what else stands in brackets.
        """
        return tensor[tuple(slice(*part) if isinstance(part, list | tuple) else part for part in parts)]


def slice_symbolically(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have a symbolic tensor be sliced between places that follow from sizes."""

    @functools.wraps(original)
    def __getitem__(self: keras.KerasTensor, key: object) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        parts = [[each.start, each.stop, each.step] if isinstance(each, slice) else each for each in keys]
        if any(isinstance(each, Size) for each in keras.tree.flatten(parts)):
            return Sliced()(self, parts)
        return original(self, key)

    return __getitem__


def _place_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__name__}"


def _find(place: str) -> Callable[..., Any] | None:
    """Return the function of `tf` that is at a place, if there is one: a file names no other."""
    module, _, name = place.partition(":")
    if not module.startswith(_ROOMS) or name.startswith("_"):
        return None
    found = getattr(importlib.import_module(module), name, None)
    # What the module has imported is not its own.
    return found if callable(found) and found.__module__ == module else None


def call_symbolically(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a function of `tf` gives for symbolic tensors; None where there are none among its arguments.

    Args:
        function: The function.
        args: Its arguments.
        kwargs: Those by name.
    """
    if not any(isinstance(each, keras.KerasTensor) for each in keras.tree.flatten((args, kwargs))):
        return None
    return CalledFunction(function)(*args, **kwargs)


def sizes_of(tensor: keras.KerasTensor) -> tuple[Any, ...]:
    """Return the sizes of a symbolic tensor: numbers, and what stands for those that it leaves open."""
    return tuple(SizeOf(axis)(tensor) if size is None else size for axis, size in enumerate(tensor.shape))
