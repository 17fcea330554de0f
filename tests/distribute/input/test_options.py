"""Options of distributed input that can not work are refused."""

import pytest

from stratax import errors
from stratax.distribute import InputContext, InputOptions, MirroredStrategy


@pytest.fixture(scope="module")
def four():
    return MirroredStrategy([f"/cpu:{i}" for i in range(4)])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.experimental_distribute_dataset(3), errors.BadTypeError, "dataset=3"),
        (lambda s: s.experimental_distribute_dataset([], options=3), errors.BadTypeError, "options=3"),
        (lambda s: s.distribute_datasets_from_function([]), errors.BadTypeError, r"dataset_fn=\[\]"),
        (lambda s: s.distribute_datasets_from_function(lambda c: 3), errors.BadTypeError, "dataset=3"),
        (
            lambda s: InputOptions(experimental_place_dataset_on_device=True),
            errors.BadArgumentError,
            "runs on the host",
        ),
        (
            lambda s: InputOptions(experimental_per_replica_buffer_size=0),
            errors.BadArgumentError,
            "experimental_per_replica_buffer_size=0",
        ),
        (
            lambda s: InputContext(num_replicas_in_sync=4).get_per_replica_batch_size(6),
            errors.BadArgumentError,
            "multiple of 4. Received: global_batch_size=6",
        ),
    ],
)
def test_arguments_that_can_not_work_are_refused(four, call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        call(four)
