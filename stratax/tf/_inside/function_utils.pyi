"""What programs import of `tensorflow.python.util.function_utils` (tf layer)."""

from ._functions import fn_args as fn_args
from ._functions import get_func_name as get_func_name
from ._functions import has_kwargs as has_kwargs
