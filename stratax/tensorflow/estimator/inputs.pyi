from ._array_inputs import numpy_input_fn as numpy_input_fn
from ._array_inputs import pandas_input_fn as pandas_input_fn
