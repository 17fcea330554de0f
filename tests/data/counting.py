"""A source that counts what it makes and what it skips, as a record reader would."""

import numpy as np

from stratax.data import Dataset, TensorSpec
from stratax.data.elements import Columns
from stratax.data.plan import Node
from stratax.data.position import Cursor


class Records(Node):
    """`count` byte strings of `size` bytes; each begins with its number."""

    label = "Records"
    is_indexable = False
    is_uniform = True
    batch_size = None

    def __init__(self, count, size=8):
        self.count, self.size = count, size
        self.made = self.skipped = self.states = 0

    @property
    def spec(self):
        return TensorSpec((), object)

    @property
    def length(self):
        return -2

    def stream(self, run, passes):
        return RecordsCursor(self)


class RecordsCursor(Cursor):
    """Its place is the number of the next record."""

    def __init__(self, source):
        self.source = source
        self.position = 0

    def read(self, limit):
        stop = min(self.position + min(limit, 256), self.source.count)
        if stop == self.position:
            raise StopIteration
        column = np.empty(stop - self.position, object)
        column[:] = [b"%d" % i + bytes(self.source.size) for i in range(self.position, stop)]
        self.source.made += stop - self.position
        self.position = stop
        return Columns([column], len(column))

    def skip(self, count):
        passed = min(count, self.source.count - self.position)
        self.position += passed
        self.source.skipped += passed
        return passed

    def get_state(self):
        self.source.states += 1
        return {"position": self.position}

    def set_state(self, state):
        self.position = state["position"]


def records(count, size=8):
    """The Dataset, and its source with the counts."""
    source = Records(count, size)
    return Dataset(source), source
