"""`tf.type_spec_from_value`: what describes a value (ops layer)."""

from typing import Any

import keras
import numpy as np

from stratax.base.shown import shown
from stratax.core.regions import IteratorSpec, Optional, OptionalSpec, Stream
from stratax.core.state import IndexedSlices
from stratax.data import Dataset, RaggedTensor, SparseTensor, TensorSpec
from stratax.data.elements import spec_of_leaf
from stratax.errors import BadTypeError, StrataxError
from stratax.tensorflow.ops.calls.creation import convert_to_tensor

_NOT_ONE = (dict, IndexedSlices, type, type(None))


def type_spec_from_value(value: object) -> Any:
    """Return the spec that describes a value, as `tf.type_spec_from_value`.

    Args:
        value: A tensor or what becomes one, a variable (described as a tensor), a SparseTensor or RaggedTensor, a
            Dataset, an iterator of one, or an Optional.

    Raises:
        BadTypeError: Nothing describes it.

    Example:
        >>> import stratax.tf as tf
        >>> tf.type_spec_from_value([1.5, 2.5])
        TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    """
    if isinstance(value, Dataset | RaggedTensor | SparseTensor):
        return spec_of_leaf(value)
    if isinstance(value, Optional):
        return OptionalSpec.from_value(value)
    if isinstance(value, keras.Variable):
        return TensorSpec(value.shape, value.dtype)
    if isinstance(value, Stream):
        return IteratorSpec.from_value(value)
    if isinstance(value, np.ndarray | np.generic):
        return TensorSpec.from_array(value)
    # What is left is whatever a tensor can be made of.
    try:
        if not isinstance(value, _NOT_ONE):
            return TensorSpec.from_array(convert_to_tensor(value))
    except (StrataxError, TypeError, ValueError) as error:
        raise _refuse(value) from error
    raise _refuse(value)


def _refuse(value: object) -> BadTypeError:
    return BadTypeError(f"Could not build a TypeSpec for {shown(value)} of unsupported type {type(value)}.")
