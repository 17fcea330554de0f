from stratax.estimator.tpu import CrossShardOptimizer as CrossShardOptimizer
from stratax.estimator.tpu import PaddingSpec as PaddingSpec
from stratax.estimator.tpu import XLAOptions as XLAOptions
from stratax.estimator.tpu import batch_parallel as batch_parallel
from stratax.estimator.tpu import bfloat16_scope as bfloat16_scope
from stratax.estimator.tpu import core as core
from stratax.estimator.tpu import cross_replica_sum as cross_replica_sum
from stratax.estimator.tpu import initialize_system as initialize_system
from stratax.estimator.tpu import outside_compilation as outside_compilation
from stratax.estimator.tpu import replicate as replicate
from stratax.estimator.tpu import rewrite as rewrite
from stratax.estimator.tpu import shard as shard
from stratax.estimator.tpu import shutdown_system as shutdown_system

from . import experimental as experimental
