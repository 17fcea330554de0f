"""What is done with a dataset on the host whenever a compiled function has run (core layer)."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.core import control, host, regions


@dataclasses.dataclass(slots=True)
class Afterwards:
    """What is done after each run of a program.

    Attributes:
        source: The dataset; once the program is made, what stands for an argument of the function.
        act: Takes the dataset of a call.
    """

    source: Any
    act: Callable[[Any], None]

    def detach(self, places: Mapping[int, Any]) -> None:
        """Put in the dataset's place what stands for it, if it was an argument."""
        self.source = places.get(id(self.source), self.source)


def after_run(source: object, act: Callable[[Any], None]) -> None:
    """Have something done with a dataset on the host whenever the function that is being traced has run.

    Args:
        source: The dataset: one from outside, or an argument of the function.
        act: Takes the dataset of a call.

    Raises:
        TracingError: It stands in a loop, condition or replica.
    """
    region = regions.current_region()
    if not isinstance(region, regions.ProgramRegion):
        raise errors.TracingError(
            "A dataset is saved in a loop, condition or replica of a compiled function, so it is not known how often. "
            f"Expected: in the function's own body. Received: {shown(source)}. Save it outside of the loop."
        )
    region.afterwards.append(Afterwards(source, act))


def single(source: object, none: str, several: str) -> Any:
    """Return the only element of a dataset, in the function that is being traced.

    Args:
        source: The dataset.
        none: What is wrong where it has none.
        several: What is wrong where it has more than one.

    Raises:
        BadArgumentError: When the program has run: there is none, or more than one.
    """
    elements = control.iterator(source)
    first = regions.next_optional(elements)
    host.check(first.has_value(), [], lambda: none)
    host.check(~regions.next_optional(elements).has_value(), [], lambda: several)
    return first.get_value()
