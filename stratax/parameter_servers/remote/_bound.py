"""`run_bounded`: runs a step so that few others change variables between its pull and its push (distribute layer)."""

import contextlib
from collections.abc import Callable
from typing import TypeVar

from stratax.errors import StrataxError
from stratax.parameter_servers.remote._servers import Request, Servers, new_step

T = TypeVar("T")
R = TypeVar("R")
# The server that says whose turn it is.
_FIRST = 0


def run_bounded(servers: Servers, bound: int | None, compute: Callable[[], T], push: Callable[[T], R]) -> R:
    """Compute a step, from its pull on, and push it; return what `push` does.

    Args:
        servers: The servers.
        bound: How many others may change variables before the step does; None for any number.
        compute: Pulls and computes. It is called again if the step was given up meanwhile: its task stood still.
        push: Pushes what was computed.
    """
    if bound is None:
        return push(compute())
    while True:
        step = new_step()
        servers.ask({_FIRST: Request({"op": "begin", "step": step, "bound": bound})})
        try:
            found = compute()
            if servers.ask({_FIRST: Request({"op": "claim", "step": step})})[_FIRST].header["may_push"]:
                return push(found)
        finally:
            # A server that is lost is named by whatever is asked next.
            with contextlib.suppress(StrataxError):
                servers.ask({_FIRST: Request({"op": "finish", "step": step})})
