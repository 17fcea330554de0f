"""`tf.compat`: text and bytes, parts of shapes, and the switches between TensorFlow 1 and 2 (v1 layer)."""

import datetime
import numbers
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import use_dimensions
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.v1.programs import begin_graph

bytes_or_text_types = (bytes, str)
complex_types = (numbers.Complex, np.number)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)


def as_bytes(bytes_or_text: bytes | bytearray | str, encoding: str = "utf-8") -> bytes:
    """Return bytes of text, as `tf.compat.as_bytes`; bytes stay as they are.

    Args:
        bytes_or_text: The text or bytes.
        encoding: How the text is encoded.
    """
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise BadTypeError(f"Expected text or bytes. Received: bytes_or_text={shown(bytes_or_text)}.")


def as_text(bytes_or_text: bytes | bytearray | str, encoding: str = "utf-8") -> str:
    """Return the text of bytes, as `tf.compat.as_text`; text stays as it is.

    Args:
        bytes_or_text: The text or bytes.
        encoding: How the bytes are encoded.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text).decode(encoding)
    raise BadTypeError(f"Expected text or bytes. Received: bytes_or_text={shown(bytes_or_text)}.")


as_str = as_text


def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Return the text of bytes, and of anything else what `str` makes of it.

    Args:
        value: Anything.
        encoding: How bytes are encoded.
    """
    return as_text(value, encoding) if isinstance(value, (bytes, bytearray)) else str(value)


def path_to_str(path: Any) -> Any:
    """Return the text of a path, as `tf.compat.path_to_str`; what is no path stays as it is.

    Args:
        path: A path, or text.
    """
    return as_text(path.__fspath__()) if hasattr(path, "__fspath__") else path


def path_to_bytes(path: str | bytes | os.PathLike) -> bytes:
    """Return the bytes of a path, as `tf.compat.path_to_bytes`.

    Args:
        path: A path, text or bytes.
    """
    return as_bytes(os.fspath(path))


def dimension_value(dimension: Any) -> int | None:
    """Return the size of a dimension of a shape, as `tf.compat.dimension_value`.

    Args:
        dimension: A number, None, or what has one as its `value`.
    """
    return getattr(dimension, "value", dimension)


def dimension_at_index(shape: Any, index: int) -> int | None:
    """Return the size of a shape's dimension, as `tf.compat.dimension_at_index`.

    Args:
        shape: The shape.
        index: The dimension.
    """
    return dimension_value(shape[index])


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether a date is in the past, as `tf.compat.forward_compatible`.

    Args:
        year: For example 2024.
        month: From 1 to 12.
        day: From 1 to 31.
    """
    return datetime.date(year, month, day) < datetime.date.today()


def _switch(name: str, meaning: str) -> Callable[[], None]:
    """Return a function that turns something on or off that is so in any case."""

    def switch() -> None:
        pass

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = f"Accept what has no effect, as `tf.compat.v1.{name}`: {meaning}."
    return switch


disable_control_flow_v2 = _switch("disable_control_flow_v2", "control flow is XLA's")
enable_control_flow_v2 = _switch("enable_control_flow_v2", "control flow is XLA's")
disable_resource_variables = _switch("disable_resource_variables", "there is one kind of variables")
enable_resource_variables = _switch("enable_resource_variables", "there is one kind of variables")
enable_tensor_equality = _switch("enable_tensor_equality", "arrays are compared element by element")


def disable_v2_tensorshape() -> None:
    """Have the sizes of shapes be `Dimension`s, numbers with a `value`, as `tf.compat.v1.disable_v2_tensorshape`."""
    use_dimensions(True)


def enable_v2_tensorshape() -> None:
    """Have the sizes of shapes be plain numbers again, as `tf.compat.v1.enable_v2_tensorshape`."""
    use_dimensions(False)


def disable_v2_behavior() -> None:
    """Have shapes be those of TensorFlow 1, as `tf.compat.v1.disable_v2_behavior`; see `disable_eager_execution`."""
    use_dimensions(True)
    begin_graph(sys._getframe(1))


def disable_eager_execution() -> None:
    """Have functions of `tf` add to a graph from now on, as `tf.compat.v1.disable_eager_execution`.

    Only in a program that names sessions or placeholders: in others, graphs are what a `model_fn` makes, and all else
    runs eagerly or as a function.
    """
    begin_graph(sys._getframe(1))


def enable_v2_behavior() -> None:
    """Have shapes be those of TensorFlow 2 again, as `tf.compat.v1.enable_v2_behavior`."""
    use_dimensions(False)


def disable_tensor_equality() -> None:
    """Refuse what is not there, as `tf.compat.v1.disable_tensor_equality`.

    Raises:
        BadArgumentError: Always.
    """
    raise BadArgumentError(
        "`==` of arrays compares their elements, and can't be made to compare the objects. Write `a is b`."
    )


def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Accept what is so in any case, as `tf.compat.v1.enable_eager_execution`.

    Args:
        config: No effect.
        device_policy: No effect.
        execution_mode: No effect.
    """


def control_flow_v2_enabled() -> bool:
    """Return True, as `tf.compat.v1.control_flow_v2_enabled` in TensorFlow 2."""
    return True


def resource_variables_enabled() -> bool:
    """Return True, as `tf.compat.v1.resource_variables_enabled` in TensorFlow 2."""
    return True


def executing_eagerly_outside_functions() -> bool:
    """Return True, as `tf.compat.v1.executing_eagerly_outside_functions` in TensorFlow 2."""
    return True


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the dtypes of a dataset's elements, in their structure, as `tf.compat.v1.data.get_output_types`.

    Args:
        dataset_or_iterator: A Dataset, or an iterator of one.
    """
    return _of_specs(dataset_or_iterator, lambda spec: spec.dtype)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shapes of a dataset's elements, in their structure, as `tf.compat.v1.data.get_output_shapes`.

    Args:
        dataset_or_iterator: A Dataset, or an iterator of one.
    """
    return _of_specs(dataset_or_iterator, lambda spec: spec.shape)


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of a dataset's elements, in their structure, as `tf.compat.v1.data.get_output_classes`.

    Args:
        dataset_or_iterator: A Dataset, or an iterator of one.
    """
    # TensorFlow says `tf.Tensor`; the elements of a Dataset are arrays of the host here.
    return _of_specs(dataset_or_iterator, lambda spec: getattr(spec, "value_type", np.ndarray))


def _of_specs(dataset: Any, get: Callable[[Any], Any]) -> Any:
    def of(spec: Any) -> Any:
        if isinstance(spec, dict):
            return {key: of(value) for key, value in spec.items()}
        if type(spec) is tuple:
            return tuple(of(value) for value in spec)
        # Named tuples, and no specs, which have a dtype.
        if isinstance(spec, tuple) and not hasattr(spec, "dtype"):
            return type(spec)(*(of(value) for value in spec))
        return get(spec)

    return of(dataset.element_spec)
