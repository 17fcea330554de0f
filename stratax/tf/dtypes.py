"""`tf.dtypes` (tf layer)."""

from stratax.tf._arrays import cast as cast
from stratax.tf._dtypes import DType as DType
from stratax.tf._dtypes import as_dtype as as_dtype
from stratax.tf._dtypes import bfloat16 as bfloat16
from stratax.tf._dtypes import bool as bool
from stratax.tf._dtypes import complex64 as complex64
from stratax.tf._dtypes import complex128 as complex128
from stratax.tf._dtypes import double as double
from stratax.tf._dtypes import float16 as float16
from stratax.tf._dtypes import float32 as float32
from stratax.tf._dtypes import float64 as float64
from stratax.tf._dtypes import half as half
from stratax.tf._dtypes import int8 as int8
from stratax.tf._dtypes import int16 as int16
from stratax.tf._dtypes import int32 as int32
from stratax.tf._dtypes import int64 as int64
from stratax.tf._dtypes import string as string
from stratax.tf._dtypes import uint8 as uint8
from stratax.tf._dtypes import uint16 as uint16
from stratax.tf._dtypes import uint32 as uint32
from stratax.tf._dtypes import uint64 as uint64
from stratax.tf._names import missing_name

__all__ = [
    "DType",
    "as_dtype",
    "bfloat16",
    "bool",
    "cast",
    "complex64",
    "complex128",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__getattr__ = missing_name(__name__, __all__)
