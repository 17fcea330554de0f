from ._config import InputPipelineConfig as InputPipelineConfig
from ._config import RunConfig as RunConfig
from ._config import TPUConfig as TPUConfig
from ._context import TPUContext as TPUContext
from ._estimator import TPUEstimator as TPUEstimator
from ._optimizer import CrossShardOptimizer as CrossShardOptimizer
from ._optimizer import cross_replica_sum as cross_replica_sum
from ._spec import TPUEstimatorSpec as TPUEstimatorSpec
