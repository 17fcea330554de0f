"""`tf.compat.v1`: how TensorFlow 1 writes a model (tf layer)."""

from stratax.tf import *

del Assert
del Variable
del assert_equal
del assert_greater
del assert_less
del assert_rank
del assert_greater_equal
del assert_less_equal
del assert_near
del assert_negative
del assert_non_negative
del assert_non_positive
del assert_none_equal
del assert_positive
del assert_rank_at_least
del assert_rank_in
del assert_scalar
del debugging
del distribute
del estimator
del feature_column
del image
del initializers
del losses
del metrics
del optimizers
del random_normal_initializer
del random_uniform_initializer
del nn
del saved_model
del summary
del strings
del argmax
del argmin
del where
del while_loop
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
from stratax.tensorflow.v1.functions import *  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.v1.summary import Summary as Summary  # noqa: E402
from stratax.v1 import Variable as Variable  # type: ignore[no-redef] # noqa: E402
from stratax.v1 import initializers as initializers  # type: ignore[no-redef] # noqa: E402
from stratax.v1 import losses as losses  # type: ignore[no-redef] # noqa: E402
from stratax.v1 import metrics as metrics  # type: ignore[no-redef] # noqa: E402
from stratax.v1 import random_normal_initializer as random_normal_initializer  # type: ignore[assignment] # noqa: E402
from stratax.v1 import random_uniform_initializer as random_uniform_initializer  # type: ignore[assignment] # noqa: E402

from . import debugging as debugging  # type: ignore[no-redef] # noqa: E402
from . import distribute as distribute  # type: ignore[no-redef] # noqa: E402
from . import estimator as estimator  # type: ignore[no-redef] # noqa: E402
from . import feature_column as feature_column  # type: ignore[no-redef] # noqa: E402
from . import image as image  # type: ignore[no-redef] # noqa: E402
from . import nn as nn  # type: ignore[no-redef] # noqa: E402
from . import saved_model as saved_model  # type: ignore[no-redef] # noqa: E402
from . import strings as strings  # type: ignore[no-redef] # noqa: E402
from . import summary as summary  # type: ignore[no-redef] # noqa: E402
