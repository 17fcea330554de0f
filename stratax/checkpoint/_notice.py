"""Hearing that the machine will be taken away: a signal, or what a function of the user's says (checkpoint layer)."""

import contextlib
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable

from stratax.cluster import exits

# How often the user's function is asked, in seconds.
_POLL_SECONDS = 1.0
# Signals that come within this time are one notice: a launcher and a scheduler may both send theirs.
_SAME_SECONDS = 0.5
_logger = logging.getLogger("stratax")


class Notice:
    """Calls a function at the first notice, and ends the process at a second signal.

    Args:
        on_notice: What to call, once, in a thread.
        watcher: Says whether the machine is about to be taken away; asked every second. None: the signal alone.
    """

    def __init__(self, on_notice: Callable[[str], None], watcher: Callable[[], bool] | None) -> None:
        self._on_notice = on_notice
        self._first: float | None = None
        self._lock = threading.Lock()
        self._listen()
        if watcher is not None:
            threading.Thread(
                target=self._poll, args=(watcher,), name="stratax-preemption", daemon=True
            ).start()

    def _listen(self) -> None:
        """Hear SIGTERM also while the main thread waits for devices, where Python calls no handler."""
        if threading.current_thread() is not threading.main_thread():
            _logger.warning(
                "SIGTERM can't be heard: PreemptionCheckpointHandler was not made in the main thread."
            )
            return
        receiver, sender = socket.socketpair()
        # `set_wakeup_fd` requires it: a signal's handler must not wait.
        sender.setblocking(False)
        self._sockets = (receiver, sender)
        # A handler that does nothing, as without any the signal ends the process before the socket is read.
        signal.signal(signal.SIGTERM, lambda number, frame: None)
        # Python writes the signal's number here from C, at once, whatever the main thread waits for.
        signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._hear, args=(receiver,), name="stratax-signals", daemon=True).start()

    def _hear(self, receiver: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while numbers := receiver.recv(64):
                for number in numbers:
                    if number == signal.SIGTERM:
                        self._signal()

    def _poll(self, watcher: Callable[[], bool]) -> None:
        while self._first is None:
            try:
                if watcher():
                    self._note("the cluster's notice")
            # The user's function may ask a server that fails now and then; training goes on.
            except Exception:
                _logger.exception("termination_watcher_fn failed; it is asked again.")
            time.sleep(_POLL_SECONDS)

    def _signal(self) -> None:
        if self._first is not None and time.monotonic() - self._first > _SAME_SECONDS:
            code = 128 + signal.SIGTERM
            # Whoever sends it again does not want to wait for a checkpoint.
            exits.leave(code, "stratax: a second SIGTERM: this process leaves at once, without a checkpoint.")
        self._note("SIGTERM")

    def _note(self, reason: str) -> None:
        # The signal's thread and the polling one may both be first.
        with self._lock:
            if self._first is not None:
                return
            self._first = time.monotonic()
        # Without the lock: it sends to other tasks, and must not hold up a second signal.
        self._on_notice(reason)
