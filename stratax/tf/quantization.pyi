"""`tf.quantization` (tf layer)."""

from stratax.tensorflow.ops.math.quantization import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
)
from stratax.tensorflow.ops.math.quantization import (
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
)
from stratax.tensorflow.ops.math.quantization import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
