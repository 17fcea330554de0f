"""Decoders over lists of steps: what `tests/golden/session_cases.py` has not."""

import numpy as np
import pytest

from stratax.tf.contrib import legacy_seq2seq


def test_losses_weigh_steps_and_examples():
    logits, targets, weights = (
        [np.zeros((2, 4), "float32")] * 2,
        [np.array([0, 1])] * 2,
        [np.ones(2, "float32")] * 2,
    )
    each = legacy_seq2seq.sequence_loss_by_example(logits, targets, weights, average_across_timesteps=False)
    assert np.allclose(each, 2 * np.log(4))
    assert np.allclose(legacy_seq2seq.sequence_loss(logits, targets, weights), np.log(4))
    assert np.allclose(
        legacy_seq2seq.sequence_loss(logits, targets, weights, average_across_batch=False), 2 * np.log(4)
    )
    with pytest.raises(ValueError, match="must be the same"):
        legacy_seq2seq.sequence_loss(logits, targets[:1], weights)
