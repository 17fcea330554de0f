"""A position is the source's own."""

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.errors import DataError
from tests.data.foreign.test_as_dataset import resumed_everywhere


class Stateful:
    """A loader with a state of its own, as torchdata's."""

    def __init__(self):
        self.place = 0

    def __iter__(self):
        while self.place < 5:
            self.place += 1
            yield self.place
        self.place = 0

    def state_dict(self):
        return {"place": np.int64(self.place)}

    def load_state_dict(self, state):
        self.place = state["place"]


def test_states_are_those_of_the_source():
    from stratax.data.foreign._adapter import PipelineStream, StatefulReader
    from stratax.data.foreign._nodes import ForeignStream

    class Source(PipelineStream):
        name = "Stateful"

        def open(self):
            return StatefulReader(self.name, Stateful())

    resumed_everywhere(lambda: Dataset(ForeignStream(Source())).batch(2), 3)

    class Unreadable(Stateful):
        def state_dict(self):
            return {"place": object()}

    reader = StatefulReader("Unreadable", Unreadable())
    reader.next()
    with pytest.raises(DataError, match="state of Unreadable has parts that are neither numbers nor strings"):
        reader.get_state()
