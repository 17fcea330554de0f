"""`Meeting`: how tasks that train side by side begin behind their chief, and end before it (distribute layer)."""

import contextlib
import logging
import time
from collections.abc import Callable

import numpy as np

from stratax.errors import ClusterTimeoutError, FailedPreconditionError, StrataxError
from stratax.parameter_servers.remote._servers import Request, Servers

_POLL_SECONDS = 0.2
_SAY_SECONDS = 30.0
_logger = logging.getLogger("stratax")


class Meeting:
    """What the tasks of a training tell one another by way of the first parameter server.

    The chief gives the variables their values, from a checkpoint perhaps; until then no worker may use them. The
    servers outlive a chief that is started again: it finds what it has opened.

    Args:
        servers: The servers.
        name: Which training it is, the same in all tasks.
    """

    def __init__(self, servers: Servers, name: str) -> None:
        self._servers = servers
        self._name = f"meeting/{name}"

    @property
    def step(self) -> int | None:
        """The global step with which the chief has begun; None where it has not yet."""
        return self._read(self._name)

    @property
    def is_stopped(self) -> bool:
        """Whether the chief wants all tasks to end."""
        return self._read(f"{self._name}/stop") is not None

    def stop(self) -> None:
        """Have all tasks end after the step that they make; the chief does it."""
        self._note(f"{self._name}/stop", 1)

    def open(self, step: int) -> None:
        """Say that the variables have their values; the chief does it.

        Args:
            step: The global step.
        """
        self._note(self._name, step)

    def wait_until_open(self, seconds: float | None) -> int:
        """Wait until the chief has given the variables their values; return the global step that they are of.

        Args:
            seconds: For how long; None without a limit.

        Raises:
            ClusterTimeoutError: It takes longer.
        """
        if not self._wait(
            lambda: self.step is not None, seconds, "Waiting for the chief to give the variables their values"
        ):
            raise ClusterTimeoutError(
                f"The chief has not given the variables their values within {seconds:g} s. See its output; or raise "
                "session_creation_timeout_secs of the RunConfig."
            )
        return self.step or 0

    def wait_until_alone(self, seconds: float) -> bool:
        """Wait until no other task uses the first server any more; return whether it is so.

        Args:
            seconds: For how long.
        """
        return self._wait(
            lambda: self._num_streams() <= 1, seconds, "Waiting for the other workers' last steps"
        )

    def leave(self) -> None:
        """End the connections of this task, which are made again where something is read."""
        with contextlib.suppress(StrataxError):
            self._servers.settle()
        self._servers.disconnect()

    def _read(self, name: str) -> int | None:
        pull = Request({"op": "pull", "names": [name], "known": {}})
        try:
            (array,) = self._servers.ask({0: pull})[0].arrays
        except FailedPreconditionError:
            return None
        return int(array)

    def _note(self, name: str, value: int) -> None:
        self._servers.ask({0: Request({"op": "create", "names": [name]}, [np.array(value, np.int32)])})

    def _num_streams(self) -> int:
        return int(self._servers.ask({0: Request({"op": "streams"})})[0].header["streams"])

    @staticmethod
    def _wait(condition: Callable[[], bool], seconds: float | None, what: str) -> bool:
        began = said = time.monotonic()
        while not condition():
            now = time.monotonic()
            if seconds is not None and now - began > seconds:
                return False
            if now - said > _SAY_SECONDS:
                said = now
                _logger.info("%s, since %.0f s.", what, now - began)
            time.sleep(_POLL_SECONDS)
        return True
