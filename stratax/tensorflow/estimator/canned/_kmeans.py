"""Clusters of points by k-means as an estimator (estimator layer)."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import Dataset
from stratax.distribute.replicas import sum_over_replicas, syncing_replicas
from stratax.tensorflow import feature_column, v1
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._export_outputs import PredictOutput
from stratax.tensorflow.estimator._inputs import as_dataset
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator.hooks import SessionRunArgs, SessionRunHook
from stratax.tensorflow.ops.calls.creation import on_device

_SQUARED, _COSINE = "squared_euclidean", "cosine"
_RANDOM, _PLUS_PLUS = "random", "kmeans_plus_plus"
_CENTERS, _INDEX, _DISTANCES, _SCORE = "clusters", "cluster_index", "all_distances", "score"
# What keeps a full batch from dividing by 0 where a center has no points, as in TensorFlow.
_EPSILON = 1e-6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """How points are clustered.

    Attributes:
        num_clusters: How many centers there are.
        initial_clusters: The first centers, how they are chosen, or a function of points and a number that chooses.
        is_cosine: Whether the distance is that of directions.
        seed: Of what is drawn.
        use_mini_batch: Whether a step moves centers by its batch, and not to the means of its points.
        steps_per_iteration: After how many batches centers move.
        num_retries: How many further points kmeans++ draws for each center; negative for a number that it chooses.
        columns: Feature columns, or none.
    """

    num_clusters: int
    initial_clusters: Any
    is_cosine: bool
    seed: int | None
    use_mini_batch: bool
    steps_per_iteration: int
    num_retries: int
    columns: Sequence[Any]

    def points(self, features: object) -> Any:
        """Return points of features, of shape `(batch, size)`."""
        if not isinstance(features, Mapping):
            return on_device(features)
        if self.columns:
            return feature_column.input_layer(features, self.columns)
        return jnp.concatenate([on_device(features[key]) for key in sorted(features)], 1)

    # The first centers.

    def choose(self, dataset: Dataset) -> tuple[np.ndarray, int]:
        """Return the first centers, and of how many batches of a dataset they were chosen.

        Raises:
            BadArgumentError: The dataset has too few points.
        """
        if not isinstance(self.initial_clusters, str) and not callable(self.initial_clusters):
            return self._normalize(np.asarray(self.initial_clusters, np.float32)), 0
        centers: list[np.ndarray] = []
        random, used = np.random.default_rng(self.seed), 0
        for element in dataset:
            used += 1
            batch = np.asarray(self.points(element[0] if isinstance(element, tuple) else element), np.float32)
            centers.extend(self._normalize(self._choose_of(batch, self.num_clusters - len(centers), random)))
            if len(centers) >= self.num_clusters:
                return np.stack(centers), used
        raise errors.BadArgumentError(
            f"There are fewer points than clusters. Expected: at least num_clusters={self.num_clusters} points. "
            f"Received: {len(centers)} centers of {used} batches."
        )

    def _choose_of(self, batch: np.ndarray, wanted: int, random: np.random.Generator) -> np.ndarray:
        if callable(self.initial_clusters):
            return np.asarray(self.initial_clusters([batch], wanted), np.float32)
        if self.initial_clusters == _PLUS_PLUS:
            return _plus_plus(self._normalize(batch), wanted, random, self.num_retries)
        return batch if len(batch) <= wanted else batch[random.integers(0, len(batch), wanted)]

    def _normalize(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(_l2_normalized(points)) if self.is_cosine else points

    # A step.

    @property
    def _keeps_normalized(self) -> bool:
        return self.is_cosine and (not self.use_mini_batch or self.steps_per_iteration > 1)

    def distances(self, points: Any, centers: Any) -> Any:
        """Return the distance of each point to each center, of shape `(batch, num_clusters)`."""
        return 1 - points @ centers.T if self.is_cosine else _measure_squares(points, centers)

    def update(self, points: Any, nearest: Any, centers: Any) -> v1.Operation:
        """Return the operation that moves centers, of which each point has the nearest one."""
        sums, counts = _sum(
            (
                jax.ops.segment_sum(points, nearest, self.num_clusters),
                jax.ops.segment_sum(jnp.ones(len(nearest)), nearest, self.num_clusters),
            )
        )
        if not self.use_mini_batch:
            means = sums / (counts + _EPSILON)[:, None]
            return centers.assign(_l2_normalized(means) if self.is_cosine else means)
        several = self.steps_per_iteration > 1
        total = v1.get_variable(
            "Variable",
            [self.num_clusters],
            np.int32,
            v1.zeros_initializer() if several else v1.ones_initializer(),
            trainable=False,
        )
        if not several:
            return self._move(sums, counts, centers, centers.value, total, total.value)
        moving = v1.get_variable(
            "clusters_updated",
            centers.shape,
            initializer=lambda *_, **__: jnp.array(centers.value),
            trainable=False,
        )
        left = v1.get_variable(
            "update_in_steps",
            [],
            np.int32,
            lambda *_, **__: jnp.asarray(self.steps_per_iteration, jnp.int32),
            trainable=False,
        )
        # Centers move after an iteration, before the first batch of the next one is counted.
        ends = left.value <= 0
        arrived = _l2_normalized(moving.value) if self.is_cosine else moving.value
        counted = jnp.where(ends, 0, total.value)
        return v1.group(
            centers.assign(jnp.where(ends, arrived, centers.value)),
            left.assign(jnp.where(ends, self.steps_per_iteration - 1, left.value - 1)),
            self._move(sums, counts, moving, moving.value, total, counted),
        )

    def _move(
        self, sums: Any, counts: Any, moving: Any, before: Any, total: Any, counted: Any
    ) -> v1.Operation:
        """Move the centers that a batch has points of, by the part that these are of all so far."""
        after = counted + counts
        # As TensorFlow 2.15 computes it, which reads the numbers after they were counted: its centers are slower than
        # those of Sculley's "Web-Scale K-Means Clustering", 2010.
        rate = 1 / jnp.maximum(after + counts, 1)[:, None]
        change = (sums - counts[:, None] * before) * rate
        return v1.group(moving.assign(before + change), total.assign(after.astype(total.dtype)))

    def model_fn(self, features: object, mode: str, first: np.ndarray | None) -> EstimatorSpec:
        """Return the model of features, with the first centers where it begins."""
        points = self.points(features)
        if self.is_cosine:
            points = _l2_normalized(points)
        shape = (self.num_clusters, int(points.shape[1]))

        def initial(*_: object, **__: object) -> Any:
            return jnp.zeros(shape, jnp.float32) if first is None else jnp.asarray(first, jnp.float32)

        centers = v1.get_variable(_CENTERS, shape, initializer=initial, trainable=False)
        used = centers.value
        if self.is_cosine and not self._keeps_normalized:
            used = _l2_normalized(used)
        distances = self.distances(points, used)
        # As TensorFlow has it: the cosine's for vectors of length 1, but 0 from a vector of zeros to another one.
        compared = 0.5 * _measure_squares(points, used) if self.is_cosine else distances
        nearest = jnp.argmin(compared, 1).astype(jnp.int32)
        loss = _sum(jnp.sum(jnp.min(compared, 1)))
        v1.summary.scalar("loss/raw", loss)
        train_op = None
        if mode == ModeKeys.TRAIN:
            train_op = v1.group(
                self.update(points, nearest, centers), v1.current().global_step().assign_add(1)
            )
        outputs = {_DISTANCES: PredictOutput(distances), _INDEX: PredictOutput(nearest)}
        return EstimatorSpec(
            mode,
            predictions={_DISTANCES: distances, _INDEX: nearest},
            loss=loss,
            train_op=train_op,
            eval_metric_ops={_SCORE: v1.metrics.mean(loss)},
            export_outputs={**outputs, "serving_default": outputs[_INDEX]},
        )


def _measure_squares(points: Any, centers: Any) -> Any:
    squares = jnp.sum(jnp.square(points), 1, keepdims=True)
    return squares - 2 * points @ centers.T + jnp.sum(jnp.square(centers), 1)


class KMeans(Estimator):
    """Clusters points by k-means, as `tf.compat.v1.estimator.experimental.KMeans`.

    The first centers are chosen of the first batches, before the first step; these batches are taken from the input,
    as in TensorFlow, unless the input ends with them. Draws are not TensorFlow's. Mini-batches of TensorFlow read
    variables while they write them, so that its centers differ between runs, for cosine distances in the second digit:
    here the order is the one that its steps mostly have.

    Args:
        num_clusters: How many centers there are; ignored where `initial_clusters` are given as an array.
        model_dir: Where checkpoints are.
        initial_clusters: The first centers, shape `(num_clusters, size)`; `KMeans.RANDOM_INIT` or
            `KMeans.KMEANS_PLUS_PLUS_INIT`; or a function of a list with one batch and a number, which returns
            at most as many centers and is called for batch after batch.
        distance_metric: `KMeans.SQUARED_EUCLIDEAN_DISTANCE` or `KMeans.COSINE_DISTANCE`.
        seed: Of the draws.
        use_mini_batch: Whether each step moves the centers a part of the way. Without it, a batch has to be the whole
            input.
        mini_batch_steps_per_iteration: After how many batches the centers are moved.
        kmeans_plus_plus_num_retries: How many further points kmeans++ draws for each center.
        relative_tolerance: Training ends when the loss changes by less than this part.
        config: How it runs.
        feature_columns: Dense columns; None for all features, in the order of their names.

    Raises:
        BadArgumentError: If an argument can't be.

    Example:
        >>> import numpy as np, stratax.estimator as estimator
        >>> from stratax.data import Dataset
        >>> points = np.array([[0.0], [1.0], [10.0], [11.0]], np.float32)
        >>> made = estimator.KMeans(2, initial_clusters=[[0.0], [9.0]], use_mini_batch=False)
        >>> _ = made.train(lambda: Dataset.from_tensors(points).repeat(), steps=2)
        >>> made.cluster_centers().round(3).tolist()
        [[0.5], [10.5]]
    """

    SQUARED_EUCLIDEAN_DISTANCE = _SQUARED
    COSINE_DISTANCE = _COSINE
    RANDOM_INIT = _RANDOM
    KMEANS_PLUS_PLUS_INIT = _PLUS_PLUS
    SCORE = _SCORE
    CLUSTER_INDEX = _INDEX
    ALL_DISTANCES = _DISTANCES
    CLUSTER_CENTERS_VAR_NAME = _CENTERS

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: object = _RANDOM,
        distance_metric: str = _SQUARED,
        seed: int | None = None,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: RunConfig | None = None,
        feature_columns: Sequence[Any] | None = None,
    ) -> None:
        _check_one_of("initial_clusters", initial_clusters, (_RANDOM, _PLUS_PLUS))
        _check_one_of("distance_metric", distance_metric, (_SQUARED, _COSINE))
        is_given = not isinstance(initial_clusters, str) and not callable(initial_clusters)
        self._clustering = Clustering(
            num_clusters=len(np.asarray(initial_clusters)) if is_given else int(num_clusters),
            initial_clusters=initial_clusters,
            is_cosine=distance_metric == _COSINE,
            seed=seed,
            use_mini_batch=use_mini_batch,
            steps_per_iteration=int(mini_batch_steps_per_iteration),
            num_retries=kmeans_plus_plus_num_retries,
            columns=tuple(feature_columns or ()),
        )
        self._first: np.ndarray | None = None

        def model_fn(features: object, mode: str) -> EstimatorSpec:
            spec = self._clustering.model_fn(features, mode, self._first)
            if relative_tolerance is None:
                return spec
            return spec._replace(training_hooks=(_StopAtSmallChange(spec.loss, relative_tolerance),))

        super().__init__(model_fn, model_dir, config)

    def train(self, input_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> "KMeans":
        """Train as :meth:`Estimator.train`; without a checkpoint the first centers are chosen before."""
        if self.latest_checkpoint() is None:
            input_fn = self._beginning(input_fn)
        super().train(input_fn, *args, **kwargs)
        return self

    def _beginning(self, input_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return an `input_fn` that chooses the first centers, and goes on behind their batches."""

        @functools.wraps(input_fn)
        def choosing(*args: object, **kwargs: object) -> Any:
            dataset = as_dataset(input_fn(*args, **kwargs))
            self._first, used = self._clustering.choose(dataset)
            rest = dataset.skip(used)
            return dataset if next(iter(rest.take(1)), None) is None else rest

        return choosing

    def predict_cluster_index(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """Yield the number of the nearest center of each point.

        Args:
            input_fn: Returns points.
        """
        return (each[_INDEX] for each in self.predict(input_fn, [_INDEX]))

    def score(self, input_fn: Callable[..., Any]) -> Any:
        """Return the sum of the first batch's distances to their nearest centers, squared if they are Euclidean.

        Args:
            input_fn: Returns points.
        """
        return self.evaluate(input_fn, steps=1)[_SCORE]

    def transform(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """Yield the distances of each point to all centers.

        Args:
            input_fn: Returns points.
        """
        for each in self.predict(input_fn, [_DISTANCES]):
            yield each[_DISTANCES] if self._clustering.is_cosine else np.sqrt(each[_DISTANCES])

    def cluster_centers(self) -> np.ndarray:
        """Return the centers of the last checkpoint, of shape `(num_clusters, size)`."""
        return self.get_variable_value(_CENTERS)


class _StopAtSmallChange(SessionRunHook):
    """Ends training when the loss changes by less than a part of it."""

    def __init__(self, loss: object, tolerance: float) -> None:
        self._loss = loss
        self._tolerance = tolerance
        self._before: float | None = None

    def before_run(self, run_context: object) -> SessionRunArgs:
        """Ask for the loss of each step."""
        del run_context
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Compare the loss with the last one."""
        loss, before = float(run_values.results), self._before
        if before and abs(loss - before) / (1 + abs(before)) < self._tolerance:
            run_context.request_stop()
        self._before = loss


def _check_one_of(name: str, value: object, known: Sequence[str]) -> None:
    if isinstance(value, str) and value not in known:
        raise errors.BadArgumentError(
            f"Unsupported {name}. Expected: one of {', '.join(known)}. Received: {name}={shown(value)}."
        )


def _sum(values: object) -> Any:
    """Return arrays summed over the replicas of a step that are not one."""
    return values if syncing_replicas() is None else sum_over_replicas(values)


def _l2_normalized(points: Any) -> Any:
    squares = jnp.sum(jnp.square(points), 1, keepdims=True)
    return points * jax.lax.rsqrt(jnp.maximum(squares, 1e-12))


def _plus_plus(points: np.ndarray, wanted: int, random: np.random.Generator, retries: int) -> np.ndarray:
    """Return centers that kmeans++ chooses: each far from those before, the best of several draws.

    Source: Arthur and Vassilvitskii, "k-means++: The Advantages of Careful Seeding", 2007.
    """
    if len(points) < wanted:
        raise errors.BadArgumentError(
            f"kmeans++ chooses all centers of the first batch. Expected: at least {wanted} points in it. Received: "
            f"{len(points)}. Use larger batches."
        )
    draws = 1 + (retries if retries >= 0 else 2 + int(np.log(wanted)))
    chosen = [int(random.integers(len(points)))]
    distances = np.sum(np.square(points - points[chosen[0]]), 1, dtype=np.float64)
    while len(chosen) < wanted:
        total = distances.sum()
        weights = distances / total if total else None
        candidates = random.choice(len(points), draws, p=weights)
        found = [
            np.minimum(distances, np.sum(np.square(points - points[each]), 1, dtype=np.float64))
            for each in candidates
        ]
        best = int(np.argmin([each.sum() for each in found]))
        chosen.append(int(candidates[best]))
        distances = found[best]
    return points[chosen]
