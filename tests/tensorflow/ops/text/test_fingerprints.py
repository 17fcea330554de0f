"""Fingerprints that are kept are those that would be computed."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from stratax.tensorflow.ops.text.fingerprints import Fingerprints, fingerprint64


def _strings(seed, count=50):
    return [b"%d" % number for number in np.random.default_rng(seed).integers(0, 100, count)]


def test_more_than_are_kept_are_right_too():
    kept = Fingerprints(most=10)
    for seed in range(20):
        strings = _strings(seed)
        assert kept.of(strings).tolist() == fingerprint64(strings).tolist()
        assert len(kept._known.places) <= 50
    assert kept.of([]).tolist() == []


def test_whole_numbers_count_as_decimal_text():
    kept = Fingerprints()
    assert kept.of([5, -17, 2**62]).tolist() == fingerprint64([b"5", b"-17", b"%d" % (2**62)]).tolist()
    assert kept.of([b"5", b"-17"]).tolist() == kept.of([5, -17]).tolist()


def test_threads_may_ask_at_the_same_time():
    kept = Fingerprints(most=20)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: kept.of(_strings(seed)).tolist(), range(200)))
    assert found == [fingerprint64(_strings(seed)).tolist() for seed in range(200)]
