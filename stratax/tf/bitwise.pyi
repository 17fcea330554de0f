"""`tf.bitwise` (tf layer)."""

from stratax.tensorflow.ops.math.bitwise import bitwise_and as bitwise_and
from stratax.tensorflow.ops.math.bitwise import bitwise_or as bitwise_or
from stratax.tensorflow.ops.math.bitwise import bitwise_xor as bitwise_xor
from stratax.tensorflow.ops.math.bitwise import invert as invert
from stratax.tensorflow.ops.math.bitwise import left_shift as left_shift
from stratax.tensorflow.ops.math.bitwise import right_shift as right_shift
