"""What stands for a worker's iterator while the coordinator traces a function for it (distribute layer)."""

from collections.abc import Hashable
from typing import Any

from stratax.core import Stream
from stratax.errors import InternalError


class WorkerStream(Stream):
    """An iterator on a worker, of which only the structures of the next elements are known here.

    Args:
        name: What the worker knows it by.
        spec: The structure of the dataset.
    """

    def __init__(self, name: str, spec: object) -> None:
        self.name = name
        self._signature = ("an iterator of a worker", repr(spec))
        # What the worker has said that the next elements are like, with how many of each.
        self.runs: list[tuple[Any, int]] = []

    @property
    def signature(self) -> Hashable:
        return self._signature

    def peek_runs(self, skip: int, count: int) -> list[tuple[Any, int]]:
        # Beyond what is known all are like the last one; the worker looks at each before it takes it.
        structures = [structure for structure, length in self.runs for _ in range(length)]
        wanted = [structures[min(index, len(structures) - 1)] for index in range(skip, skip + count)]
        runs: list[tuple[Any, int]] = []
        for structure in wanted:
            if runs and runs[-1][0] is structure:
                runs[-1] = structure, runs[-1][1] + 1
            else:
                runs.append((structure, 1))
        return runs

    def peek_up_to(self, skip: int, count: int) -> list[tuple[Any, int]]:
        return self.peek_runs(skip, count) if self.runs else []

    def peek_block(self, skip: int, count: int, capacity: int) -> Any:
        raise _elsewhere()

    def pass_over(self, count: int) -> None:
        raise _elsewhere()

    def take(self) -> Any:
        raise _elsewhere()


def _elsewhere() -> InternalError:
    return InternalError("The elements of a worker's iterator are on that worker.")
