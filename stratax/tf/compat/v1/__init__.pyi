from stratax.tf import *

del Variable
del estimator
del feature_column
del nn
del summary
del argmax
del argmin
del expand_dims
del gather
del norm
del pad
del reduce_all
del reduce_any
del reduce_logsumexp
del reduce_max
del reduce_mean
del reduce_min
del reduce_prod
del reduce_sum
del shape
del size
del squeeze
from stratax.v1 import Variable as Variable  # type: ignore[no-redef] # noqa: E402
from stratax.v1.functions import *  # type: ignore[assignment] # noqa: E402

from . import estimator as estimator  # type: ignore[no-redef] # noqa: E402
from . import feature_column as feature_column  # type: ignore[no-redef] # noqa: E402
from . import nn as nn  # type: ignore[no-redef] # noqa: E402
from . import summary as summary  # type: ignore[no-redef] # noqa: E402
