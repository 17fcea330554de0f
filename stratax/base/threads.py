"""Threads that make calls, and that a Ctrl-C at the wrong moment can't keep from ending (bottom layer).

Python delivers Ctrl-C between any two instructions of the main thread, so also inside of `threading.Condition`'s
`__enter__`, when the lock is taken and its `with` has not begun: nobody gives the lock back. With every `submit` and
`result` of a `concurrent.futures.ThreadPoolExecutor` the main thread takes such locks; the executor's threads wait for
them, and the interpreter waits for the threads: the process never ends. Here the main thread takes no lock that a
thread needs, and the interpreter does not wait for long.
"""

import concurrent.futures
import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

# How long the program's end waits for calls under way: a thread that is stopped inside of XLA ends a process badly.
_EXIT_SECONDS = 5.0

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class Threads(concurrent.futures.Executor):
    """Makes calls on threads of its own, as `concurrent.futures.ThreadPoolExecutor` does; with one thread, in order.

    The program ends while calls are under way: what has not begun then may never be made. Who wants all of them waits
    for their futures, or calls `shutdown`. Where no thread starts any more, they are made at once.

    Args:
        number: How many threads, at most; each starts with a call that is submitted.
        name: What the threads are called.
    """

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name
        # Written in C: no interruption leaves it half changed. The threads know it, and not the executor.
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()
        self._has_ended = False
        self._end = weakref.finalize(self, _end, self._calls, self._threads, number)

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> concurrent.futures.Future[Result]:
        """See `concurrent.futures.Executor.submit`."""
        if self._has_ended:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: _Future[Result] = _Future()
        self._calls.put(_Call(future, lambda: fn(*args, **kwargs)))
        if len(self._threads) < self._number:
            self._start()
        return future

    def _start(self) -> None:
        with self._starting:
            if len(self._threads) < self._number:
                name = f"{self._name}_{len(self._threads)}"
                thread = threading.Thread(target=_work, args=(self._calls,), name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    # From Python 3.12 on no thread starts once the main module has come to its end.
                    if "interpreter shutdown" not in str(error):
                        raise
                    if not self._threads:
                        for call in _take_calls(self._calls):
                            call.make()
                else:
                    self._threads.append(thread)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor.shutdown`."""
        self._has_ended = True
        if cancel_futures:
            for call in _take_calls(self._calls):
                call.future.cancel()
        self._end()
        if wait:
            for thread in self._threads:
                if thread is not threading.current_thread():
                    thread.join()


class _Future(concurrent.futures.Future[Result]):
    """A future whose lock the waiting thread does not take before the call is made."""

    def __init__(self) -> None:
        super().__init__()
        self._is_made = False
        self._unmade = threading.Lock()
        self._unmade.acquire()
        self.add_done_callback(lambda _: self._set_made())

    def _set_made(self) -> None:
        self._is_made = True
        self._unmade.release()

    def done(self) -> bool:
        return self._is_made

    def result(self, timeout: float | None = None) -> Result:
        self._wait(timeout)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._wait(timeout)
        return super().exception(timeout)

    def _wait(self, timeout: float | None) -> None:
        if self._is_made:
            return
        if not self._unmade.acquire(timeout=-1 if timeout is None else max(0.0, timeout)):
            raise TimeoutError
        # For the next one who waits.
        self._unmade.release()


class _Call:
    """A call that is to be made, and its future."""

    def __init__(self, future: concurrent.futures.Future[Any], function: Callable[[], Any]) -> None:
        self.future = future
        self._function = function

    def make(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self._function()
        except BaseException as e:
            self.future.set_exception(e)
            # The error refers to this frame: without the cycle, what it holds is free with the future.
            del self
        else:
            self.future.set_result(result)


def _work(calls: "queue.SimpleQueue[_Call | None]") -> None:
    """Make calls until there is None, in a thread."""
    while (call := calls.get()) is not None:
        call.make()
        del call


def _take_calls(calls: "queue.SimpleQueue[_Call | None]") -> list[_Call]:
    taken: list[_Call] = []
    while True:
        try:
            call = calls.get_nowait()
        except queue.Empty:
            return taken
        if call is not None:
            taken.append(call)


def _end(calls: "queue.SimpleQueue[_Call | None]", threads: list[threading.Thread], number: int) -> None:
    """Have the threads end after the calls that wait; at the end of the program, wait for them, but not for ever."""
    for _ in range(number):
        calls.put(None)
    # Where nobody refers to the executor any more, a garbage collection calls this, which must not wait.
    if not threading.main_thread().is_alive():
        last = time.monotonic() + _EXIT_SECONDS
        for thread in threads:
            thread.join(max(0.0, last - time.monotonic()))
