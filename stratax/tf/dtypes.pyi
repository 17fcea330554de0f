"""`tf.dtypes` (tf layer)."""

import stratax.tensorflow.ops.calls.dtypes
from stratax.tensorflow.ops.arrays.arrays import cast as cast
from stratax.tensorflow.ops.calls.dtypes import DType as DType
from stratax.tensorflow.ops.calls.dtypes import bfloat16 as bfloat16
from stratax.tensorflow.ops.calls.dtypes import bool as bool
from stratax.tensorflow.ops.calls.dtypes import complex64 as complex64
from stratax.tensorflow.ops.calls.dtypes import complex128 as complex128
from stratax.tensorflow.ops.calls.dtypes import double as double
from stratax.tensorflow.ops.calls.dtypes import float16 as float16
from stratax.tensorflow.ops.calls.dtypes import float32 as float32
from stratax.tensorflow.ops.calls.dtypes import float64 as float64
from stratax.tensorflow.ops.calls.dtypes import half as half
from stratax.tensorflow.ops.calls.dtypes import int8 as int8
from stratax.tensorflow.ops.calls.dtypes import int16 as int16
from stratax.tensorflow.ops.calls.dtypes import int32 as int32
from stratax.tensorflow.ops.calls.dtypes import int64 as int64
from stratax.tensorflow.ops.calls.dtypes import string as string
from stratax.tensorflow.ops.calls.dtypes import uint8 as uint8
from stratax.tensorflow.ops.calls.dtypes import uint16 as uint16
from stratax.tensorflow.ops.calls.dtypes import uint32 as uint32
from stratax.tensorflow.ops.calls.dtypes import uint64 as uint64

as_dtype = stratax.tensorflow.ops.calls.dtypes.as_tensor_dtype
