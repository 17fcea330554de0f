"""Has Ctrl-C end a command also while compiled code runs, of which Python could not break off any (cli layer)."""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

# So long a block may take to end by itself.
_SECONDS = 1.0


@contextlib.contextmanager
def end_at_once(conclude: Callable[[], object], code: int) -> Iterator[None]:
    """Within a block, have Ctrl-C end the process if the block does not.

    Python raises `KeyboardInterrupt` between two of its own instructions, and the compiler for TPUs may run for minutes
    between them. The system's word of the signal comes to a thread, which waits a second for the block to end.

    Args:
        conclude: Called in that thread before the process is ended: says what there is to say.
        code: The exit code.
    """
    # Only there signals are heard.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, told = socket.socketpair()
    told.setblocking(False)
    # Taken by the one of both that comes first: the block's end, or the process's.
    claim = threading.Lock()
    ended = threading.Event()

    def watch() -> None:
        with heard:
            while numbers := heard.recv(64):
                if signal.SIGINT in numbers:
                    break
        if not numbers or ended.wait(_SECONDS) or not claim.acquire(blocking=False):
            return
        try:
            conclude()
            sys.stdout.flush()
        finally:
            # Not `sys.exit`: the compiler's threads are still at work.
            os._exit(code)

    thread = threading.Thread(target=watch, name="stratax-interrupts", daemon=True)
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        told.close()
        # Where the thread has begun to end the process, that is waited for.
        if not claim.acquire(blocking=False):
            thread.join()
