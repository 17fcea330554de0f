"""Initializers of TensorFlow 1: what gives variables their first values (v1 layer).

Each computes with one of Keras' initializers. Without a seed every call gives other numbers, as every operation does in
TensorFlow; an initializer of Keras gives the same ones again.
"""

import abc
import math
import random
from typing import Any

import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.core import cpu
from stratax.data.elements import sizes_of

_NUM_SEEDS = 2**31 - 1


class Initializer(abc.ABC):
    """Gives a variable's first value: a function of a shape and a dtype.

    Args:
        dtype: The dtype where the call gives none.
    """

    def __init__(self, dtype: DTypeLike | None = "float32") -> None:
        self.dtype = keras.backend.standardize_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: object = None) -> Any:
        """Return the first value of a variable.

        Args:
            shape: Its shape.
            dtype: Its dtype.
            partition_info: Ignored.
        """
        kind = self.dtype if dtype is None else keras.backend.standardize_dtype(dtype)
        return self._values(sizes_of("shape", shape), kind)

    @abc.abstractmethod
    def _values(self, shape: tuple[int, ...], dtype: str) -> Any: ...

    def get_config(self) -> dict[str, Any]:
        """Return the arguments from which `from_config` makes the same."""
        # Arguments are kept under their own names, and nothing else is without an underscore.
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Initializer":
        """Return an initializer with the arguments that `get_config` has given."""
        return cls(**config)


class Zeros(Initializer):
    """Gives zeros, as `tf.zeros_initializer`."""

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        return cpu.fill_on_host(keras.initializers.Zeros())(shape, dtype=dtype)


class Ones(Initializer):
    """Gives ones, as `tf.ones_initializer`."""

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        return cpu.fill_on_host(keras.initializers.Ones())(shape, dtype=dtype)


class Constant(Initializer):
    """Gives a constant, as `tf.constant_initializer`.

    Args:
        value: A number, or elements that are put into the shape row by row; if they are too few, the last one is
            repeated.
        dtype: The dtype where the call gives none.
        verify_shape: Whether the elements must have the variable's shape.

    Raises:
        BadArgumentError: If there are more elements than the variable has, or their shape is another and
            `verify_shape` is True.
        BadTypeError: If they are Python's fractions, and the variable has whole numbers.
    """

    def __init__(self, value: Any = 0, dtype: Any = "float32", verify_shape: bool = False) -> None:
        super().__init__(dtype)
        self.value = value
        self.verify_shape = verify_shape

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        given = np.asarray(self.value)
        # An array of NumPy is cast, where Python's fractions are none of these, as in `tf.constant`.
        if (
            not hasattr(self.value, "dtype")
            and given.dtype.kind == "f"
            and ("int" in dtype or dtype == "bool")
        ):
            raise errors.BadTypeError(
                f"Fractions are no {dtype}. Received: value={shown(self.value)}. Use whole numbers, or another dtype."
            )
        size = math.prod(shape)
        if given.size > size or not given.size or (self.verify_shape and given.shape != shape):
            raise errors.BadArgumentError(
                f"A constant does not fit a variable. Expected: {size} elements, of shape {shape}. Received: "
                f"{given.size}, of shape {given.shape}."
            )
        # TensorFlow fills up with the last element, and so does a single number.
        flat = np.append(given.ravel(), np.repeat(given.ravel()[-1:], size - given.size))
        return keras.ops.convert_to_tensor(flat.reshape(shape), dtype)


class _Random(Initializer):
    """Gives random numbers.

    Args:
        seed: With a number every call gives the same numbers; None for others each time, which follow from the seed
            of the model if it has one.
        dtype: The dtype where the call gives none.
    """

    def __init__(self, seed: int | None, dtype: DTypeLike | None) -> None:
        super().__init__(dtype)
        self.seed = seed
        # As Keras draws them. A model has seeded Python's generator while it is built, but first values may be
        # computed later.
        self._first = random.randint(1, _NUM_SEEDS) if seed is None else seed
        self._num_calls = 0

    def _next_seed(self) -> int:
        if self.seed is not None:
            return self.seed
        self._num_calls += 1
        # Neighbours must not be the seeds of other initializers.
        return (self._first + 1_000_003 * self._num_calls) % _NUM_SEEDS


class RandomUniform(_Random):
    """Gives evenly distributed numbers, as `tf.random_uniform_initializer`.

    Args:
        minval: The lower end.
        maxval: The upper end, which is not reached; by default 1, for floating-point numbers.
        seed: None for other numbers on every call.
        dtype: The dtype where the call gives none.
    """

    def __init__(
        self,
        minval: object = 0.0,
        maxval: object = None,
        seed: int | None = None,
        dtype: DTypeLike | None = "float32",
    ) -> None:
        super().__init__(seed, dtype)
        self.minval = minval
        self.maxval = maxval

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        # Bounds of whole numbers: 0 to 1 would be zeros only, so that there is no default.
        if "int" in dtype:
            if self.maxval is None:
                raise errors.BadArgumentError(
                    f"Random whole numbers need an upper end. Received: maxval=None, dtype={dtype}. Pass maxval."
                )
            return keras.random.randint(shape, self.minval, self.maxval, dtype, seed=self._next_seed())
        top = 1.0 if self.maxval is None else self.maxval
        return keras.random.uniform(shape, self.minval, top, dtype, seed=self._next_seed())


class RandomNormal(_Random):
    """Gives normally distributed numbers, as `tf.random_normal_initializer`.

    Args:
        mean: Their mean.
        stddev: Their standard deviation.
        seed: None for other numbers on every call.
        dtype: The dtype where the call gives none.
    """

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 1.0,
        seed: int | None = None,
        dtype: DTypeLike | None = "float32",
    ) -> None:
        super().__init__(seed, dtype)
        self.mean = mean
        self.stddev = stddev

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        return keras.random.normal(shape, self.mean, self.stddev, dtype, seed=self._next_seed())


class TruncatedNormal(RandomNormal):
    """Gives normally distributed numbers at most two deviations away, as `tf.truncated_normal_initializer`.

    Args:
        mean: Their mean.
        stddev: Their standard deviation before those further away are drawn anew.
        seed: None for other numbers on every call.
        dtype: The dtype where the call gives none.
    """

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        return keras.random.truncated_normal(shape, self.mean, self.stddev, dtype, seed=self._next_seed())


class UniformUnitScaling(_Random):
    """Gives evenly distributed numbers that keep the scale of inputs, as `tf.uniform_unit_scaling_initializer`.

    Args:
        factor: Multiplies them.
        seed: None for other numbers on every call.
        dtype: The dtype where the call gives none.
    """

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike | None = "float32"
    ) -> None:
        super().__init__(seed, dtype)
        self.factor = factor

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        # An even distribution up to sqrt(3 / n) has the variance 1 / n, so that sums over n inputs keep their scale.
        # A vector has no inputs by this rule, where `VarianceScaling` counts its elements.
        limit = math.sqrt(3 / max(1, math.prod(shape[:-1]))) * self.factor
        return keras.random.uniform(shape, -limit, limit, dtype, seed=self._next_seed())


class VarianceScaling(_Random):
    """Gives numbers whose variance follows from the variable's shape, as `tf.variance_scaling_initializer`.

    Args:
        scale: The variance is this, divided by the number of what `mode` says.
        mode: `"fan_in"` (inputs), `"fan_out"` (outputs) or `"fan_avg"` (the mean of both).
        distribution: `"normal"` and `"truncated_normal"` (both at most two deviations away), `"untruncated_normal"` or
            `"uniform"`.
        seed: None for other numbers on every call.
        dtype: The dtype where the call gives none.

    Raises:
        BadArgumentError: If an argument is none of these.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike | None = "float32",
    ) -> None:
        super().__init__(seed, dtype)
        self.scale = scale
        self.mode = mode
        self.distribution = distribution.lower()
        distributions = ("normal", "truncated_normal", "untruncated_normal", "uniform")
        modes = ("fan_in", "fan_out", "fan_avg")
        if scale <= 0 or mode not in modes or self.distribution not in distributions:
            raise errors.BadArgumentError(
                f"variance_scaling_initializer needs a positive scale, a mode of {modes} and a distribution of "
                f"{distributions}. Received: scale={shown(scale)}, mode={shown(mode)}, "
                f"distribution={shown(distribution)}."
            )

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        # Keras has TensorFlow 1's "normal" as "truncated_normal", corrected for what is cut off.
        distribution = "truncated_normal" if self.distribution == "normal" else self.distribution
        made = keras.initializers.VarianceScaling(self.scale, self.mode, distribution, seed=self._next_seed())
        return made(shape, dtype)


class Orthogonal(_Random):
    """Gives an orthogonal matrix, or one with orthogonal rows or columns, as `tf.orthogonal_initializer`.

    Args:
        gain: Multiplies it.
        seed: None for other numbers on every call.
        dtype: The dtype where the call gives none.
    """

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike | None = "float32"
    ) -> None:
        super().__init__(seed, dtype)
        self.gain = gain

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        return keras.initializers.Orthogonal(self.gain, seed=self._next_seed())(shape, dtype)


class Identity(Initializer):
    """Gives an identity matrix, as `tf.initializers.identity`.

    Args:
        gain: Multiplies it.
        dtype: The dtype where the call gives none.
    """

    def __init__(self, gain: float = 1.0, dtype: DTypeLike | None = "float32") -> None:
        super().__init__(dtype)
        self.gain = gain

    def _values(self, shape: tuple[int, ...], dtype: str) -> Any:
        return keras.initializers.Identity(self.gain)(shape, dtype)


class _Scaling(VarianceScaling):
    """Gives numbers whose variance follows from the variable's shape, in one of the ways that have a name.

    Args:
        seed: None for other numbers on every call.
        dtype: The dtype where the call gives none.
    """

    # Scale, mode and distribution.
    _own: tuple[float, str, str]

    def __init__(self, seed: int | None = None, dtype: DTypeLike | None = "float32") -> None:
        super().__init__(*self._own, seed=seed, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments from which `from_config` makes the same."""
        return {"seed": self.seed, "dtype": self.dtype}


class GlorotUniform(_Scaling):
    """Gives evenly distributed numbers, as `tf.glorot_uniform_initializer` (Glorot & Bengio, 2010)."""

    _own = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaling):
    """Gives normally distributed numbers, as `tf.glorot_normal_initializer` (Glorot & Bengio, 2010)."""

    _own = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Scaling):
    """Gives evenly distributed numbers, as `tf.initializers.he_uniform` (He et al., 2015)."""

    _own = (2.0, "fan_in", "uniform")


class HeNormal(_Scaling):
    """Gives normally distributed numbers, as `tf.initializers.he_normal` (He et al., 2015)."""

    _own = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Scaling):
    """Gives evenly distributed numbers, as `tf.initializers.lecun_uniform` (LeCun, 1998)."""

    _own = (1.0, "fan_in", "uniform")


class LecunNormal(_Scaling):
    """Gives normally distributed numbers, as `tf.initializers.lecun_normal` (LeCun, 1998)."""

    _own = (1.0, "fan_in", "truncated_normal")
