"""Elements of about one length are batched together."""

from stratax.data import Dataset


def test_batches_hold_elements_of_one_bucket():
    rows = Dataset.from_generator(
        lambda: iter([[1], [2, 2, 2], [3], [4, 4, 4]]), output_types="int32", output_shapes=[None]
    )
    batched = rows.bucket_by_sequence_length(len, bucket_boundaries=[2], bucket_batch_sizes=[2, 2])
    assert [batch.tolist() for batch in batched] == [[[1], [3]], [[2, 2, 2], [4, 4, 4]]]
