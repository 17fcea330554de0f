"""The queue of closures."""

import pytest

from stratax.errors import CancelledError
from stratax.parameter_servers.coordination._queue import Closure, ClosureQueue


def taken(queue, number):
    queue.put(Closure(number, print, (), {}))
    return queue.get(lambda: True)


def test_what_was_cancelled_while_it_ran_is_not_run_again_when_its_worker_is_lost():
    queue = ClosureQueue()
    before = taken(queue, 0)
    queue.cancel()
    behind = taken(queue, 1)
    queue.put_back(before)
    queue.put_back(behind)
    with pytest.raises(CancelledError, match="was not run"):
        before.value.get()
    assert queue.get(lambda: True) is behind
    queue.note_finished()
    assert queue.is_done()
