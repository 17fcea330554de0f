"""`tf.bitcast`: the bytes of elements as elements of another dtype (ops layer). NumPy arrays stay on the host."""

from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import call_with_library, dtype_in
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.calls.op import op


@op
def bitcast(input: TensorLike, type: DTypeLike) -> Any:
    """Return the bytes of elements as elements of another dtype, as `tf.bitcast`.

    Args:
        input: An array.
        type: The dtype. If it is smaller there is one dimension more, if larger the last dimension is taken together.

    Raises:
        BadArgumentError: If the last dimension is not as long as an element of the larger dtype has parts.
    """
    target = as_dtype(type)

    def reinterpret(xp: ModuleType, array: Array) -> Any:
        kind = np.dtype(dtype_in(xp, target))
        have, want = np.dtype(array.dtype).itemsize, kind.itemsize
        if want > have and (not array.ndim or array.shape[-1] != want // have):
            raise BadArgumentError(
                f"The last dimension must be {want // have} to become {kind}. Received: dtype {array.dtype}, shape "
                f"{tuple(array.shape)}."
            )
        if xp is not np:
            from jax import lax

            return lax.bitcast_convert_type(array, kind)
        if want == have:
            return array.view(kind)
        # The bytes of one element lie together.
        flat = (
            np.ascontiguousarray(array).reshape(*array.shape, 1)
            if want < have
            else np.ascontiguousarray(array)
        )
        seen = flat.view(kind)
        return seen if want < have else seen[..., 0]

    return call_with_library(reinterpret, input)
