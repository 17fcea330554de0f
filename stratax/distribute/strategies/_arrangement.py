"""Other arrangements of the devices of a `ShardedStrategy`, for programs that are not run (distribute layer)."""

import dataclasses

from stratax.base.surroundings import Slot


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Arrangement:
    """What `ShardedStrategy` is given beside its devices.

    Attributes:
        replicas: How many groups of devices there are, each of which has the whole in parts.
        model: How many neighbours share a part of the batch.
    """

    replicas: int
    model: int


# What programs are arranged as that are traced for other devices; None for as their strategies are.
ARRANGEMENT: Slot[Arrangement | None] = Slot("arrangement of other devices", None)
