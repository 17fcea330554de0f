from ._estimator import TowerOptimizer as TowerOptimizer
from ._estimator import clip_gradients_by_norm as clip_gradients_by_norm
from ._estimator import forward_features as forward_features
from ._estimator import replicate_model_fn as replicate_model_fn
