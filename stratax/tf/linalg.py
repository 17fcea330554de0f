"""`tf.linalg` (tf layer)."""

from stratax.tf._arrays import einsum as einsum
from stratax.tf._arrays import matmul as matmul
from stratax.tf._arrays import tensordot as tensordot
from stratax.tf._clipping import global_norm as global_norm
from stratax.tf._creation import eye as eye
from stratax.tf._names import missing_name
from stratax.tf._reductions import norm as norm

__all__ = [
    "einsum",
    "eye",
    "global_norm",
    "matmul",
    "norm",
    "tensordot",
]
__getattr__ = missing_name(__name__, __all__)
