"""`tf.contrib.learn`: experiments of Estimators, as programs before `tf.estimator.train_and_evaluate` run them."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import estimator as estimators
from stratax.tensorflow.contrib._learn_estimator import LearnEstimator, receiver_fn


class LearnModeKeys:
    """What a `model_fn` is called for, as `tf.contrib.learn.ModeKeys`.

    Attributes:
        TRAIN: Training.
        EVAL: Evaluation.
        INFER: Prediction.
    """

    TRAIN = estimators.ModeKeys.TRAIN
    EVAL = estimators.ModeKeys.EVAL
    INFER = estimators.ModeKeys.PREDICT


class ExportStrategy(NamedTuple):
    """How an Experiment exports, as `tf.contrib.learn.ExportStrategy`.

    Attributes:
        name: The folder below `export` of the model's.
        export_fn: Called with the Estimator and the folder; returns what it has made.
    """

    name: str
    export_fn: Callable[..., Any]

    def export(
        self,
        estimator: object,
        export_path: str,
        checkpoint_path: str | None = None,
        eval_result: object = None,
    ) -> Any:
        """Export into a folder.

        Args:
            estimator: The Estimator.
            export_path: The folder.
            checkpoint_path: By default the latest.
            eval_result: What the last evaluation has given.
        """
        return self.export_fn(estimator, export_path, checkpoint_path)


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Return what exports a model that is served, as `saved_model_export_utils.make_export_strategy`.

    Args:
        serving_input_fn: Returns what is fed: what receives inputs, or `InputFnOps`.
        default_output_alternative_key: Refused.
        assets_extra: Files that are copied into the export, by their paths there.
        as_text: Ignored.
        exports_to_keep: How many exports stay; None for all.
        strip_default_attrs: Ignored.

    Raises:
        BadArgumentError: For what is refused.
    """
    if default_output_alternative_key is not None:
        raise errors.BadArgumentError(
            "default_output_alternative_key is not supported in canned Estimators. Received: "
            f"{shown(default_output_alternative_key)}. Name the output DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )

    exporter = estimators.LatestExporter(
        "Servo", receiver_fn(serving_input_fn), assets_extra, as_text, exports_to_keep=exports_to_keep
    )

    def export(estimator: Any, export_path: str, checkpoint_path: str | None) -> Any:
        latest = checkpoint_path or estimator.latest_checkpoint()
        return exporter.export(estimator, export_path, latest, {}, is_the_final_export=True)

    return ExportStrategy("Servo", export)


class Experiment:
    """An Estimator with its inputs, as `tf.contrib.learn.Experiment`.

    Args:
        estimator: The Estimator.
        train_input_fn: What it trains on.
        eval_input_fn: What it is evaluated on.
        eval_metrics: A `MetricSpec` for each name, where `estimator` is one of `tf.contrib.learn`; else refused: a
            `model_fn` returns its metrics.
        train_steps: The global step at which training ends; None for the end of the input.
        eval_steps: How many batches an evaluation takes; None for all.
        train_monitors: Hooks of training.
        eval_hooks: Hooks of evaluations.
        local_eval_frequency: Ignored, as TensorFlow's is deprecated.
        eval_delay_secs: Ignored.
        continuous_eval_throttle_secs: The time between two evaluations in turns.
        min_eval_frequency: Ignored: `train_and_evaluate` evaluates behind the training.
        delay_workers_by_global_step: Ignored.
        export_strategies: What is exported behind an evaluation: one, or several.
        train_steps_per_iteration: Ignored.
        checkpoint_and_export: Ignored.
        saving_listeners: Told when checkpoints are saved.
        check_interval_secs: Ignored.

    Raises:
        BadArgumentError: For what is refused.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Sequence[Any] | None = None,
        eval_hooks: Sequence[Any] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Sequence[Any] | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        if eval_metrics is not None and not isinstance(estimator, LearnEstimator):
            raise errors.BadArgumentError(
                "`eval_metrics` must be `None` with `tf.estimator.Estimator`: its model_fn returns eval_metric_ops."
            )
        self._estimator = estimator
        self._own: dict[str, Any] = {} if eval_metrics is None else {"metrics": eval_metrics}
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._train_monitors = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        self._saving_listeners = saving_listeners
        self._throttle_secs = continuous_eval_throttle_secs
        chosen = [export_strategies] if isinstance(export_strategies, ExportStrategy) else export_strategies
        self._export_strategies: list[ExportStrategy] = list(chosen or ())

    @property
    def estimator(self) -> Any:
        """The Estimator that it runs."""
        return self._estimator

    @property
    def train_steps(self) -> int | None:
        """The global step at which training ends."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """How many batches an evaluation takes."""
        return self._eval_steps

    def train(self, delay_secs: float | None = None) -> Any:
        """Train to `train_steps`, and return the Estimator.

        Args:
            delay_secs: Ignored.
        """
        return self._estimator.train(
            self._train_input_fn,
            hooks=self._train_monitors,
            max_steps=self._train_steps,
            saving_listeners=self._saving_listeners,
        )

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """Evaluate the latest checkpoint, and return its metrics.

        Args:
            delay_secs: Ignored.
            name: Of the evaluation.
        """
        found: dict[str, Any] = self._estimator.evaluate(
            self._eval_input_fn, steps=self._eval_steps, hooks=self._eval_hooks, name=name, **self._own
        )
        return found

    def train_and_evaluate(self) -> tuple[dict[str, Any], list[Any]]:
        """Train, evaluate, export, and return the metrics and what the exports have made."""
        self.train()
        found = self.evaluate()
        return found, self._export(found)

    def test(self) -> tuple[dict[str, Any], list[Any]]:
        """Train and evaluate one step, to see whether it runs."""
        self._estimator.train(self._train_input_fn, hooks=self._train_monitors, steps=1)
        found = self._estimator.evaluate(self._eval_input_fn, steps=1, name="one_pass", **self._own)
        return found, self._export(found)

    def run_std_server(self) -> Any:
        """Train in turns with evaluations in the cluster of `TF_CONFIG`, in which a task may be a server."""
        return estimators.train_and_evaluate(
            self._estimator,
            estimators.TrainSpec(self._train_input_fn, self._train_steps, self._train_monitors),
            estimators.EvalSpec(
                self._eval_input_fn,
                self._eval_steps,
                hooks=self._eval_hooks,
                throttle_secs=int(self._throttle_secs),
            ),
        )

    def _export(self, eval_result: dict[str, Any]) -> list[Any]:
        folder = os.path.join(os.fspath(self._estimator.model_dir), "export")
        return [
            each.export(self._estimator, os.path.join(folder, each.name), eval_result=eval_result)
            for each in self._export_strategies
        ]


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: object = None,
    hparams: object = None,
) -> Any:
    """Make an Experiment and run it, as `tf.contrib.learn.learn_runner.run`.

    Args:
        experiment_fn: Makes it: of `output_dir`, or of `run_config` and `hparams`.
        output_dir: The model's folder, where no `run_config` is given.
        schedule: Which method runs; by default `train_and_evaluate`, and in a cluster what `TF_CONFIG` says.
        run_config: The Estimator's settings.
        hparams: The program's.

    Raises:
        BadArgumentError: If there are both or neither of a folder and settings, or no such method.
        BadTypeError: If no Experiment is made.
    """
    if (output_dir is None) == (run_config is None):
        raise errors.BadArgumentError(
            "An Experiment is made of output_dir, or of run_config and hparams. Received: "
            f"output_dir={shown(output_dir)}, run_config={shown(run_config)}."
        )
    experiment = experiment_fn(output_dir) if run_config is None else experiment_fn(run_config, hparams)
    if not isinstance(experiment, Experiment):
        raise errors.BadTypeError(
            f"experiment_fn returns a tf.contrib.learn.Experiment. Received: {shown(experiment)}."
        )
    cluster = getattr(experiment.estimator.config, "cluster_spec", None)
    chosen = schedule or ("run_std_server" if cluster else "train_and_evaluate")
    method = getattr(experiment, chosen, None)
    if chosen.startswith("_") or not callable(method):
        raise errors.BadArgumentError(
            "An Experiment has the schedules train, evaluate, train_and_evaluate, test and run_std_server. Received: "
            f"schedule={shown(chosen)}."
        )
    return method()
