"""`tf.contrib.estimator`: Estimators and optimizers made of others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.data.elements import SparseTensor
from stratax.tensorflow import estimator as estimators
from stratax.tensorflow import v1
from stratax.tensorflow.estimator import export
from stratax.tensorflow.ops.math.linalg import clip_by_global_norm

_Optimizer = TypeVar("_Optimizer")
_ModelFn = TypeVar("_ModelFn", bound=Callable[..., Any])


def forward_features(
    estimator: Any,
    keys: str | Sequence[str] | None = None,
    sparse_default_values: Mapping[str, Any] | None = None,
) -> Any:
    """Return an Estimator like another one whose predictions hold features, as `tf.contrib.estimator.forward_features`.

    Args:
        estimator: The other one; its checkpoints are this one's.
        keys: The features' names; None for all.
        sparse_default_values: What is put where sparse features have no value, by their names: they become dense.

    Raises:
        BadTypeError: If `keys` are no names.
        BadArgumentError: While a model is traced: if there is no such feature, a prediction of that name, or a sparse
            feature without a default value.
    """
    chosen = [keys] if isinstance(keys, str) else keys
    if chosen is not None and not (
        isinstance(chosen, list | tuple) and all(isinstance(key, str) for key in chosen)
    ):
        raise errors.BadTypeError(
            f"keys should be either a string or a list of strings. Given: {shown(keys)}"
        )

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        if spec.predictions is None:
            return spec
        added = _forward(features, spec.predictions, chosen, sparse_default_values or {})
        outputs = {
            key: _with_features(key, output, added) for key, output in (spec.export_outputs or {}).items()
        }
        return spec._replace(predictions={**spec.predictions, **added}, export_outputs=outputs or None)

    return estimators.Estimator(model_fn, estimator.model_dir, estimator.config)


def _forward(
    features: Any, predictions: Any, keys: Sequence[str] | None, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    if not isinstance(predictions, dict):
        raise errors.BadArgumentError(
            f"Predictions should be a dict to be able to forward features. Given: {type(predictions).__name__}"
        )
    added = {}
    for key in features if keys is None else keys:
        if key not in features:
            raise errors.BadArgumentError(
                f'keys should be exist in features. Key "{key}" is not in features dict. features dict has following '
                f"keys: {shown(list(features))}. Please check arguments of forward_features."
            )
        if key in predictions:
            raise errors.BadArgumentError(
                f"Cannot forward feature key ({key}). Since it does exist in predictions. Existing prediction keys: "
                f"{shown(list(predictions))}. Please check arguments of forward_features."
            )
        feature = features[key]
        if isinstance(feature, SparseTensor) != (key in defaults):
            raise errors.BadArgumentError(
                f"Feature ({key}) should be a Tensor, or a SparseTensor with a value in sparse_default_values. "
                f"Received: {shown(feature)}, sparse_default_values={shown(defaults)}."
            )
        added[key] = v1.sparse.to_dense(feature, defaults[key]) if key in defaults else feature
    return added


def _with_features(key: str, output: object, added: dict[str, Any]) -> Any:
    if key not in ("predict", "serving_default") or not isinstance(output, export.PredictOutput):
        return output
    return export.PredictOutput({**output.outputs, **added})


class _ClippingOptimizer(v1.train.Optimizer):
    """Another optimizer, whose gradients are clipped by their common norm.

    Args:
        optimizer: The other one.
        clip_norm: The largest norm.
    """

    def __init__(self, optimizer: v1.train.Optimizer, clip_norm: float) -> None:
        super().__init__(use_locking=False, name=f"ClipByNorm{optimizer.get_name()}")
        self._optimizer = optimizer
        self._clip_norm = clip_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, keras.Variable]]:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        pairs = list(grads_and_vars)
        clipped, _ = clip_by_global_norm([gradient for gradient, _ in pairs], self._clip_norm)
        changed = [(gradient, variable) for gradient, (_, variable) in zip(clipped, pairs, strict=True)]
        return self._optimizer.apply_gradients(changed, global_step, name)

    def get_slot(self, var: keras.Variable, name: str) -> keras.Variable | None:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()

    def variables(self) -> list[keras.Variable]:
        return self._optimizer.variables()


def clip_gradients_by_norm(optimizer: v1.train.Optimizer, clip_norm: float) -> v1.train.Optimizer:
    """Return an optimizer that clips gradients by their common norm, as `tf.contrib.estimator.clip_gradients_by_norm`.

    Args:
        optimizer: Computes and applies gradients.
        clip_norm: The largest norm.
    """
    return _ClippingOptimizer(optimizer, clip_norm)


def replicate_model_fn(
    model_fn: _ModelFn, loss_reduction: str = "weighted_sum_by_nonzero_weights", devices: object = None
) -> _ModelFn:
    """Return a `model_fn` as it is: a batch is not divided among the devices of one process.

    TensorFlow's divides the batch, and adds the parts' gradients up: those of the whole, which are computed here. A
    `RunConfig` with a strategy uses several devices.

    Args:
        model_fn: The function.
        loss_reduction: Ignored.
        devices: Ignored.
    """
    return model_fn


def TowerOptimizer(optimizer_or_optimizer_fn: _Optimizer | Callable[[], _Optimizer]) -> _Optimizer:
    """Return an optimizer as it is, for a `model_fn` that `replicate_model_fn` was given.

    Args:
        optimizer_or_optimizer_fn: The optimizer, or a function without arguments that makes it.
    """
    made: Any = optimizer_or_optimizer_fn
    return made() if callable(made) else made
