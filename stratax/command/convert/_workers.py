"""The processes that make files of records, and how their progress is reported (convert layer)."""

import concurrent.futures
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence

from loky.process_executor import BrokenProcessPool

from stratax import errors
from stratax.command.convert._shard import Meter, ShardResult, ShardTask, make_shard
from stratax.data.workers import reason_of_death, start_executor, workers_without_interrupts

_POLL_SECONDS = 0.1
_STALL_SECONDS = 900.0

# Notified of how many images are done and how many were left out, of those that this call converts.
OnProgress = Callable[[int, int], None]


def make_shards(tasks: Sequence[ShardTask], workers: int, on_progress: OnProgress) -> Generator[ShardResult]:
    """Make files of records in processes of their own, and yield their results as they come.

    Args:
        tasks: One for each file.
        workers: How many processes.
        on_progress: Called every tenth of a second.

    Yields:
        The result of each file that is done. If iteration ends early, the processes are ended.

    Raises:
        WorkerError: If a process dies, or nothing is done for 15 minutes.
        DataLossError: If an image is broken and that is not to be skipped.
    """
    executor = start_executor(min(workers, len(tasks)))
    is_done = False
    try:
        with workers_without_interrupts():
            futures = {executor.submit(make_shard, task): task for task in tasks}
        yield from _results(futures, on_progress)
        is_done = True
    except BrokenProcessPool as error:
        raise _death(tasks, error) from error
    finally:
        # After an error, or when the caller stops, nobody wants what the workers still make.
        executor.shutdown(wait=True, kill_workers=not is_done)


def _results(
    futures: "dict[concurrent.futures.Future[ShardResult], ShardTask]", on_progress: OnProgress
) -> Iterator[ShardResult]:
    tasks = list(futures.values())
    waiting = set(futures)
    watch = _Watch(tasks)
    with Meter(tasks[0].parts) as meter:
        while waiting:
            done, waiting = concurrent.futures.wait(
                # Polled, for the progress and for the watch.
                waiting,
                _POLL_SECONDS,
                return_when=concurrent.futures.FIRST_COMPLETED,
            )
            images, skipped = _sums(meter, tasks)
            on_progress(images, skipped)
            watch.check(images + skipped)
            for future in done:
                yield future.result()


def _sums(meter: Meter, tasks: Sequence[ShardTask]) -> tuple[int, int]:
    noted = [meter.read(task.index) for task in tasks]
    return sum(images for _, images, _ in noted), sum(skipped for _, _, skipped in noted)


class _Watch:
    """Notices when nothing is done any more."""

    def __init__(self, tasks: Sequence[ShardTask]) -> None:
        self._tasks = tasks
        self._seen = -1
        self._since = time.monotonic()

    def check(self, count: int) -> None:
        """Take how many images are done now."""
        if count != self._seen:
            self._seen, self._since = count, time.monotonic()
        elif time.monotonic() - self._since > _STALL_SECONDS:
            raise errors.WorkerError(
                f"No image was converted for {_STALL_SECONDS:.0f} seconds. Expected: at least one. Received: "
                f"{_in_work(self._tasks)}. See whether the source can still be read; repeat the call to go on."
            )


def _death(tasks: Sequence[ShardTask], error: Exception) -> errors.WorkerError:
    return errors.WorkerError(
        f"A process that converts images died ({reason_of_death(error)}). Expected: it runs to its end. Received: "
        f"{_in_work(tasks)}. It may have run out of memory, been ended from outside, or met an image that breaks its "
        "decoder. Whole files are kept: repeat the call to go on."
    )


def _in_work(tasks: Sequence[ShardTask]) -> str:
    """Return which files are begun and not ended, and at which image each is."""
    with Meter(tasks[0].parts) as meter:
        begun = [(task, *meter.read(task.index)) for task in tasks]
    lines = [
        f"{os.path.basename(task.path)} at {task.pictures[min(images + skipped, len(task.pictures) - 1)].name!r}"
        for task, process, images, skipped in begun
        if process and not os.path.exists(task.path)
    ]
    return f"in work were {', '.join(lines)}" if lines else "no file was in work"
