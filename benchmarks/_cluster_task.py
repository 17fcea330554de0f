"""One task of a cluster that is measured: `python -m benchmarks._cluster_task SIDE WHAT...`, with TF_CONFIG set.

It makes its runs, says so, and does what it is told on its input: a name and how often.
"""

import itertools
import json
import os
import sys
import time
from collections.abc import Callable

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

MARK = "BENCH "
"""Begins the lines that are meant for whoever measures; libraries print, too."""

_BATCHES = 100
_SMALL = [np.ones(1024, np.float32)] * 100
_LARGE = [np.ones(25 * 2**18, np.float32)]

Runs = dict[str, Callable[[int], None]]


def tell(word: str) -> None:
    """Says a word to whoever measures."""
    print(MARK + word, flush=True)


def main(side: str, what: str, *arguments: str) -> None:
    """Makes the runs and waits to be told."""
    makers = {"step": _steps, "reduce": _reductions, "train": _train}
    if side == "by_hand":
        _connect_by_hand()
    runs = makers[what](side, *arguments)
    tell("ready")
    for line in sys.stdin:
        name, count = line.split()
        runs[name](int(count))
        tell("done")


def _connect_by_hand() -> None:
    config = json.loads(os.environ["TF_CONFIG"])
    workers = config["cluster"]["worker"]
    if len(workers) > 1:
        jax.distributed.initialize(workers[0], len(workers), config["task"]["index"])


def _steps(side: str, kind: str, steps_text: str) -> Runs:
    """A step of training, here or by hand, as `benchmarks._step` makes them in one process."""
    from benchmarks import _models

    steps = int(steps_text)
    data = _models.make_data(kind, _BATCHES)
    if side == "stratax":
        import stratax as sx
        from benchmarks._with_stratax import CustomLoop

        ours = CustomLoop(kind, steps, data, sx.distribute.MultiWorkerMirroredStrategy())
        return {"run": _repeated(ours.dispatch_resident if steps == 1 else ours.dispatch)}
    from benchmarks._hand_written import HandWritten

    theirs = HandWritten(kind, steps)
    resident = next(theirs.batches(data))
    passes = itertools.chain.from_iterable(theirs.batches(data) for _ in itertools.count())
    return {"run": _repeated(lambda: theirs.dispatch(*(resident if steps == 1 else next(passes))))}


def _reductions(side: str, which: str) -> Runs:
    """All-reduces of gradients: packed, each on its own, and `psum` alone."""
    gradients = {"small": _SMALL, "large": _LARGE}[which]
    return {
        "packed": _of_strategy(gradients, 0),
        # No two gradients fit into a pack of one byte.
        "unpacked": _of_strategy(gradients, 1),
        "psum": _psum(gradients),
    }


def _of_strategy(gradients: list[np.ndarray], bytes_per_pack: int) -> Callable[[int], None]:
    import stratax as sx

    options = sx.distribute.CommunicationOptions(bytes_per_pack=bytes_per_pack)
    strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    values = strategy.run(lambda: gradients)

    def replica_sum(arrays: list[jax.Array]) -> list[jax.Array]:
        return sx.distribute.get_replica_context().all_reduce("SUM", arrays)

    @sx.function
    def total(arrays: list[jax.Array]) -> list[jax.Array]:
        return strategy.run(replica_sum, args=(arrays,))

    return _repeated(lambda: total(values))


def _psum(gradients: list[np.ndarray]) -> Callable[[int], None]:
    mesh = Mesh(np.array(jax.devices()), ("replica",), axis_types=(AxisType.Auto,))
    spread = PartitionSpec("replica")
    compiled = jax.jit(
        jax.shard_map(
            lambda arrays: jax.lax.psum(arrays, "replica"),
            mesh=mesh,
            in_specs=spread,
            out_specs=spread,
            check_vma=False,
        )
    )
    sharding = NamedSharding(mesh, spread)
    values = [jax.make_array_from_process_local_data(sharding, value[None]) for value in gradients]
    return _repeated(lambda: compiled(values))


def _train(side: str) -> Runs:
    """Trains for ever, and says when the first steps are done."""
    import stratax as sx
    from benchmarks import _models
    from benchmarks._with_stratax import CustomLoop

    loop = CustomLoop("cnn", 1, _models.make_data("cnn", 2), sx.distribute.MultiWorkerMirroredStrategy())
    for number in itertools.count():
        jax.block_until_ready(loop.dispatch_resident())
        if number == 5:
            tell(f"training {os.getpid()}")
        time.sleep(0.005)
    return {}


def _repeated(dispatch: Callable[[], object]) -> Callable[[int], None]:
    def run(count: int) -> None:
        for _ in range(count):
            result = dispatch()
        jax.block_until_ready(jax.tree.leaves(result))

    return run


if __name__ == "__main__":
    main(*sys.argv[1:])
