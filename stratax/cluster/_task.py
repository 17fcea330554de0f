"""A task as a process of this machine, and what it writes (cluster layer)."""

import codecs
import collections
import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Protocol

from stratax.base.shown import shown
from stratax.cluster._interrupted import Interrupted
from stratax.errors import FileAccessError

# Enough for a traceback, which the launcher's summary quotes.
_KEPT_LINES = 40
_LONGEST_LINE = 1024 * 1024
_KILL_SECONDS = 5.0
_WRAPPER = pathlib.Path(__file__).with_name("_end_with_parent.py")


class Screen(Protocol):
    """Where the tasks' output and the launcher's own messages go; called from several threads."""

    def show(self, name: str, line: str, *, is_error: bool) -> None:
        """Take a line that a task wrote.

        Args:
            name: The task.
            line: The line, without its end.
            is_error: Whether the task wrote it to its error output.

        Raises:
            OSError: If it can't be shown. Then the run is over.
        """

    def tell(self, message: str) -> None:
        """Take a message of the launcher's own."""


@dataclasses.dataclass(slots=True, eq=False)
class StartedTask:
    """A started task.

    Attributes:
        job: Its job.
        index: Its number in the job.
        process: Its process.
        last_lines: The last lines of its error output.
        ended: When it was found to have ended, on the monotonic clock, in seconds; None before.
        signals: How many of the launcher's signals it was given.
        unshown: Why what it wrote could not be shown; None while it can.
        num_lines: How many lines of it have been read.
        is_left_out: Whether the others go on however it has ended.
        is_renewed: Whether it was started again alone, so that the run may be done before it is.
        is_interrupted: Whether it was sent Ctrl-C, after which the traceback of that is not shown; the log has it.
    """

    job: str
    index: int
    process: subprocess.Popen
    last_lines: collections.deque[str]
    ended: float | None = None
    signals: int = 0
    unshown: OSError | None = None
    num_lines: int = 0
    is_left_out: bool = False
    is_renewed: bool = False
    is_interrupted: bool = False
    _readers: list[threading.Thread] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        """The name by which messages call the task."""
        return f"{self.job} {self.index}"

    @property
    def trains(self) -> bool:
        """Whether the run is done when this task and its like are."""
        return self.job in ("chief", "worker")

    @property
    def has_failed(self) -> bool:
        """Whether it was found to have ended with another code than 0, which ends the others."""
        return self.ended is not None and self.process.returncode != 0 and not self.is_left_out

    @property
    def is_stopped(self) -> bool:
        """Whether a signal such as SIGSTOP, or a debugger, keeps it from running; False where that can't be told."""
        if self.ended is not None or not hasattr(os, "waitid"):
            return False
        try:
            # WNOWAIT: it is asked again and again, and its end is found out elsewhere.
            return os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return False

    def look(self) -> None:
        """Find out whether the task has ended."""
        if self.ended is None and self.process.poll() is not None:
            self.ended = time.monotonic()

    def signal(self, number: int) -> None:
        """Send a signal to everything that the task started."""
        self.is_interrupted = self.is_interrupted or number == signal.SIGINT
        with contextlib.suppress(ProcessLookupError):
            # `start_new_session` made the task the leader of a group with its own number.
            os.killpg(self.process.pid, number)

    def end(self) -> None:
        """Ask it, and everything that it started, to end; what is stopped goes on, or it could not."""
        was_stopped = self.is_stopped
        self.signal(signal.SIGTERM)
        if was_stopped:
            self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it and everything that it started."""
        self.signal(signal.SIGKILL)
        # Not even SIGKILL ends a process at once that waits for a broken disk.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_KILL_SECONDS)

    def finish_reading(self, patience: float, deadline: float) -> None:
        """Wait until all that it wrote has been shown; what it started may hold its output open.

        Args:
            patience: For how long nothing may come before it gives up, in seconds.
            deadline: When it gives up in any case, on the monotonic clock, in seconds.
        """
        for reader in self._readers:
            before = -1
            while reader.is_alive() and before != self.num_lines and time.monotonic() < deadline:
                before = self.num_lines
                reader.join(patience)

    def read(self, stream: IO[bytes], log: IO[bytes] | None, screen: Screen, is_error: bool) -> None:
        """Begin to show what the task writes, in a thread of its own.

        Args:
            stream: Its output, which is read to the end whatever happens: it would wait for ever otherwise.
            log: The file that keeps the output; None for none.
            screen: Where the lines go.
            is_error: Whether it is the error output.
        """
        arguments = (stream, log, screen, is_error)
        # Reading goes on whatever the main thread does: a full pipe would stop the task.
        reader = threading.Thread(target=self._show, args=arguments, name=f"read-{self.name}", daemon=True)
        self._readers.append(reader)
        reader.start()

    def _show(self, stream: IO[bytes], log: IO[bytes] | None, screen: Screen, is_error: bool) -> None:
        # Incremental: a piece of a long line may end inside of a character.
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        interrupted = Interrupted()
        with stream, log or contextlib.nullcontext():
            # A longer line is shown in pieces, so that the memory it takes has a limit.
            while raw := stream.readline(_LONGEST_LINE):
                self.num_lines += 1
                log = self._write_log(raw, log, screen)
                # `final` at the end of a line: an incomplete character there is damage and no piece.
                line = _visible(decode(raw, len(raw) < _LONGEST_LINE or raw.endswith(b"\n")))
                if is_error:
                    self.last_lines.append(line)
                for each in interrupted.pass_on(line) if self.is_interrupted else (line,):
                    self._say(each, screen, is_error)
            for each in interrupted.rest():
                self._say(each, screen, is_error)

    def _say(self, line: str, screen: Screen, is_error: bool) -> None:
        if self.unshown is None:
            try:
                screen.show(self.name, line, is_error=is_error)
            except OSError as error:
                self.unshown = error

    def _write_log(self, raw: bytes, log: IO[bytes] | None, screen: Screen) -> IO[bytes] | None:
        """Write to the log; return where the next output is kept: nowhere once that has failed."""
        if log is None:
            return None
        try:
            log.write(raw)
        except OSError as error:
            with contextlib.suppress(OSError):
                screen.tell(f"The output of {self.name} is not kept any more: {error}.")
            return None
        return log


def start_task(
    job: str,
    index: int,
    command: tuple[str, ...],
    environment: dict[str, str],
    screen: Screen,
    log_dir: pathlib.Path | None = None,
) -> StartedTask:
    """Start a task, which ends when this process does (on Linux), and show what it writes.

    Args:
        job: Its job.
        index: Its number in the job.
        command: What it runs.
        environment: Its environment variables.
        screen: Where its output goes.
        log_dir: Where its output goes too, in two files; None for nowhere.

    Raises:
        FileAccessError: If there can be no such files.
    """
    with contextlib.ExitStack() as stack:
        logs = [_log(log_dir, f"{job}-{index}.{kind}", stack) for kind in ("out", "err")]
        process = subprocess.Popen(
            # -P: what lies beside the script are no modules for it to import.
            # -S: the wrapper needs nothing installed, and skipping `site` saves its start.
            [sys.executable, "-S", "-P", str(_WRAPPER), str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        # The readers close the logs from here on.
        stack.pop_all()
    task = StartedTask(job, index, process, collections.deque(maxlen=_KEPT_LINES))
    for stream, log, is_error in zip((process.stdout, process.stderr), logs, (False, True), strict=True):
        if stream is not None:
            task.read(stream, log, screen, is_error=is_error)
    return task


def _visible(text: str) -> str:
    """Return a line without its end; of a progress bar that writes over itself, how it looked last."""
    return text.rstrip("\r\n").rsplit("\r", 1)[-1].replace("\b", "")


def _log(folder: pathlib.Path | None, name: str, stack: contextlib.ExitStack) -> IO[bytes] | None:
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return stack.enter_context((folder / name).open("ab", buffering=0))
    except OSError as error:
        raise FileAccessError(
            f"The tasks' output can't be kept there ({error.strerror}). Give a folder that can be written to. "
            f"Received: log_dir={shown(str(folder))}.",
            filename=str(folder),
        ) from error
