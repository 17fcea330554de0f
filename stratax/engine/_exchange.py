"""What workers tell one another beside the steps that they take together (engine layer)."""

import json
from typing import Any

import numpy as np

from stratax.distribute import Strategy


def parts_of_all(strategy: Strategy, part: object) -> list[Any]:
    """Exchange a value of every worker, in the order of the workers; all call it and wait for one another.

    Args:
        strategy: The strategy.
        part: This worker's, which JSON can hold.
    """
    return [json.loads(each) for each in strategy.extended.membership.gather(json.dumps(part).encode())]


def from_chief(strategy: Strategy, value: object) -> Any:
    """Return the chief's value in every worker of a strategy that acts in step; all call it and wait for one another.

    Args:
        strategy: The strategy. Where nobody waits for others, each process gets its own value.
        value: A value that JSON can hold; that of other workers than the chief doesn't matter.
    """
    text = json.dumps(value).encode()
    # Transfers are of arrays whose shapes all workers have to know.
    (size,) = strategy.extended.membership.agree([np.asarray([len(text)])])
    # The others' content does not matter: the chief's is taken.
    buffer = np.zeros(int(size[0]), np.uint8)
    if len(buffer) == len(text):
        buffer[:] = np.frombuffer(text, np.uint8)
    (sent,) = strategy.extended.membership.agree([buffer])
    return json.loads(sent.tobytes())


def wait_for_all(strategy: Strategy) -> None:
    """Wait until all workers have come here, so that what the chief has written is there for them."""
    strategy.extended.membership.loop().ends_now(False)
