"""ignore_errors leaves out exactly what can't be made."""

import logging

import pytest

from stratax.data import Dataset
from stratax.errors import WorkerError
from tests.data.pipelines import broken, stream
from tests.data.reference import as_lists

GOOD = [x for x in range(37) if x % 7 != 3]


@pytest.mark.parametrize("threads", [None, 3])
@pytest.mark.parametrize("make", [stream, lambda: Dataset.range(37), lambda: stream().prefetch(3)])
def test_exactly_the_elements_that_fail_are_missing(make, threads):
    dataset = make().map(broken, num_parallel_calls=threads)
    iterator = iter(dataset.ignore_errors())
    assert [int(x) for x in iterator] == GOOD
    assert iterator.num_ignored_errors == 5
    assert as_lists(dataset.ignore_errors().batch(8)) == [GOOD[i : i + 8] for i in range(0, 32, 8)]
    assert as_lists(dataset.prefetch(2).ignore_errors()) == GOOD


def test_without_it_an_error_comes_in_its_place_and_the_next_reading_goes_on():
    for dataset in (stream().map(broken), stream().map(broken).prefetch(2), stream().filter(broken_or_true)):
        iterator = iter(dataset)
        assert [int(next(iterator)) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match="element 3 is broken"):
            next(iterator)
        assert int(next(iterator)) == 4
        iterator.close()


def broken_or_true(x):
    return broken(x) >= 0


def test_a_batch_of_a_stream_that_fails_leaves_out_what_was_read_for_it():
    batches = stream(20).map(broken).batch(4).ignore_errors()
    # As in TensorFlow: the batch of 0, 1, 2 fails with 3, and the next one begins at 4.
    assert as_lists(batches) == [[4, 5, 6, 7], [11, 12, 13, 14], [18, 19]]


def test_errors_are_logged_if_asked_for(caplog):
    with caplog.at_level(logging.WARNING, "stratax"):
        list(stream().map(broken).ignore_errors(log_warning=True))
    assert sum("left out an element: ValueError: element" in record.message for record in caplog.records) == 5


def test_what_no_element_is_to_blame_for_is_raised():
    def lost(x):
        raise WorkerError("a process died")

    with pytest.raises(WorkerError, match="a process died"):
        list(stream().map(lost).ignore_errors())
