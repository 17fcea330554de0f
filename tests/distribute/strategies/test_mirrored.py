"""The devices of a MirroredStrategy: all there are, or those that are named, each once."""

import jax
import pytest

from stratax import errors
from stratax.distribute import MirroredStrategy


def test_without_names_all_devices_have_a_replica():
    assert MirroredStrategy().num_replicas_in_sync == len(jax.local_devices())
    assert MirroredStrategy(["/cpu:1", "/cpu:0"]).num_replicas_in_sync == 2


@pytest.mark.parametrize(
    ("devices", "error", "message"),
    [
        ("/cpu:0", errors.BadTypeError, "must be a list of devices or their names"),
        ([], errors.BadArgumentError, "must name at least one device"),
        (["/cpu:0", "/cpu:0"], errors.BadArgumentError, "must not name a device twice"),
    ],
)
def test_devices_that_are_no_list_of_different_ones_are_refused(devices, error, message):
    with pytest.raises(error, match=message):
        MirroredStrategy(devices)
