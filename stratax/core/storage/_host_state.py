"""Objects with state on the host, as a checkpoint meets them (core layer)."""

import abc
from typing import Any


class HostConstant:
    """An object that the program makes with all that is in it: a checkpoint saves nothing of it."""


class HostState(abc.ABC):
    """An object whose state a checkpoint saves wherever it is found, also in a layer's attribute."""

    @abc.abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Return the state, as a dict that JSON can hold."""

    @abc.abstractmethod
    def set_state(self, state: dict[str, Any]) -> None:
        """Have a state that `get_state` returned."""
