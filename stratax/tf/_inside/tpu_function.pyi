"""What programs import of `tensorflow.python.tpu.tpu_function` (tf layer)."""

from ._tpu import TpuContext as TpuContext
from ._tpu import get_tpu_context as get_tpu_context
