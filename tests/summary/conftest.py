"""What tests of summaries share: nothing stays set, and event files are read."""

import pytest
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

from stratax.summary import _context


@pytest.fixture(autouse=True)
def _nothing_stays_set():
    yield
    for slot in (_context.WRITER, _context.STEP, _context.CONDITION):
        slot.set(None)


@pytest.fixture
def read():
    """Returns a function from a folder to its summaries: tags to lists of (step, value)."""

    def read(folder):
        events = event_accumulator.EventAccumulator(str(folder), size_guidance={"tensors": 0})
        events.Reload()
        return {
            tag: [
                (event.step, tensor_util.make_ndarray(event.tensor_proto).tolist())
                for event in events.Tensors(tag)
            ]
            for tag in events.Tags()["tensors"]
        }

    return read


@pytest.fixture
def metadata():
    """Returns a function from a folder to the metadata of its summaries, by tag."""

    def metadata(folder):
        events = event_accumulator.EventAccumulator(str(folder), size_guidance={"tensors": 0})
        events.Reload()
        return {tag: events.SummaryMetadata(tag) for tag in events.Tags()["tensors"]}

    return metadata
