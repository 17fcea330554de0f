"""`tf.sparse` of features that stay on the host while a `model_fn` is traced (v1 layer)."""

from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import TensorLike
from stratax.data import SparseTensor, sparse_to_dense
from stratax.data.vectorise import gives_tensors
from stratax.tensorflow.ops.arrays.sparse import check_known
from stratax.tensorflow.v1._current import current_or_none
from stratax.tensorflow.v1._host import HostTensor
from stratax.tensorflow.v1._host_features import as_number


@gives_tensors
def to_dense(
    sp_input: Any,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Return the dense array of a SparseTensor, as `tf.sparse.to_dense`; in a `model_fn` also of a sparse feature.

    Args:
        sp_input: The SparseTensor: values, or a feature of numbers of shape `(batch, n)`.
        default_value: What stands where there is no value; None for 0, or an empty byte string.
        validate_indices: Whether indices have to be in row-major order and different.
        name: Ignored.

    Returns:
        An array of the dense shape and the dtype of the values, on the host. Of a feature, an array of the step, of 32
        bits, filled up to the widest batch so far, so that few programs are compiled: its second dimension may be
        larger than TensorFlow's.

    Raises:
        BadTypeError: `sp_input` is no SparseTensor, or the default not of the dtype of its values. Or it is a feature
            of strings, or used in a compiled function that is no `model_fn`.
        TracingError: A compiled function does not know the dense shape while it is traced.
        BadArgumentError: Its parts do not agree, or a feature's numbers do not fit.

    Example:
        >>> import numpy as np
        >>> import stratax.tf as tf
        >>> tf.sparse.to_dense(tf.SparseTensor([[0, 1], [1, 0]], np.array([5, 6]), [2, 2]), -1).tolist()
        [[-1, 5], [6, -1]]
    """
    if isinstance(sp_input, SparseTensor) and any(map(is_traced, sp_input.parts)):
        return _scatter(sp_input, default_value)
    if not isinstance(sp_input, HostTensor):
        return sparse_to_dense(sp_input, default_value, validate_indices, name)
    scope = current_or_none()
    # A feature without a shape is a SparseTensor.
    if scope is None or sp_input.shape is not None or sp_input.dtype.kind not in "biuf":
        raise errors.BadTypeError(
            "to_dense takes sparse features of numbers in a model_fn: strings stay on the host. Received: "
            f"sp_input={shown(sp_input)}. Use tf.sparse.to_dense in the input_fn's dataset.map, or a feature column."
        )
    feature = sp_input.name
    # What a cell without a value has, in the feature's own dtype.
    fill = sparse_to_dense(_nothing(sp_input.dtype), default_value)[0, 0]

    def dense(batch: dict[str, Any]) -> dict[str, np.ndarray]:
        given = batch[feature]
        if len(given.shape) != 2:
            raise errors.BadArgumentError(
                "to_dense takes sparse features with one dimension besides the batch's in a model_fn. Received: "
                f"{shown(feature)} of shape {given.shape}. Use tf.sparse.to_dense in the input_fn's dataset.map."
            )
        return {"value": as_number(sparse_to_dense(given, default_value, validate_indices), "to_dense")}

    made = scope.features.compute_on_host(dense, [feature], f"{feature}/dense", {"value": fill.item()})
    return made["value"]


def _scatter(sparse: SparseTensor, default_value: Any) -> Any:
    """Return the dense array of a SparseTensor in the program that computes its values."""
    import jax.numpy as jnp

    # The size of an array is part of the program.
    check_known("to_dense", sparse.dense_shape)
    indices, values = jnp.asarray(sparse.indices), jnp.asarray(sparse.values)
    sizes = np.asarray(sparse.dense_shape).tolist()
    made = jnp.full(sizes, 0 if default_value is None else default_value, values.dtype)
    return made.at[tuple(indices.T)].set(values)


def _nothing(dtype: np.dtype) -> SparseTensor:
    return SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, dtype), np.ones(2, np.int64))
