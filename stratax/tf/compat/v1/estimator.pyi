"""`tf.compat.v1.estimator`: Estimators whose heads sum losses and have TensorFlow 1's metrics (tf layer)."""

from stratax.tf.estimator import *

del BaselineClassifier
del BaselineEstimator
del BaselineRegressor
del DNNLinearCombinedClassifier
del DNNLinearCombinedEstimator
del DNNLinearCombinedRegressor
del DNNClassifier
del DNNEstimator
del DNNRegressor
del LinearClassifier
del LinearEstimator
del LinearRegressor
from stratax.tensorflow.estimator.canned.v1 import BaselineClassifier as BaselineClassifier  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import BaselineEstimator as BaselineEstimator  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import BaselineRegressor as BaselineRegressor  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import DNNClassifier as DNNClassifier  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import DNNEstimator as DNNEstimator  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import DNNRegressor as DNNRegressor  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import LinearClassifier as LinearClassifier  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import LinearEstimator as LinearEstimator  # type: ignore[assignment] # noqa: E402
from stratax.tensorflow.estimator.canned.v1 import LinearRegressor as LinearRegressor  # type: ignore[assignment] # noqa: E402
