"""What an element of a Dataset looks like: TensorSpec and the special counts (data layer)."""

import abc
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements._tensor_shape import Shape, TensorShape, as_shape
from stratax.errors import BadTypeError

# Let Stratax choose: the degree of parallelism of `map`, the depth of `prefetch`.
AUTOTUNE = -1

# What `Dataset.cardinality()` gives for a Dataset without an end.
INFINITE_CARDINALITY = -1

# What `Dataset.cardinality()` gives where only iterating would tell.
UNKNOWN_CARDINALITY = -2


def as_dtype(dtype: DTypeLike) -> np.dtype:
    """Return a NumPy dtype for anything that names one (`"float32"`, `np.float32`, `jnp.bfloat16`, `"string"`)."""
    if type(dtype) is str and dtype == "string":
        return np.dtype(object)
    try:
        # The attribute of TensorFlow's own dtypes.
        return np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    except TypeError as e:
        raise BadTypeError(
            f"A dtype was expected. Received: dtype={shown(dtype)}. Pass a name such as 'float32' or a NumPy dtype."
        ) from e


def dtype_name(dtype: np.dtype) -> str:
    """Return how specs write a dtype."""
    return f"tf.{'string' if dtype.hasobject else dtype}"


class TensorSpec:
    """Shape and dtype of one component of an element, as `tf.TensorSpec`.

    Args:
        shape: Sizes, `None` for one that differs between elements; `None` as a whole if even the rank is unknown.
        dtype: A NumPy dtype or its name; float32 when left out.
        name: Kept and printed, not used.

    Example:
        >>> from stratax.data import TensorSpec
        >>> TensorSpec((None, 2), "int64")
        TensorSpec(shape=(None, 2), dtype=tf.int64, name=None)
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: object, dtype: DTypeLike = "float32", name: str | None = None) -> None:
        sizes = as_shape(shape)
        self._shape = None if sizes is None else tuple.__new__(TensorShape, sizes)
        self._dtype = as_dtype(dtype)
        self._name = name

    @property
    def shape(self) -> Shape | None:
        """The sizes, a TensorShape with `None` where they differ between elements; `None` if the rank is unknown."""
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        """The component's dtype, as NumPy has it."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The component's name, if it was given one."""
        return self._name

    @classmethod
    def from_array(cls, array: Any) -> "TensorSpec":
        """Return the spec that describes `array` (or a byte string) exactly."""
        if isinstance(array, bytes):
            return cls((), object)
        return cls(array.shape, array.dtype)

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether `other` (an array or a spec) can be what this spec describes: same dtype, sizes that agree."""
        if self._dtype != getattr(other, "dtype", None):
            return False
        if self._shape is None or other.shape is None:
            return True
        pairs = zip(self._shape, other.shape, strict=False)
        return len(self._shape) == len(other.shape) and all(
            a is None or b is None or a == b for a, b in pairs
        )

    def is_like(self, other: object) -> bool:
        """Return whether one node may give components of both specs: they differ in sizes at most."""
        return isinstance(other, TensorSpec) and self._dtype == other._dtype

    def batched(self, size: int | None) -> "TensorSpec":
        """Return the spec of `size` such components stacked on a new leading axis."""
        return self._of_shape(None if self._shape is None else (size, *self._shape))

    def merged(self, other: "TensorSpec") -> "TensorSpec":
        """Return the spec of components that are like this one or like `other` (which has the same dtype)."""
        if self._shape is None or other.shape is None or len(self._shape) != len(other.shape):
            return self._of_shape(None)
        return self._of_shape(
            tuple([a if a == b else None for a, b in zip(self._shape, other.shape, strict=True)])
        )

    def _of_shape(self, sizes: tuple[int | None, ...] | None) -> "TensorSpec":
        """Return a spec of this dtype and name, and of sizes that are known to be sizes."""
        made = TensorSpec.__new__(TensorSpec)
        made._shape = None if sizes is None else tuple.__new__(TensorShape, sizes)
        made._dtype, made._name = self._dtype, self._name
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._shape == other._shape and self._dtype == other._dtype

    def __hash__(self) -> int:
        # The name has no part in equality, as in TensorFlow.
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={dtype_name(self._dtype)}, name={self._name!r})"


class Nested(abc.ABC):
    """A component of an element that is itself made of elements: a Dataset inside a Dataset."""

    @property
    @abc.abstractmethod
    def element_spec(self) -> Any:
        """Structure of the specs of its elements."""
