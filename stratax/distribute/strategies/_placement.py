"""Where the variables of a strategy live: the first of the four parts that a strategy composes (distribute layer)."""

import abc
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import keras
from jax.sharding import NamedSharding, PartitionSpec

from stratax import errors
from stratax.core import regions
from stratax.core.storage import VariableStore, place, write_all
from stratax.distribute.replicas import mesh_of

if TYPE_CHECKING:
    from stratax.distribute.strategies._arrays import NamedArray


class Placement(abc.ABC):
    """Decides where variables live between programs, and says where programs find them.

    Variables may be arrays on devices of this process, or values in a :class:`VariableStore` that is somewhere else.
    """

    # Whether each replica has a copy of a variable, which may become its own.
    keeps_copies = False
    # Whether devices have parts of variables.
    divides = False

    def store_of(self, variable: keras.Variable) -> "VariableStore | None":
        """Return the store that is to keep a new variable; None where the variable itself holds its array.

        It is asked when the variable is created, before its first value is computed.
        """
        return None

    def find_sharding(self, variable: keras.Variable) -> jax.sharding.NamedSharding | None:
        """Return where a new variable lies whose dimensions are divided among devices; None where all lie alike.

        Args:
            variable: The variable, whose shape is known.
        """
        return None

    def find_array_sharding(self, array: "NamedArray") -> jax.sharding.NamedSharding | None:
        """Return where an array lies that replicas are given whole; None where all lie alike.

        Args:
            array: The array, by its key path among the arguments.
        """
        return None

    def make_beside(self, variable: keras.Variable, make: Callable[[], Any]) -> Any:
        """Return a variable that lies where another one does, also if it gets its value, and its place, later.

        Args:
            variable: The other one, such as that of which an optimizer's slot is one.
            make: Makes the variable.
        """
        return make()

    @abc.abstractmethod
    def place(self, variables: Sequence[keras.Variable], values: Sequence[Any]) -> None:
        """Give variables that a scope has created their first values, where the strategy keeps them.

        Args:
            variables: Variables that hold their arrays themselves.
            values: The values, equal in all processes that act in step.
        """

    @abc.abstractmethod
    def prepare(self, region: regions.ProgramRegion) -> None:
        """Tell a program that is being traced where its variables have to be.

        Raises:
            StrategyError: If the program computes for another strategy already, somewhere else.
        """


class UpdatesOnce:
    """Capability of a placement: optimizers update variables in one place, after the replicas have computed gradients.

    Elsewhere every replica updates the copy on its own device.
    """


class OnDevices(Placement):
    """Variables that are arrays on the devices of the replicas.

    Args:
        sharding: Where variables are while replicas compute, and between programs.
    """

    keeps_copies = True

    def __init__(self, sharding: jax.sharding.Sharding) -> None:
        self._sharding = sharding

    @property
    def sharding(self) -> jax.sharding.Sharding:
        """Where variables are while replicas compute."""
        return self._sharding

    @property
    def storage(self) -> jax.sharding.Sharding:
        """Where variables are between programs."""
        return self._sharding

    @contextlib.contextmanager
    def elsewhere(self, sharding: jax.sharding.Sharding) -> Iterator[None]:
        """Have programs that are traced in a block, and not run, find variables under another sharding."""
        kept, self._sharding = self._sharding, sharding
        try:
            yield
        finally:
            self._sharding = kept

    def place(self, variables: Sequence[keras.Variable], values: Sequence[Any]) -> None:
        # All in one transfer.
        write_all(variables, place(list(values), self.storage))

    def prepare(self, region: regions.ProgramRegion) -> None:
        # One program has one set of devices.
        # A program runs on one set of devices: two strategies in one function would need two.
        if region.placement is not None and region.placement != self.sharding:
            raise errors.StrategyError(
                "One compiled function runs two strategies on different devices. Expected: one strategy for each "
                f"function. Received: one that places variables as {self.sharding} after one that places them as "
                f"{region.placement}."
            )
        region.placement = self.sharding
        region.storage = self.storage


class OnOtherDevice(OnDevices, UpdatesOnce):
    """Variables that are kept, and updated, on another device than the replicas'.

    Args:
        sharding: Where variables are while replicas compute.
        storage: Where they are between programs: another place.
    """

    keeps_copies = False

    def __init__(self, sharding: jax.sharding.Sharding, storage: jax.sharding.Sharding) -> None:
        super().__init__(sharding)
        self._storage = storage

    @property
    def storage(self) -> jax.sharding.Sharding:
        return self._storage


def copies_on(devices: Sequence[jax.Device]) -> NamedSharding:
    """Return the sharding of a variable that has a copy on each of the replicas' devices."""
    return NamedSharding(mesh_of(devices), PartitionSpec())
