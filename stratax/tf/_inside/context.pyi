"""What programs import of `tensorflow.python.eager.context` (tf layer)."""

from stratax.core.regions import executing_eagerly as executing_eagerly

from ._context import context as context
from ._context import num_gpus as num_gpus
