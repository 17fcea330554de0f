"""A process's share of what there is for all replicas."""

from stratax.distribute.replicas import Share


def test_a_share_is_as_many_things_for_every_process():
    assert [Share(processes=2, index=i).of(6) for i in range(2)] == [slice(0, 3), slice(3, 6)]
    assert Share().of(4) == slice(0, 4)
