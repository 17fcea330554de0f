"""Pipelines of every operation, for tests that hold for all of them."""

import time

import numpy as np

from stratax.data import Dataset
from stratax.data.dataset.experimental import Reducer, group_by_reducer
from stratax.data.elements._random import element_generator


def stream(n=37):
    """Numbers that can only be iterated."""
    return Dataset.range(n).filter(lambda x: x >= 0)


def ragged(n=23):
    """Arrays of different lengths, as a stream."""
    return stream(n).map(lambda x: np.arange(x % 4))


def texts(n=30):
    """Byte strings, as a stream."""
    return stream(n).map(lambda x: b"\0%d\0" % x)


def noisy(x):
    """Adds a random number that belongs to the element."""
    return x, element_generator().integers(1 << 40)


def drawn(x):
    """Whether a random number that belongs to the element is even."""
    return element_generator().integers(2) == 0


def slow(x):
    """Takes a while that differs between elements."""
    time.sleep(0.0003 * (int(x) % 3))
    return x * 2


def slowly(batch):
    """Takes a moment for a batch."""
    time.sleep(0.0003)
    return batch


def broken(x):
    """Fails on some elements."""
    if x % 7 == 3:
        raise ValueError(f"element {x} is broken")
    return x


def handed_on(state, x):
    """The state that the next element gets, and an element."""
    number, text = state
    return (number * 3 % 17 + x, text[-3:] + b"%d" % x), (number, text, x)


def shuffled_inner(x):
    """A Dataset with an order that nobody gave a seed for."""
    return Dataset.range(x, x + 5).shuffle(5)


PIPELINES = {
    "indexable": lambda: Dataset.range(37).shuffle(9, seed=1).map(lambda x: x + 1).batch(4),
    "indexable prefetch": lambda: Dataset.range(37).shuffle(9).batch(4).prefetch(3),
    "filter": lambda: Dataset.range(40).filter(lambda x: x % 3 > 0),
    "filter of a stream": lambda: stream().shuffle(8).filter(lambda x: x % 5 != 2).filter(lambda x: x > 3),
    "random filter": lambda: stream(60).shuffle(8).filter(drawn).repeat(2).batch(3),
    "shuffle": lambda: stream().shuffle(8),
    "shuffle, larger than the stream": lambda: stream().shuffle(100).batch(3),
    "nested shuffles": lambda: stream(60).shuffle(7).shuffle(11, seed=3).batch(4).shuffle(3),
    "shuffle of ragged": lambda: ragged().shuffle(6),
    "shuffle of strings": lambda: texts().shuffle(6).batch(4),
    "shuffle of structures": lambda: Dataset.zip({"a": stream(), "b": ragged(37)}).shuffle(5),
    "batch": lambda: stream().batch(4),
    "batch, no remainder": lambda: stream().batch(5, drop_remainder=True).repeat(2),
    "padded_batch": lambda: ragged().padded_batch(4),
    "ragged_batch": lambda: ragged().map(lambda x: (x, x[:1].sum())).ragged_batch(4).prefetch(2),
    "ragged_batch of an indexable": lambda: (
        Dataset.range(23).map(lambda x: np.arange(x % 4)).ragged_batch(3, True).shuffle(4).repeat(2)
    ),
    "sparse_batch": lambda: ragged().shuffle(5).sparse_batch(3, [4]),
    "unbatch": lambda: stream().batch(5).map(lambda x: x * 3).unbatch(),
    "unbatch of shuffled batches": lambda: stream().batch(4).shuffle(3).map(lambda x: x + 1).unbatch(),
    "rebatch": lambda: stream().batch(5).map(lambda x: x - 1).rebatch(3),
    "window": lambda: stream(20).window(4, shift=2, stride=1).flat_map(lambda w: w.batch(4)),
    "window with gaps": lambda: stream(30).window(3, shift=5, stride=2).flat_map(lambda w: w.batch(3)),
    "window of shuffled": lambda: stream(25).shuffle(6).window(3, 1, 2, True).flat_map(lambda w: w.batch(3)),
    "take and skip": lambda: stream().skip(5).take(21).skip(2),
    "skip of shuffled": lambda: stream().shuffle(6).skip(9).take(-1),
    "shard": lambda: stream().shard(3, 1),
    "shard of shuffled": lambda: stream().shuffle(9).shard(4, 2).repeat(3),
    "repeat": lambda: stream(11).repeat(3).batch(4),
    "repeat of shuffled": lambda: stream(11).shuffle(5).repeat(3),
    "repeat without end": lambda: stream(7).shuffle(4).repeat().take(40),
    "zip": lambda: Dataset.zip(stream().shuffle(5), Dataset.range(100).shuffle(3), stream(90).batch(2)),
    "concatenate": lambda: stream(9).shuffle(4).concatenate(Dataset.range(8)).concatenate(stream(7)),
    "enumerate": lambda: stream().enumerate(3).shuffle(4),
    "map": lambda: stream().map(lambda x: (x, x * 2.5)).batch(4),
    "map that is called one by one": lambda: stream().shuffle(5).map(lambda x: np.float32(slow(x))),
    "map on threads": lambda: stream().map(slow, num_parallel_calls=3),
    "maps on threads": lambda: (
        stream(50).map(slow, num_parallel_calls=2).shuffle(7).map(slow, num_parallel_calls=3).batch(3)
    ),
    "indexable map on threads": lambda: Dataset.range(40).shuffle(3).map(slow, num_parallel_calls=3).batch(3),
    "random map": lambda: stream().map(noisy),
    "random map on threads": lambda: stream(17).shuffle(4).repeat(2).map(noisy, num_parallel_calls=3),
    "random map of an indexable": lambda: Dataset.range(17).shuffle(4).map(noisy).repeat(2).batch(3),
    "prefetch": lambda: stream().shuffle(6).prefetch(5),
    "prefetch everywhere": lambda: stream().prefetch(2).shuffle(5).prefetch(3).batch(3).prefetch(2),
    "cache": lambda: stream(13).map(slow).cache().shuffle(5).repeat(3),
    "cache of shuffled": lambda: stream(13).shuffle(5).cache().repeat(2).batch(4),
    "flat_map": lambda: stream(9).flat_map(lambda x: Dataset.range(x)),
    "flat_map of shuffles": lambda: stream(9).shuffle(3).flat_map(shuffled_inner).shuffle(6).repeat(2),
    "flat_map of streams": lambda: stream(6).flat_map(lambda x: stream(8).shuffle(4).batch(3)),
    "interleave": lambda: Dataset.range(7).interleave(lambda x: Dataset.range(x), 3, 2),
    "interleave of streams": lambda: (
        stream(8).shuffle(3).interleave(lambda x: stream(5).map(lambda y: (x, y)), 4).batch(5)
    ),
    "interleave on threads": lambda: (
        Dataset.range(8).shuffle(4).interleave(lambda x: shuffled_inner(x).map(slow), 3, 2, 2).repeat(2)
    ),
    "interleave of shuffled streams": lambda: (
        stream(6).interleave(lambda x: stream(6).shuffle(4).map(noisy), 6, 1, 6).shuffle(7).batch(3)
    ),
    "take_while": lambda: stream(60).shuffle(9, seed=4).take_while(lambda x: x != 33).repeat(2),
    "unique": lambda: stream(40).map(lambda x: x % 11).shuffle(6).unique().repeat(2).batch(3),
    "unique strings": lambda: texts().map(lambda x: x[:2]).unique(),
    "scan": lambda: stream(30).shuffle(5).scan((np.int64(1), b"a"), handed_on).prefetch(2),
    "sample_from_datasets": lambda: (
        Dataset.sample_from_datasets([stream(20).shuffle(4), Dataset.range(9).repeat(2)], [0.6, 0.4])
        .batch(3)
        .repeat(2)
    ),
    "sample_from_datasets, weights": lambda: Dataset.sample_from_datasets(
        [stream(20), Dataset.range(50, 60), stream(30)], stream(45).map(lambda x: np.array([x % 3, 1.0, 2.0]))
    ),
    "choose_from_datasets": lambda: Dataset.choose_from_datasets(
        [stream(20).shuffle(4), texts().map(len).map(np.int64), Dataset.range(50, 53)],
        Dataset.range(60).map(lambda x: x * x % 3),
        stop_on_empty_dataset=False,
    ),
    "group_by_window": lambda: (
        stream(40)
        .shuffle(7)
        .group_by_window(lambda x: x % 3, lambda key, group: group.shuffle(4).map(noisy).batch(2), 5)
        .prefetch(2)
    ),
    "bucket_by_sequence_length": lambda: (
        ragged(30).shuffle(6).bucket_by_sequence_length(len, [1, 3], [4, 2, 3]).repeat(2)
    ),
    "group_by_reducer": lambda: stream(40).apply(
        group_by_reducer(lambda x: x % 7, Reducer(lambda key: key, np.add, lambda x: x))
    ),
    "errors in groups": lambda: (
        stream(40).map(broken).group_by_window(lambda x: x % 3, lambda key, group: group.batch(2), 4)
    ),
    "errors in a scan": lambda: stream(30).scan(np.int64(0), lambda s, x: (s + broken(x), s)),
    "errors in choices": lambda: Dataset.choose_from_datasets(
        [stream(20).map(broken), stream(20)], stream(40).map(broken).map(lambda x: x % 2)
    ),
    "ignore_errors": lambda: stream().map(broken, num_parallel_calls=2).ignore_errors().batch(3).prefetch(2),
    "errors of an interleave": lambda: Dataset.range(12).interleave(
        lambda x: Dataset.range(broken(x), 15).map(broken), 3, 2, 2
    ),
    "errors": lambda: stream().map(broken).batch(4),
    "errors on threads": lambda: stream().map(broken, num_parallel_calls=3).shuffle(4),
    "errors in batches, prefetched": lambda: stream(60).map(broken).batch(3).prefetch(4),
    "errors in batches on threads": lambda: stream(60).map(broken).batch(3).map(slowly, 3).batch(2),
    "errors in shuffled batches": lambda: stream(80).map(broken).batch(3).shuffle(4).prefetch(2),
    "errors in batches of an interleave": lambda: (
        stream(80).map(broken).batch(3).interleave(Dataset.from_tensor_slices, 3)
    ),
    "errors in windows": lambda: stream(30).map(broken).window(3, 2).flat_map(lambda w: w.batch(3)),
    "errors in a filter": lambda: stream().filter(lambda x: broken(x) % 2 == 0).prefetch(3),
    "errors of an indexable": lambda: Dataset.range(37).shuffle(8, seed=2).map(broken).prefetch(2),
    "errors beside others": lambda: Dataset.zip(stream().map(broken), stream().shuffle(4)),
    "everything": lambda: (
        stream(60)
        .shuffle(9)
        .map(noisy, num_parallel_calls=2)
        .filter(lambda x, _: x % 4 != 1)
        .repeat(2)
        .batch(3)
        .prefetch(2)
    ),
}
