"""`tf.contrib.eager`: what programs that compute at once used (tf layer)."""

import stratax.core
import stratax.core.regions
import stratax.tensorflow.contrib._eager
from stratax.core import GradientTape as GradientTape
from stratax.core import Variable as Variable
from stratax.core import function as function
from stratax.core.gradients import custom_gradient as custom_gradient
from stratax.core.regions import executing_eagerly as executing_eagerly
from stratax.data import TensorSpec as TensorSpec
from stratax.tensorflow.contrib._eager import Network as Network
from stratax.tensorflow.contrib._eager import gradients_function as gradients_function
from stratax.tensorflow.contrib._eager import implicit_gradients as implicit_gradients
from stratax.tensorflow.contrib._eager import implicit_value_and_gradients as implicit_value_and_gradients
from stratax.tensorflow.contrib._eager import list_devices as list_devices
from stratax.tensorflow.contrib._eager import num_gpus as num_gpus
from stratax.tensorflow.contrib._eager import value_and_gradients_function as value_and_gradients_function
from stratax.tensorflow.v1.compat import enable_eager_execution as enable_eager_execution
from stratax.train import Checkpoint as Checkpoint

from . import metrics as metrics

Iterator = stratax.tensorflow.contrib._eager.EagerIterator
Saver = stratax.tensorflow.contrib._eager.EagerSaver
defun = stratax.core.function
in_eager_mode = stratax.core.regions.executing_eagerly
