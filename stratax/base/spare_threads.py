"""Threads for the end of the program, where Python starts none any more (bottom layer).

From Python 3.12 on `threading.Thread.start` raises once the main module has ended, in exit functions too. Just
then tasks are told that the job is over, and servers are closed, each in a thread: they may not answer.
"""

import os
import queue
import sys
import threading
from collections.abc import Callable

_calls: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()
_spare: list[threading.Thread] = []
# How many each purpose needs.
_needed: dict[str, int] = {}
os.register_at_fork(after_in_child=_spare.clear)
os.register_at_fork(after_in_child=_needed.clear)


def keep_spare_threads(purpose: str, number: int) -> None:
    """Have threads ready for what `start_thread` is given at the end of the program.

    Args:
        purpose: What they are for: those for something else are not counted, as all may be busy at once.
        number: How many there have to be for it, at least.
    """
    _needed[purpose] = max(number, _needed.get(purpose, 0))
    while len(_spare) < sum(_needed.values()):
        thread = threading.Thread(target=_work, name="stratax-spare", daemon=True)
        thread.start()
        _spare.append(thread)


def start_thread(function: Callable[[], object], name: str, *, may_be_here: bool = True) -> threading.Event:
    """Make a call in a thread of its own; at the end of the program in a spare one, or here if there is none.

    Args:
        function: What to call.
        name: The thread's name.
        may_be_here: Whether it may be made here; not one that ends only by what comes after it. It is left out then.

    Returns:
        Set when the call has ended.
    """
    ended = threading.Event()

    def call() -> None:
        try:
            function()
        finally:
            ended.set()

    try:
        threading.Thread(target=call, name=name, daemon=True).start()
    except RuntimeError as error:
        # The other reason is a lack of memory.
        if "interpreter shutdown" not in str(error):
            raise
        if _spare:
            _calls.put(call)
        elif may_be_here:
            call()
    return ended


def _work() -> None:
    while True:
        call = _calls.get()
        try:
            call()
        except Exception:
            # As a thread's that ends with an error; this one goes on.
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
