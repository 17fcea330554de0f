"""Strategies whose replicas are the devices of one or several processes (distribute layer)."""

import contextlib
import hashlib
import itertools
import json
import random
import threading
from collections.abc import Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils

from stratax import errors
from stratax.cluster import Cluster, _phases
from stratax.core import _dispatches
from stratax.data import Dataset, _auto_shard
from stratax.distribute import _loop, _progress, _readers, _worker_input
from stratax.distribute._cross_device_ops_base import CrossDeviceOps
from stratax.distribute._extended import StrategyExtended
from stratax.distribute._strategy import Strategy

_BYTES_AT_ONCE = 64 << 20


class WorkersStrategy(Strategy):
    """A strategy that has to do with other workers; with one worker it is as any strategy.

    Args:
        cluster: The workers, connected.
        devices: The devices of all of them, those of one process beside one another.
        cross_device_ops: How replicas' values are combined; None for XLA's own all-reduce.

    Raises:
        ClusterError: If the workers do not have as many devices each.
    """

    def __init__(
        self, cluster: Cluster, devices: Sequence[jax.Device], cross_device_ops: CrossDeviceOps | None = None
    ) -> None:
        ordered = sorted(devices, key=lambda device: device.process_index)
        is_shared = cluster.num_processes > 1
        super().__init__(
            ordered,
            cross_device_ops,
            extended=(lambda strategy: WorkersExtended(strategy, cluster)) if is_shared else StrategyExtended,
        )

    @property
    def num_workers(self) -> int:
        """How many workers train together."""
        return self.extended.share.processes


class WorkersExtended(StrategyExtended):
    """What a strategy of several workers does together with the others.

    Args:
        strategy: The strategy.
        cluster: The workers, connected: two at least.
    """

    def __init__(self, strategy: Strategy, cluster: Cluster) -> None:
        super().__init__(strategy)
        self._cluster = cluster
        self._agreements = itertools.count()
        _dispatches.observe(_progress.StepsForOthers())
        self._check_devices()
        self.agree_on_randomness()

    @property
    def share(self) -> _readers.Share:
        """Which of the replicas are this worker's."""
        return _readers.Share(processes=self._cluster.num_processes, index=self._cluster.process_index)

    def agreed(self, values: list[Any]) -> list[Any]:
        """The chief's values, on every worker."""
        return _from_chief(values) if values else values

    def phase(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """Says what the program does in a block: the other workers wait longer for an evaluation than for a step."""
        return _phases.phase(name)

    def waiting(self, for_others: bool) -> contextlib.AbstractContextManager[Any]:
        """Says whom this worker waits for: its own input, or the other workers."""
        return _progress.waiting_for_others() if for_others else _phases.phase("input")

    def loop(self) -> _loop.Loop:
        """A loop of steps that all workers begin, and end before the same step."""
        return _loop.SharedLoop(self._cluster, f"loop/{next(self._agreements)}")

    def exchange(self, name: str, value: bytes, stop: threading.Event | None = None) -> list[bytes]:
        """All workers' values under one name."""
        return _progress.gather(self._cluster, f"strategy/{name}", value, stop)

    def source_of_batches(self, dataset: Any) -> _readers.Source:
        """The steps of a dataset of global batches, which is divided between the workers as its options say."""
        num_replicas = len(self._strategy.devices)
        if not isinstance(dataset, Dataset):
            return _SharedBatches(dataset, num_replicas, self)
        seeds = self._chiefs_seeds(dataset)
        if _auto_shard.is_read_whole(dataset, self.share.processes):
            whole = _auto_shard.auto_shard(dataset, 1, 0, seeds=seeds)
            return _readers.GlobalBatches(whole, num_replicas, self.share)
        part = _auto_shard.auto_shard(dataset, self.share.processes, self.share.index, seeds=seeds)
        return _worker_input.own_global_batches(part, num_replicas, self.share, self.exchange)

    def source_of_replica_batches(self, dataset: Any) -> _readers.Source:
        """The steps of the workers' own datasets of per-replica batches."""
        num_replicas = len(self._strategy.devices)
        return _worker_input.own_replica_batches(dataset, num_replicas, self.share, self.exchange)

    def _chiefs_seeds(self, dataset: Dataset) -> list[int]:
        """The seeds of a dataset's shuffles, which are the chief's in all workers: they read parts of one order."""
        name = f"seeds/{next(self._agreements)}"
        texts = self.exchange(name, json.dumps(_auto_shard.shuffle_seeds(dataset)).encode())
        if len({len(json.loads(text)) for text in texts}) > 1:
            raise errors.DataError(
                "The workers distribute different datasets. Expected: the same pipeline in every worker, or "
                f"distribute_datasets_from_function. Received: {dataset!r} here."
            )
        return list(json.loads(texts[0]))

    def _check_devices(self) -> None:
        own = sum(device.process_index == jax.process_index() for device in self._strategy.devices)
        counts = [int(text) for text in self.exchange("devices", str(own).encode())]
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
        num_replicas: How many replicas all workers have.
        workers: The workers.
    """

    def __init__(self, dataset: Any, num_replicas: int, workers: WorkersExtended) -> None:
        super().__init__(dataset, num_replicas, workers.share)
        self._workers = workers

    def open(self, place: _readers.Place | None = None) -> _readers.Reader:
        """Begins a pass; what is shuffled by the global random state comes in one order in all workers."""
        self._workers.agree_on_randomness()
        return super().open(place)


def _random_digest() -> bytes:
    """Of the states of Python's and NumPy's global generators, from which Keras' seeds come too."""
    python = repr(random.getstate()).encode()
    name, keys, *rest = np.random.get_state(legacy=True)
    return hashlib.sha256(
        python + str(name).encode() + np.asarray(keys).tobytes() + repr(rest).encode()
    ).digest()


def _from_chief(values: list[Any]) -> list[Any]:
    """The values that the chief has, in as few transfers as take little memory beside the values."""
    arrays = [np.ascontiguousarray(value) for value in values]
    # As bytes: the transfer is a sum, which does not keep every bit of every dtype.
    packed = np.concatenate([array.reshape(-1).view(np.uint8) for array in arrays])
    sent = [
        np.asarray(multihost_utils.broadcast_one_to_all(packed[start : start + _BYTES_AT_ONCE]))
        for start in range(0, packed.size, _BYTES_AT_ONCE)
    ]
    parts = np.split(np.concatenate([packed[:0], *sent]), np.cumsum([array.nbytes for array in arrays])[:-1])
    return [
        # A copy begins where values of the dtype may begin.
        part.copy().view(array.dtype).reshape(np.shape(value))
        for part, array, value in zip(parts, arrays, values, strict=True)
    ]
