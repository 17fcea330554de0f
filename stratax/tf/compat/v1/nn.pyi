from stratax.tf.nn import *

del dropout
del log_softmax
del softmax
del softmax_cross_entropy_with_logits
del softmax_cross_entropy_with_logits_v2
from stratax.v1.nn import *  # type: ignore[assignment] # noqa: E402
