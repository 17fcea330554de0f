"""Saving and restoring what devices have in parts: the host's memory, and how long a loop stands still."""

import contextlib
import ctypes
import gc
import pathlib
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator

import numpy as np

import stratax as sx
from benchmarks import _measure

_SHAPE, _ARRAYS = (4096, 2048), 25
_MIB = 1 << 20
_OFTEN_SECONDS = 0.003
_FEWEST = 5


class _Growth:
    """By how many bytes the memory of this process has grown, at most, in a block."""

    def __init__(self) -> None:
        gc.collect()
        # What was freed before goes back to the system, or it would be used again unseen.
        ctypes.CDLL(None).malloc_trim(0)
        self._before = self.most = _own_memory()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Look at it again and again, in a thread."""
        is_over = threading.Event()

        def look() -> None:
            while not is_over.wait(_OFTEN_SECONDS):
                self.most = max(self.most, _own_memory())

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    @property
    def bytes(self) -> int:
        """How many bytes more the process had at most than at the beginning."""
        return self.most - self._before


def _own_memory() -> int:
    """Return the bytes of this process that are no file's: the arrays of simulated devices are among them."""
    found = re.search(r"RssAnon:\s*(\d+) kB", pathlib.Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) << 10


def _state() -> list[sx.Variable]:
    """Variables of 800 MB, of which each device has a part."""
    random = np.random.default_rng(0)
    with sx.distribute.ShardedStrategy().scope():
        state = [sx.Variable(np.zeros(_SHAPE, "float32")) for _ in range(_ARRAYS)]
    for variable in state:
        variable.assign(random.standard_normal(_SHAPE, "float32"))
    return state


def saving(plan: _measure.Plan) -> _measure.Figure:
    """MiB that an asynchronous save takes of the host's memory beyond a copy of the parts."""
    state = _state()
    checkpoint = sx.train.Checkpoint(state=state)
    own = sum(variable.value.nbytes for variable in state)
    found, seconds = [], []
    with tempfile.TemporaryDirectory() as folder:
        # What is imported with the first save is not counted.
        sx.train.Checkpoint(state=state[:1]).write(f"{folder}/first", _WAIT)
        for _ in range(max(2, plan.processes)):
            growth, began = _Growth(), time.perf_counter()
            with growth.watching():
                checkpoint.write(f"{folder}/ckpt")
                checkpoint.sync()
            found.append((growth.bytes - own) / _MIB)
            seconds.append(time.perf_counter() - began)
    return _measure.spread(found, {"own_parts_mib": own / _MIB, "seconds": statistics.median(seconds)})


def restoring(plan: _measure.Plan) -> _measure.Figure:
    """MiB that restoring takes of the host's memory beyond a copy of the parts."""
    state = _state()
    checkpoint = sx.train.Checkpoint(state=state)
    own = sum(variable.value.nbytes for variable in state)
    found, seconds = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = checkpoint.write(f"{folder}/ckpt", _WAIT)
        for _ in range(max(2, plan.processes)):
            for variable in state:
                # Memory of the devices, and not what the last restore has read.
                variable.assign_add(np.ones(_SHAPE, "float32"))
            growth, began = _Growth(), time.perf_counter()
            with growth.watching():
                checkpoint.restore(path).assert_consumed()
            found.append((growth.bytes - own) / _MIB)
            seconds.append(time.perf_counter() - began)
    return _measure.spread(found, {"own_parts_mib": own / _MIB, "seconds": statistics.median(seconds)})


def pause(plan: _measure.Plan) -> _measure.Figure:
    """The time that a loop stands still for an asynchronous save, as a part of that of a copy of the parts by hand."""
    state = _state()
    checkpoint = sx.train.Checkpoint(state=state)
    ours, by_hand = [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(max(_FEWEST, plan.rounds // 2) + 1):
            for which in (ours, by_hand) if turn % 2 else (by_hand, ours):
                began = time.perf_counter()
                if which is ours:
                    checkpoint.write(f"{folder}/ckpt")
                else:
                    copies = [
                        np.array(part.data)
                        for variable in state
                        for part in variable.value.addressable_shards
                    ]
                which.append(time.perf_counter() - began)
                checkpoint.sync()
                copies = []
    del copies
    # The first of each has memory of the system to ask for.
    return _measure.ratio(ours[1:], by_hand[1:], unit="ms", numerator="stratax", denominator="by_hand")


_WAIT = sx.train.CheckpointOptions(enable_async=False)
