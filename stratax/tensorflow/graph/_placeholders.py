"""Placeholders: tensors that sessions are fed (graph layer)."""

from typing import Any

import numpy as np

from stratax.base.recording import RECORDER
from stratax.base.typing import DTypeLike, PyTree, TensorLike
from stratax.data.elements import DType, TensorShape
from stratax.tensorflow.graph._graph import enter_program_graph
from stratax.tensorflow.graph._nodes import GraphTensor
from stratax.tensorflow.graph._recording import Recording
from stratax.tensorflow.v1.parts import placeholder as placeholder_of_export


def placeholder(dtype: DTypeLike, shape: TensorLike = None, name: str | None = None) -> Any:
    """Return a tensor that a session is fed, as `tf.placeholder`.

    In a serving input function it is an input of the export.

    Args:
        dtype: Its dtype.
        shape: Its shape, of which sizes may be None; None if not even the rank is known.
        name: Its name.
    """
    recorder = RECORDER.get()
    if recorder is not None and not isinstance(recorder, Recording):
        return placeholder_of_export(dtype, shape, name)
    scope = enter_program_graph().scope
    (made,) = scope.building.add_source(
        [(_as_shape(shape), DType(dtype))], name or "Placeholder", "Placeholder"
    )
    return made


def placeholder_with_default(input: PyTree, shape: TensorLike, name: str | None = None) -> Any:
    """Return a tensor that a session may be fed, as `tf.placeholder_with_default`.

    Args:
        input: Its value where it is not fed.
        shape: Its shape, of which sizes may be None.
        name: Its name.
    """
    scope = enter_program_graph().scope
    value = input
    if not isinstance(input, GraphTensor):
        value = np.asarray(input)
        value = value.astype({"float64": "float32", "int64": "int32"}.get(value.dtype.name, value.dtype))
    (made,) = scope.building.add_source(
        [(_as_shape(shape), value.dtype)],
        name or "PlaceholderWithDefault",
        "PlaceholderWithDefault",
        default=value,
    )
    return made


def _as_shape(shape: TensorLike) -> TensorShape:
    if shape is None or isinstance(shape, TensorShape):
        return TensorShape(None) if shape is None else shape
    return TensorShape(shape if isinstance(shape, list | tuple) else [shape])
