"""`TPUEstimator`: an Estimator with batch sizes of its own and many steps per program (estimator layer)."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from stratax import errors
from stratax._shown import shown
from stratax.data import Dataset
from stratax.distribute import InputContext, Strategy, TPUStrategy, detect_strategy
from stratax.distribute.replicas import get_strategy
from stratax.estimator import _calls, _inputs
from stratax.estimator._estimator import Estimator
from stratax.estimator._mode_keys import ModeKeys
from stratax.estimator._spec import EstimatorSpec
from stratax.estimator.tpu._config import InputPipelineConfig, RunConfig
from stratax.estimator.tpu._context import TPUContext
from stratax.estimator.tpu._spec import TPUEstimatorSpec

_BATCH_SIZE, _CONTEXT = "batch_size", "context"
_SIZES = {
    ModeKeys.TRAIN: "train_batch_size",
    ModeKeys.EVAL: "eval_batch_size",
    ModeKeys.PREDICT: "predict_batch_size",
}


class TPUEstimator(Estimator):
    """An Estimator that gives its input and `model_fn` their batch size, as `tf.estimator.tpu.TPUEstimator`.

    With `use_tpu` it runs on the cores of the TPU in `config`, or of the one that there is, real or simulated; without
    a TPU on the GPUs, or on the processor. Many steps are one program (`TPUConfig.iterations_per_loop`). Evaluation and
    prediction take every example once, whatever divides: in TensorFlow the caller has to see to that.

    Args:
        model_fn: As of `Estimator`; returns a :class:`TPUEstimatorSpec` or an `EstimatorSpec`. Its `params` have
            ``"batch_size"``, of one core, and ``"context"``.
        model_dir: As of `Estimator`.
        config: A `stratax.estimator.tpu.RunConfig`.
        params: What `model_fn` and `input_fn` get as `params`, beside those.
        use_tpu: Whether to run on a TPU's cores; else on one device.
        train_batch_size: The size of a batch of all cores in training.
        eval_batch_size: That in evaluation.
        predict_batch_size: That in prediction.
        batch_axis: Must be None or zeros: the batch is the first dimension.
        eval_on_tpu: Whether evaluation runs on all cores too.
        export_to_tpu: Ignored.
        export_to_cpu: Ignored.
        warm_start_from: As of `Estimator`.
        embedding_config_spec: Must be None: embeddings on TPUs' hosts are not supported.
        export_saved_model_api_version: Ignored.

    Raises:
        BadArgumentError: If a batch size is missing or does not divide, `params` has a reserved key, or something is
            asked for that is not supported.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | os.PathLike | None = None,
        config: RunConfig | None = None,
        params: Mapping[str, Any] | None = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: object = None,
        embedding_config_spec: object = None,
        export_saved_model_api_version: object = None,
    ) -> None:
        if config is None or not isinstance(config, RunConfig):
            raise errors.BadArgumentError(
                "`config` must be provided with type stratax.estimator.tpu.RunConfig. "
                f"Received: config={shown(config)}."
            )
        reserved = {_BATCH_SIZE, _CONTEXT} & set(params or ())
        if reserved:
            raise errors.BadArgumentError(
                f"{', '.join(sorted(reserved))} are reserved keys but existed in params. "
                f"Received: params={shown(params)}. The estimator gives them."
            )
        if embedding_config_spec is not None:
            raise errors.BadArgumentError(
                "Embeddings on the hosts of a TPU are not supported. Received: "
                f"embedding_config_spec={shown(embedding_config_spec)}. Use an embedding layer in model_fn."
            )
        if batch_axis is not None and any(axis != 0 for axis in _leaves(batch_axis)):
            raise errors.BadArgumentError(
                f"The batch has to be the first dimension. Expected: batch_axis=None. Received: {shown(batch_axis)}."
            )
        if use_tpu and train_batch_size is None:
            raise errors.BadArgumentError(
                "`train_batch_size` cannot be `None`. Pass the size of a batch of all cores."
            )
        self._use_tpu = use_tpu
        self._eval_on_tpu = eval_on_tpu
        self._sizes = {
            "train_batch_size": train_batch_size,
            "eval_batch_size": eval_batch_size,
            "predict_batch_size": predict_batch_size,
        }
        for name, size in self._sizes.items():
            if size is not None and (not isinstance(size, int) or size < 1):
                raise errors.BadArgumentError(
                    f"{name} must be a positive integer. Received: {name}={shown(size)}."
                )
        self._tpu_strategy: Strategy | None = None
        super().__init__(model_fn, model_dir, config, params, warm_start_from)
        if use_tpu:
            self._check_divides()

    @property
    def _tpu_config(self) -> Any:
        return self._config.tpu_config  # type: ignore[attr-defined]

    def _check_divides(self) -> None:
        replicas = self._on_cores().num_replicas_in_sync
        shards = self._tpu_config.num_shards
        if shards is not None and shards != replicas:
            raise errors.BadArgumentError(
                f"TPUConfig.num_shards is not set correctly. Expected: {replicas}, the number of cores. "
                f"Received: {shards}."
            )
        for name, size in self._sizes.items():
            if size is not None and size % replicas:
                raise errors.BadArgumentError(
                    f"{name.replace('_', ' ')} {size} must be divisible by number of replicas {replicas}."
                )

    def _on_cores(self) -> Strategy:
        """Return the strategy of all cores; made once, as the TPU is initialised with it."""
        if self._tpu_strategy is None:
            given = self._config.train_distribute
            if given is not None:
                self._tpu_strategy = given
            elif self._config.cluster is not None:  # type: ignore[attr-defined]
                self._tpu_strategy = TPUStrategy(self._config.cluster)  # type: ignore[attr-defined]
            else:
                self._tpu_strategy = detect_strategy()
        return self._tpu_strategy

    def _strategy(self, field: str) -> Strategy:
        if not self._use_tpu or (field == "eval_distribute" and not self._eval_on_tpu):
            return get_strategy()
        return self._on_cores()

    def _predicting(self) -> Strategy:
        return self._of_this_worker(self._strategy("train_distribute"))

    def _batches_in_step(self, strategy: Strategy) -> int:
        # Whole batches of all cores, as in TensorFlow.
        return 1

    def _steps_per_dispatch(self) -> int:
        found: int = self._tpu_config.iterations_per_loop
        return found if self._use_tpu else 1

    def _batch_size(self, mode: str) -> int | None:
        """Return the size of a batch of all cores."""
        name = _SIZES[mode]
        size = self._sizes[name]
        if size is None and self._use_tpu:
            method = "predict" if mode == ModeKeys.PREDICT else mode
            raise errors.BadArgumentError(
                f"{name} in TPUEstimator constructor must not be `None` if .{method} is running on TPU."
            )
        return size

    def _call_model_fn(self, features: Any, labels: Any, mode: str) -> Any:
        params = dict(self._params)
        if mode == ModeKeys.PREDICT:
            strategy = self._predicting()
        else:
            strategy = self._strategy("train_distribute" if mode == ModeKeys.TRAIN else "eval_distribute")
        size = self._batch_size(mode)
        if size is not None:
            params[_BATCH_SIZE] = size // strategy.num_replicas_in_sync
        params[_CONTEXT] = TPUContext(strategy)
        labels = None if mode == ModeKeys.PREDICT else labels
        spec = _calls.call_model_fn(self._model_fn, features, labels, mode, params, self._config)
        if isinstance(spec, TPUEstimatorSpec):
            return spec.as_estimator_spec(self._tpu_config.experimental_host_call_every_n_steps)
        if not isinstance(spec, EstimatorSpec):
            raise errors.BadTypeError(
                f"model_fn should return a TPUEstimatorSpec or an EstimatorSpec. Received: {shown(spec)}."
            )
        return spec

    def _input(self, strategy: Strategy, input_fn: Callable[..., Any], mode: str) -> _inputs.ModelInput:
        if "params" not in _calls.arguments_of(input_fn) and not _calls.takes_any(input_fn):
            raise errors.BadArgumentError(
                "input_fn must take params, which has the batch size. Received: arguments "
                f"{', '.join(_calls.arguments_of(input_fn)) or 'none'}."
            )
        size = self._batch_size(mode)
        replicas = strategy.num_replicas_in_sync
        pipeline = self._tpu_config.per_host_input_for_training
        by_host = strategy.num_replicas_in_sync > 1 and pipeline == InputPipelineConfig.PER_HOST_V1

        def make(context: InputContext) -> Any:
            params = {**self._params, _CONTEXT: TPUContext.of_input(strategy, context)}
            if size is not None:
                params[_BATCH_SIZE] = size // (context.num_input_pipelines if by_host else replicas)
            given = {"params": params, "mode": mode, "config": self._config, "input_context": context}
            return _inputs.as_dataset(_calls.call_input_fn(input_fn, given))

        if not by_host:
            return _inputs.distributed(strategy, make)
        if strategy.extended.membership.share.processes == 1:
            # One process divides its batches itself, without taking them apart.
            alone = InputContext(num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=replicas)
            return _inputs.divided(strategy, make(alone))
        return _inputs.distributed(
            strategy, lambda context: _by_core(make(context), (size or replicas) // replicas)
        )


def _by_core(dataset: Dataset, size: int) -> Dataset:
    """Return a host's batches as those of its cores."""
    return dataset.unbatch().batch(size)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, list | tuple) else [value]
