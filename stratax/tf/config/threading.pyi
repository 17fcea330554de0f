"""`tf.config.threading` (tf layer)."""

from stratax.cluster.settings import get_inter_op_parallelism_threads as get_inter_op_parallelism_threads
from stratax.cluster.settings import get_intra_op_parallelism_threads as get_intra_op_parallelism_threads
from stratax.cluster.settings import set_inter_op_parallelism_threads as set_inter_op_parallelism_threads
from stratax.cluster.settings import set_intra_op_parallelism_threads as set_intra_op_parallelism_threads
