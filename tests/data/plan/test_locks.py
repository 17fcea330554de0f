"""A lock that a copy of its object does not share."""

import copy
import pickle

from stratax.data.plan import OwnLock


def test_a_copy_has_a_lock_of_its_own():
    lock = OwnLock()
    with lock, copy.deepcopy(lock), pickle.loads(pickle.dumps(lock)) as taken:
        assert taken is None
