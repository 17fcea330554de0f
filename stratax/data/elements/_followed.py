"""Components that a `GradientTape` follows: what is computed with them is computed on a device (data layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.data.elements import _array
from stratax.data.elements._array import ElementArray

_UFUNCS = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.divide: "truediv",
    np.floor_divide: "floordiv",
    np.remainder: "mod",
    np.power: "pow",
    np.matmul: "matmul",
}


class FollowedArray(ElementArray):
    """A component in whose place an array of a device computes, where tapes see it; it still has its values."""

    _on_device: Any

    def __array_finalize__(self, source: object) -> None:
        # What NumPy makes of it is another array, which nobody follows.
        self.__class__ = ElementArray  # type: ignore[assignment]

    def __jax_array__(self) -> Any:
        return self._on_device

    def __getitem__(self, key: object) -> Any:
        return self._on_device[key]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = _UFUNCS.get(ufunc)
        # A scalar of NumPy before an operator asks here; arrays leave it to a subclass.
        if name is not None and method == "__call__" and not kwargs and isinstance(inputs[1], FollowedArray):
            return getattr(inputs[1], f"__r{name}__")(inputs[0])
        plain = (each.view(np.ndarray) if isinstance(each, FollowedArray) else each for each in inputs)
        return getattr(ufunc, method)(*plain, **kwargs)


def _operator(method: str) -> Callable[..., Any]:
    def operate(self: FollowedArray, *operands: object) -> Any:
        return getattr(self._on_device, method)(*operands)

    operate.__name__ = method
    return operate


for _name in _array.OPERATORS:
    setattr(FollowedArray, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(FollowedArray, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in (*_array.COMPARISONS, "neg", "pos", "abs", "invert"):
    setattr(FollowedArray, f"__{_name}__", _operator(f"__{_name}__"))
# A class that compares has no hash of its parent's.
FollowedArray.__hash__ = ElementArray.__hash__  # type: ignore[method-assign]


def follow(component: np.ndarray, on_device: object) -> None:
    """Have a component compute with an array of a device from now on, wherever it is used.

    Args:
        component: The component, which becomes a :class:`FollowedArray`.
        on_device: The array with its values.
    """
    # It needs JAX, which a pipeline does not.
    from stratax.seams import jax_arrays

    jax_arrays.give_conversion(FollowedArray, FollowedArray.__jax_array__)
    component.__class__ = FollowedArray  # type: ignore[assignment]
    component._on_device = on_device  # type: ignore[attr-defined]
