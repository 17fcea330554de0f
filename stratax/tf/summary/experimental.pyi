"""`tf.summary.experimental`: the step of summaries (tf layer)."""

from stratax.summary.experimental import get_step as get_step
from stratax.summary.experimental import set_step as set_step
from stratax.summary.experimental import summary_scope as summary_scope
