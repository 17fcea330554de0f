"""Losses over a few of many classes, and what draws these: candidate sampling of `tf.nn` (ops layer).

All compute on a device. Distinct classes are drawn all at once, by the times at which classes first turn up if each
has its rate: what TensorFlow draws one by one, and its expected counts, but for how the number of draws is estimated.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.indices import Bound, check_bound
from stratax.base.shown import shown
from stratax.base.tracing import is_traced, is_tracing
from stratax.base.typing import Array, TensorLike
from stratax.core import regions
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.nn.embeddings import rows_of
from stratax.tensorflow.ops.nn.nn import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from stratax.tensorflow.ops.random._seeds import source_of

# Added to a logit it leaves no probability, and no NaN.
_NEVER = np.finfo(np.float32).min


class CandidateSamples(NamedTuple):
    """What candidate samplers return.

    Attributes:
        sampled_candidates: The classes, int32, shape `(num_sampled,)`.
        true_expected_count: How often the true classes are expected among them, shape `(batch, num_true)`.
        sampled_expected_count: How often the sampled ones are, shape `(num_sampled,)`.
    """

    sampled_candidates: Any
    true_expected_count: Any
    sampled_expected_count: Any


def _sample(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    chances: Array,
    seed: TensorLike | None,
) -> CandidateSamples:
    """Draw classes.

    Args:
        true_classes: Shape `(batch, num_true)`.
        num_true: How many true classes an example has.
        num_sampled: How many classes to draw.
        unique: Whether all of them are different.
        chances: The chances of all classes.
        seed: As for `tf.random.normal`.
    """
    true = on_device(true_classes)
    if true.ndim != 2 or true.shape[1] != num_true or (unique and num_sampled > chances.shape[0]):
        raise BadArgumentError(
            "Expected: true classes of shape (batch, num_true), and no more different samples than there are classes. "
            f"Received: true_classes of shape {tuple(true.shape)}, num_true={shown(num_true)}, "
            f"num_sampled={shown(num_sampled)} of {chances.shape[0]} classes."
        )
    check_bound(true, Bound(0, chances.shape[0], functools.partial(_no_class, chances.shape[0])))
    generator = source_of(seed)
    if unique:
        # Not from 0, whose logarithm is infinite.
        uniform = keras.random.uniform(chances.shape, minval=1e-30, seed=generator)
        # Each class comes after an exponentially distributed time: the first ones are drawn without repetition, by
        # chances.
        times = -jnp.log(uniform) / chances
        first, classes = jax.lax.top_k(-times, num_sampled)
        # The time of the last one stands for the number of draws with repetition, which TensorFlow counts.
        draws = -first[-1]
        # The chance to be among so many draws, 1 - (1 - chance) ** draws; of a chance of 1 the logarithm is infinite.
        counts = lambda chance: -jnp.expm1(draws * jnp.log1p(-jnp.minimum(chance, 1 - 1e-7)))  # noqa: E731
    else:
        uniform = keras.random.uniform((num_sampled,), seed=generator)
        # By their sum, which rounding keeps from being 1.
        classes = jnp.searchsorted(jnp.cumsum(chances), uniform * jnp.sum(chances), side="right")
        classes = jnp.minimum(classes, chances.shape[0] - 1)
        counts = lambda chance: chance * num_sampled  # noqa: E731
    return CandidateSamples(classes.astype("int32"), counts(chances[true]), counts(chances[classes]))


def _no_class(count: int, _: np.ndarray, number: float, place: str) -> str:
    return f"`true_candidate` out of range [0, {count}), received {number}: true_classes{place}."


@op
def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
) -> CandidateSamples:
    """Draw classes that are equally likely, as `tf.random.uniform_candidate_sampler`.

    Args:
        true_classes: Shape `(batch, num_true)`.
        num_true: How many true classes an example has.
        num_sampled: How many classes to draw.
        unique: Whether all of them are different.
        range_max: How many classes there are.
        seed: As for `tf.random.normal`.

    Raises:
        BadArgumentError: If shapes don't fit, or there are too few classes.
    """
    chances = jnp.full(int(range_max), 1 / int(range_max), "float32")
    return _sample(true_classes, int(num_true), int(num_sampled), unique, chances, seed)


@op
def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
) -> CandidateSamples:
    """Draw classes as words by rank, small ones more often, as `tf.random.log_uniform_candidate_sampler`.

    The arguments are those of :func:`uniform_candidate_sampler`.
    """
    ranks = np.arange(int(range_max), dtype=np.float64)
    # Zipf's law: log((rank + 2) / (rank + 1)) / log(range_max + 1).
    chances = jnp.asarray((np.log1p(1 / (ranks + 1)) / np.log(int(range_max) + 1)).astype(np.float32))
    return _sample(true_classes, int(num_true), int(num_sampled), unique, chances, seed)


@op
def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
) -> CandidateSamples:
    """Draw classes as often as a table says, as `tf.nn.fixed_unigram_candidate_sampler`.

    Args:
        true_classes: Shape `(batch, num_true)`.
        num_true: How many true classes an example has.
        num_sampled: How many classes to draw.
        unique: Whether all of them are different.
        range_max: How many classes there are.
        vocab_file: A file whose lines end with a comma and how often a class occurs.
        distortion: The power that these numbers are raised to.
        num_reserved_ids: How many classes come before those of the table, and are never drawn.
        num_shards: Of the classes one in so many can be drawn.
        shard: Which of them: the number that remains when a class is divided by `num_shards`.
        unigrams: The numbers, instead of a file.
        seed: As for `tf.random.normal`.

    Raises:
        BadArgumentError: If there is not exactly one table, or it does not have all classes.
    """
    if bool(vocab_file) == bool(len(unigrams)):
        raise BadArgumentError(
            f"Expected: a vocab_file or unigrams. Received: vocab_file={shown(vocab_file)}, unigrams={shown(unigrams)}."
        )
    counts = _column(vocab_file) if vocab_file else list(unigrams)
    weights = np.array([0.0] * int(num_reserved_ids) + counts, np.float64)
    if len(weights) != int(range_max):
        raise BadArgumentError(
            f"The table must have {range_max} classes, the reserved ones among them. Received: {len(weights)}."
        )
    # What has no weight is never drawn, also with a distortion of 0: 0 ** 0 is 1.
    weights = np.where(weights > 0, weights, 0) ** float(distortion) * (weights > 0)
    # Classes of other shards are never drawn here.
    weights *= np.arange(len(weights)) % int(num_shards) == int(shard)
    chances = jnp.asarray((weights / weights.sum()).astype(np.float32))
    return _sample(true_classes, int(num_true), int(num_sampled), unique, chances, seed)


@op(name="learned_unigram_candidate_sampler")
def sample_learned_unigrams(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
) -> CandidateSamples:
    """Draw classes as often as they were true before, as `tf.random.learned_unigram_candidate_sampler`.

    Each class counts 1 at first, and 1 more each time that it is true. A call in a compiled function has counts of its
    own; calls outside of functions with the same arguments share theirs. No checkpoint saves them, as in TensorFlow.

    The arguments are those of :func:`uniform_candidate_sampler`.
    """
    given = (int(num_true), int(num_sampled), bool(unique), int(range_max), seed)
    seen = _make_counts(int(range_max)) if is_tracing() else _counts_of(*given)
    counts = seen.value
    made = _sample(true_classes, *given[:3], counts / jnp.sum(counts), seed)
    true = on_device(true_classes)
    seen.assign(counts.at[true].add(1, mode="drop"))
    return made


@functools.cache
def _counts_of(num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None) -> Any:
    """Return how often each class was true in calls with the same arguments."""
    del num_true, num_sampled, unique, seed
    return _make_counts(range_max)


def _make_counts(range_max: int) -> Any:
    with regions.outside_scopes():
        return keras.Variable(np.ones(range_max, np.int32), dtype="int32", trainable=False)


def _column(path: str) -> list[float]:
    from stratax.io.gfile import GFile

    with GFile(path) as lines:
        # The last column has the weights, whatever stands before it.
        return [float(line.rsplit(",", 1)[-1]) for line in lines if line.strip()]


@op
def all_candidate_sampler(
    true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, seed: int | None = None
) -> CandidateSamples:
    """Return all classes, for tests of losses, as `tf.nn.all_candidate_sampler`.

    Args:
        true_classes: Shape `(batch, num_true)`.
        num_true: How many true classes an example has.
        num_sampled: How many classes there are.
        unique: Ignored.
        seed: Ignored.
    """
    true = on_device(true_classes)
    classes = jnp.arange(int(num_sampled), dtype="int32")
    return CandidateSamples(classes, jnp.ones(true.shape), jnp.ones(classes.shape))


@op(is_told=False, is_raw=True)
def compute_accidental_hits(
    true_classes: TensorLike, sampled_candidates: TensorLike, num_true: int, seed: int | None = None
) -> tuple[Any, Any, Any]:
    """Return which samples are true classes, as `tf.nn.compute_accidental_hits`; on the host.

    Args:
        true_classes: Shape `(batch, num_true)`.
        sampled_candidates: Shape `(num_sampled,)`.
        num_true: How many true classes an example has.
        seed: Ignored.

    Returns:
        The rows, the samples' places, and for each the smallest number there is, to be added to its logit.

    Raises:
        BadArgumentError: If classes are traced: how many hits there are follows from them.
    """
    if is_traced(true_classes) or is_traced(sampled_candidates):
        raise BadArgumentError(
            "How many hits there are is known only when a compiled program runs. Compare the classes there: "
            "true_classes[:, :, None] == sampled_candidates."
        )
    hits = np.asarray(true_classes)[:, :, None] == np.asarray(sampled_candidates)
    # TensorFlow's `indices`, `ids` and `weights`: what to add to the logits of such samples.
    rows, _, places = np.nonzero(hits)
    return rows.astype(np.int32), places.astype(np.int64), np.full(len(rows), _NEVER, np.float32)


def _logits(
    weights: Any,
    biases: Any,
    labels: object,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    seed: Any,
) -> tuple[Any, Any]:
    """Return logits of the true and of sampled classes, and their labels."""
    true = on_device(labels)
    true = true.reshape(-1, num_true)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(true, num_true, num_sampled, True, num_classes, seed)
    # What was drawn is a constant of the loss.
    sampled, true_counts, sampled_counts = (jax.lax.stop_gradient(on_device(part)) for part in sampled_values)
    features = on_device(inputs)
    # TensorFlow's functions of version 2 know no other cut of a matrix in parts.
    true_rows = rows_of(weights, true, None, "div")
    true_biases, sampled_biases = rows_of(biases, true, None, "div"), rows_of(biases, sampled, None, "div")
    # Less the logarithm of how often a class is expected, so that classes that are drawn often weigh no more.
    true_logits = jnp.einsum("bd,btd->bt", features, true_rows) + true_biases - jnp.log(true_counts)
    sampled_rows = rows_of(weights, sampled, None, "div")
    sampled_logits = features @ sampled_rows.T + sampled_biases - jnp.log(sampled_counts)
    if remove_accidental_hits:
        is_hit = jnp.any(true[:, :, None] == sampled, axis=1)
        sampled_logits = jnp.where(is_hit, _NEVER, sampled_logits)
    # The true classes of an example are equally likely.
    shares = jnp.full(true_logits.shape, 1 / num_true, true_logits.dtype)
    return (
        jnp.concatenate([true_logits, sampled_logits], axis=1),
        jnp.concatenate([shares, jnp.zeros_like(sampled_logits)], axis=1),
    )


@op(name_default="sampled_softmax_loss")
def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
) -> Any:
    """Return the cross entropy over the true classes and a few others, as `tf.nn.sampled_softmax_loss`.

    Args:
        weights: A row for each class, shape `(num_classes, dim)`, or a list of parts of it.
        biases: A number for each class.
        labels: The true classes, shape `(batch, num_true)`.
        inputs: Shape `(batch, dim)`.
        num_sampled: How many classes to draw for the batch.
        num_classes: How many there are.
        num_true: How many true classes an example has.
        sampled_values: What a candidate sampler has drawn; None for `log_uniform_candidate_sampler`.
        remove_accidental_hits: Whether true classes that are drawn don't count as others.
        seed: As for `tf.random.normal`.

    Returns:
        The losses, shape `(batch,)`.
    """
    given = (weights, biases, labels, inputs, int(num_sampled), int(num_classes), int(num_true))
    logits, shares = _logits(*given, sampled_values, remove_accidental_hits, seed)
    return softmax_cross_entropy_with_logits(shares, logits)


@op(name_default="nce_loss")
def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = False,
) -> Any:
    """Return the loss of noise-contrastive estimation, as `tf.nn.nce_loss`.

    The arguments are those of :func:`sampled_softmax_loss`.
    """
    given = (weights, biases, labels, inputs, int(num_sampled), int(num_classes), int(num_true))
    logits, shares = _logits(*given, sampled_values, remove_accidental_hits, None)
    return jnp.sum(sigmoid_cross_entropy_with_logits(shares, logits), axis=1)
