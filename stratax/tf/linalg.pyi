from stratax.ops.creation import eye as eye
from stratax.ops.linalg import einsum as einsum
from stratax.ops.linalg import global_norm as global_norm
from stratax.ops.linalg import matmul as matmul
from stratax.ops.linalg import norm as norm
from stratax.ops.linalg import tensordot as tensordot
