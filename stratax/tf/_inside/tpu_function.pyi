from ._tpu import TpuContext as TpuContext
from ._tpu import get_tpu_context as get_tpu_context
