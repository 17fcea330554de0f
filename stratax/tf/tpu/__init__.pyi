"""`tf.tpu` (tf layer)."""

from stratax.tensorflow.estimator.tpu import CrossShardOptimizer as CrossShardOptimizer
from stratax.tensorflow.estimator.tpu import PaddingSpec as PaddingSpec
from stratax.tensorflow.estimator.tpu import XLAOptions as XLAOptions
from stratax.tensorflow.estimator.tpu import batch_parallel as batch_parallel
from stratax.tensorflow.estimator.tpu import bfloat16_scope as bfloat16_scope
from stratax.tensorflow.estimator.tpu import core as core
from stratax.tensorflow.estimator.tpu import cross_replica_sum as cross_replica_sum
from stratax.tensorflow.estimator.tpu import initialize_system as initialize_system
from stratax.tensorflow.estimator.tpu import outside_compilation as outside_compilation
from stratax.tensorflow.estimator.tpu import replicate as replicate
from stratax.tensorflow.estimator.tpu import rewrite as rewrite
from stratax.tensorflow.estimator.tpu import shard as shard
from stratax.tensorflow.estimator.tpu import shutdown_system as shutdown_system

from . import experimental as experimental
