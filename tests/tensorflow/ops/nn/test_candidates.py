"""Candidate samplers: how often classes come; what can't be compiled; dropout by a seed."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

TRUE = np.array([[0], [3]])


@pytest.mark.parametrize(
    "sampler", [tf.random.log_uniform_candidate_sampler, tf.random.uniform_candidate_sampler]
)
def test_distinct_classes_come_as_often_as_is_said(sampler):
    samples = [sampler(TRUE, 1, 4, True, 8, seed=seed) for seed in range(200)]
    assert all(len(set(sample.sampled_candidates.tolist())) == 4 for sample in samples)
    share = np.mean([0 in sample.sampled_candidates.tolist() for sample in samples])
    expected = np.mean([float(sample.true_expected_count[0, 0]) for sample in samples])
    assert share == pytest.approx(expected, abs=0.15)
    assert samples[0].sampled_expected_count.shape == (4,)


def test_classes_may_come_several_times():
    sample = tf.random.log_uniform_candidate_sampler(TRUE, 1, 2000, False, 8, seed=1)
    chances = np.log1p(1 / (np.arange(8) + 1)) / np.log(9)
    found = np.bincount(np.asarray(sample.sampled_candidates), minlength=8) / 2000
    np.testing.assert_allclose(found, chances, atol=0.05)
    np.testing.assert_allclose(sample.true_expected_count[:, 0], 2000 * chances[[0, 3]], rtol=1e-4)


def test_a_table_says_how_often_classes_come(tmp_path):
    sample = tf.nn.fixed_unigram_candidate_sampler(
        TRUE, 1, 500, False, 5, unigrams=[3.0, 0.0, 1.0, 0.0], num_reserved_ids=1
    )
    found = np.bincount(np.asarray(sample.sampled_candidates), minlength=5)
    assert found[[0, 2, 4]].tolist() == [0, 0, 0]
    assert found[1] > found[3] > 0
    path = tmp_path / "words.csv"
    path.write_text("a,3\nb,0\nc,1\n")
    from_file = tf.nn.fixed_unigram_candidate_sampler(TRUE[:1], 1, 2, True, 3, vocab_file=str(path))
    assert sorted(from_file.sampled_candidates.tolist()) == [0, 2]


def test_a_sampled_loss_trains_without_samples_of_ones_own():
    weights, features = np.ones((20, 3), np.float32), np.ones((2, 3), np.float32)
    loss = tf.nn.sampled_softmax_loss(weights, np.zeros(20, np.float32), TRUE, features, 5, 20, seed=1)
    assert loss.shape == (2,)
    assert np.isfinite(loss).all()


@pytest.mark.parametrize(
    ("function", "error", "what"),
    [
        (
            lambda: tf.random.uniform_candidate_sampler(TRUE, 2, 1, True, 4),
            BadArgumentError,
            "true classes of shape",
        ),
        (lambda: tf.nn.fixed_unigram_candidate_sampler(TRUE, 1, 1, True, 4), BadArgumentError, "or unigrams"),
        (lambda: tf.nn.ctc_greedy_decoder(np.ones((2, 1, 3)), [3]), BadArgumentError, "a length for each"),
        (
            lambda: tf.nn.ctc_loss([[1]], np.ones((2, 1, 3)), None, [2]),
            BadArgumentError,
            "needs label_length",
        ),
        (
            lambda: tf.nn.ctc_beam_search_decoder(np.ones((2, 1, 3)), [2], 1, 2),
            BadArgumentError,
            "from 1 to beam",
        ),
        (
            lambda: tf.function(lambda x: tf.nn.ctc_greedy_decoder(x, [2])[1])(tf.ones([2, 1, 3])),
            BadTypeError,
            "ctc_decode",
        ),
        (
            lambda: tf.nn.experimental.stateless_dropout(np.ones(3), 1.0, (1, 2)),
            BadArgumentError,
            "The rate is",
        ),
    ],
)
def test_what_does_not_fit_is_refused(function, error, what):
    with pytest.raises(error, match=what):
        function()


def test_dropout_by_a_seed():
    x = np.ones((50, 40), np.float32)
    first, again = (np.asarray(tf.nn.experimental.stateless_dropout(x, 0.25, (1, 2))) for _ in range(2))
    assert (first == again).all()
    assert set(np.unique(first).tolist()) == {0.0, np.float32(4 / 3).item()}
    assert (first == 0).mean() == pytest.approx(0.25, abs=0.05)
    rows = np.asarray(tf.nn.experimental.stateless_dropout(x, 0.5, (1, 2), noise_shape=[50, 1]))
    assert (rows == rows[:, :1]).all()


@pytest.mark.parametrize("is_compiled", [False, True])
def test_classes_are_drawn_as_often_as_they_were_true(is_compiled):
    """The expected counts are those of TensorFlow 2.21."""
    true = np.array([[0, 1], [0, 2]])
    sample = lambda: tf.random.learned_unigram_candidate_sampler(true, 2, 3, False, 5, seed=31 + is_compiled)  # noqa: E731
    sample = tf.function(sample) if is_compiled else sample
    found = [np.asarray(sample().true_expected_count) for _ in range(3)]
    # Of 5, 9 and 13 weights class 0 has 1, 3 and 5, classes 1 and 2 have 1, 2 and 3.
    np.testing.assert_allclose(found[0], [[0.6, 0.6], [0.6, 0.6]], rtol=1e-6)
    np.testing.assert_allclose(found[1], [[1, 2 / 3], [1, 2 / 3]], rtol=1e-6)
    np.testing.assert_allclose(found[2], [[15 / 13, 9 / 13], [15 / 13, 9 / 13]], rtol=1e-6)


def test_calls_in_one_function_learn_by_themselves():
    true = np.array([[0, 1]])

    @tf.function
    def sample():
        first = tf.nn.learned_unigram_candidate_sampler(true, 2, 3, True, 5)
        second = tf.nn.learned_unigram_candidate_sampler(true, 2, 3, True, 5)
        return first.sampled_candidates, second.sampled_candidates

    for _ in range(3):
        assert [len(set(np.asarray(classes).tolist())) for classes in sample()] == [3, 3]
    with pytest.raises(BadArgumentError, match="no more different samples than there are classes"):
        tf.random.learned_unigram_candidate_sampler(true, 2, 9, True, 5)


@pytest.mark.parametrize("number", [7, -1])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_true_classes_out_of_range_are_refused_as_in_tensorflow(number, is_compiled):
    sample = lambda true: tf.random.learned_unigram_candidate_sampler(true, 1, 2, False, 5)  # noqa: E731
    with pytest.raises(BadArgumentError, match=rf"out of range \[0, 5\), received {number}"):
        (tf.function(sample) if is_compiled else sample)(tf.constant([[0], [number]]))
