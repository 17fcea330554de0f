"""`MultiWorkerMirroredStrategy`: the devices of several processes, in step (distribute layer)."""

import contextlib
import hashlib
import itertools
import json
import logging
import random
import threading
from typing import Any

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils

from stratax import errors
from stratax.cluster import ClusterResolver, TFConfigClusterResolver, _connection, _phases, check_jobs
from stratax.core import _dispatches
from stratax.data import Dataset
from stratax.data._auto_shard import auto_shard, shuffle_seeds
from stratax.data._map import Map
from stratax.data._node import walk
from stratax.data._options import AutoShardPolicy
from stratax.distribute import _loop, _progress, _readers, _worker_input
from stratax.distribute._communication import CommunicationOptions
from stratax.distribute._strategy import Strategy

_JOBS = ("chief", "worker", "evaluator")
_logger = logging.getLogger("stratax")


class MultiWorkerMirroredStrategy(Strategy):
    """Synchronous training on the devices of several processes, on one host or many.

    Follows `tf.distribute.MultiWorkerMirroredStrategy`. The same program runs in every worker; `TF_CONFIG` says who
    takes part. Every device of every worker is a replica and has a copy of every variable; new variables begin with
    the chief's values, and the workers' random states are made equal where they were not, so every worker is in the
    same state after every step. Reading a variable or computing with it needs no other worker.

    Without ``TF_CONFIG`` (or with a cluster of one worker) it is a single worker with its local devices and says so.

    Args:
        cluster_resolver: A `ClusterResolver`; None: a `TFConfigClusterResolver`.
        communication_options: A :class:`CommunicationOptions`; None for the defaults.

    Raises:
        BadTypeError: If an argument has the wrong type.
        ClusterError: If `TF_CONFIG` is wrong, names a role that this strategy does not have, or the workers do not
            have as many devices each.
        ClusterTimeoutError: If not all tasks come within the resolver's time limit; names those that are missing.

    Example:
        >>> import stratax as sx
        >>> options = sx.distribute.CommunicationOptions(timeout_seconds=120.0)
        >>> strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
        >>> strategy.num_workers
        1
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver | None = None,
        communication_options: CommunicationOptions | None = None,
    ) -> None:
        self._options = _checked_options(communication_options)
        self._resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        self._cluster = _connect(self._resolver, self._options)
        self._agreements = itertools.count()
        devices = jax.devices() if self.num_workers > 1 else jax.local_devices()
        has_gpus = devices[0].platform in ("gpu", "cuda", "rocm")
        super().__init__(devices, self._options.cross_device_ops(has_gpus))
        if self.num_workers > 1:
            _dispatches.observe(_progress.StepsForOthers())
            self._check_devices()
            self.agree_on_randomness()

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """The resolver that found the cluster."""
        return self._resolver

    @property
    def num_workers(self) -> int:
        """How many workers train together."""
        return self._cluster.num_processes

    @property
    def share(self) -> _readers.Share:
        """Which of the replicas are this worker's."""
        if self.num_workers == 1:
            return _readers.Share()
        return _readers.Share(processes=self.num_workers, index=self._cluster.process_index)

    def agreed(self, values: list[Any]) -> list[Any]:
        """The chief's values, on every worker; one transfer for each dtype."""
        if self.num_workers == 1 or not values:
            return values
        return _from_chief(values)

    def phase(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """Says what the program does in a block: the other workers wait longer for an evaluation than for a step."""
        return _phases.phase(name)

    def loop(self) -> _loop.Loop:
        """A loop of steps that all workers begin, and end before the same step."""
        if self.num_workers == 1:
            return _loop.Loop()
        return _loop.SharedLoop(self._cluster, f"loop/{next(self._agreements)}")

    def exchange(self, name: str, value: bytes, stop: threading.Event | None = None) -> list[bytes]:
        """All workers' values under one name."""
        return self._cluster.all_gather(f"strategy/{name}", value, stop=stop)

    def source_of_batches(self, dataset: Any) -> _readers.Source:
        """The steps of a dataset of global batches, which is divided between the workers as its options say."""
        if self.num_workers == 1:
            return super().source_of_batches(dataset)
        if not isinstance(dataset, Dataset):
            return _SharedBatches(dataset, self)
        seeds = self._chiefs_seeds(dataset)
        if _is_cheap(dataset):
            whole = auto_shard(dataset, 1, 0, seeds=seeds)
            return _readers.GlobalBatches(whole, len(self.devices), self.share)
        part = auto_shard(dataset, self.num_workers, self.share.index, seeds=seeds)
        return _worker_input.own_global_batches(part, len(self.devices), self.share, self.exchange)

    def source_of_replica_batches(self, dataset: Any) -> _readers.Source:
        """The steps of the workers' own datasets of per-replica batches."""
        if self.num_workers == 1:
            return super().source_of_replica_batches(dataset)
        return _worker_input.own_replica_batches(dataset, len(self.devices), self.share, self.exchange)

    def _chiefs_seeds(self, dataset: Dataset) -> list[int]:
        """The seeds of a dataset's shuffles, which are the chief's in all workers: they read parts of one order."""
        name = f"seeds/{next(self._agreements)}"
        texts = self.exchange(name, json.dumps(shuffle_seeds(dataset)).encode())
        if len({len(json.loads(text)) for text in texts}) > 1:
            raise errors.DataError(
                "The workers distribute different datasets. Expected: the same pipeline in every worker, or "
                f"distribute_datasets_from_function. Received: {dataset!r} here."
            )
        return list(json.loads(texts[0]))

    def _check_devices(self) -> None:
        counts = [int(text) for text in self.exchange("devices", str(jax.local_device_count()).encode())]
        if len(set(counts)) > 1:
            listing = ", ".join(
                f"{self._cluster.task_name(index)}: {count}" for index, count in enumerate(counts)
            )
            raise errors.ClusterError(
                "Every worker needs the same number of devices, because replicas are divided evenly. "
                f"Received: {listing}. Give each worker as many, for instance through CUDA_VISIBLE_DEVICES."
            )

    def agree_on_randomness(self) -> None:
        """Gives every worker the same random state, drawn by the chief, unless all have the same already."""
        name = f"random/{next(self._agreements)}"
        digests = self.exchange(name, _random_digest())
        if len(set(digests)) == 1:
            return
        seeds = self.exchange(f"{name}/seed", str(random.SystemRandom().getrandbits(31)).encode())
        keras.utils.set_random_seed(int(seeds[0]))


class _SharedBatches(_readers.GlobalBatches):
    """Global batches that every worker makes for itself, of arrays or an iterable of the user's.

    Args:
        dataset: The same in all workers.
        strategy: The strategy.
    """

    def __init__(self, dataset: Any, strategy: MultiWorkerMirroredStrategy) -> None:
        super().__init__(dataset, len(strategy.devices), strategy.share)
        self._strategy = strategy

    def open(self, place: _readers.Place | None = None) -> _readers.Reader:
        """Begins a pass; what is shuffled by the global random state comes in one order in all workers."""
        self._strategy.agree_on_randomness()
        return super().open(place)


def _is_cheap(dataset: Dataset) -> bool:
    """Whether every worker may read whole batches to keep its rows: they are gathered from memory."""
    policy = dataset.options().experimental_distribute.auto_shard_policy
    chosen = policy in (None, AutoShardPolicy.AUTO, AutoShardPolicy.DATA)
    return chosen and dataset.is_indexable and not any(isinstance(step, Map) for step in walk(dataset._node))


def _connect(resolver: Any, options: CommunicationOptions) -> _connection.Cluster:
    check_jobs(resolver.cluster_spec(), _JOBS, "MultiWorkerMirroredStrategy")
    if options.timeout_seconds is None:
        cluster = _connection.connect(resolver)
    else:
        cluster = _connection.connect(resolver, step_timeout=options.timeout_seconds)
        if cluster.num_processes > 1:
            cluster.set_step_timeout(options.timeout_seconds)
    if cluster.num_processes == 1:
        _logger.info(
            "MultiWorkerMirroredStrategy has one worker, this process: TF_CONFIG %s.",
            "names no other" if cluster.cluster_spec else "is not set",
        )
    return cluster


def _checked_options(options: Any) -> CommunicationOptions:
    if options is None:
        return CommunicationOptions()
    if not isinstance(options, CommunicationOptions):
        raise errors.BadTypeError(
            "communication_options must be a stratax.distribute.CommunicationOptions. "
            f"Received: communication_options={options!r}."
        )
    return options


def _random_digest() -> bytes:
    """Of the states of Python's and NumPy's global generators, from which Keras' seeds come too."""
    python = repr(random.getstate()).encode()
    name, keys, *rest = np.random.get_state(legacy=True)
    return hashlib.sha256(
        python + str(name).encode() + np.asarray(keys).tobytes() + repr(rest).encode()
    ).digest()


def _from_chief(values: list[Any]) -> list[Any]:
    """The values that the chief has, one transfer for each dtype."""
    arrays = [np.asarray(value) for value in values]
    results: list[Any] = list(arrays)
    for dtype in dict.fromkeys(array.dtype for array in arrays):
        indices = [index for index, array in enumerate(arrays) if array.dtype == dtype]
        packed = np.concatenate([arrays[index].ravel() for index in indices])
        # As bytes: the transfer is a sum, which does not keep every bit of every dtype.
        sent = np.asarray(multihost_utils.broadcast_one_to_all(packed.view(np.uint8))).view(dtype)
        sizes = np.cumsum([arrays[index].size for index in indices])[:-1]
        for index, part in zip(indices, np.split(sent, sizes), strict=True):
            results[index] = part.reshape(arrays[index].shape)
    return results
