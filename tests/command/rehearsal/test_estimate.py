"""The roofline: the slowest of computing, memory and links."""

import dataclasses

import pytest

from stratax.command.rehearsal import Collective, estimate, parse_topology


def all_reduce(size, group=8, times=1):
    return Collective(kind="all-reduce", bytes=size, group=group, times=times)


def test_a_step_takes_as_long_as_what_holds_it_up():
    v5e = parse_topology("v5e:2x4")
    found = estimate(v5e, 197e12, 819e9 / 2, [])
    assert (found.compute, found.memory, found.links) == (1.0, 0.5, 0.0)
    assert (found.seconds, found.bound) == (1.0, "compute")
    assert found.one_by_one == pytest.approx(1.5, rel=1e-3)
    assert estimate(v5e, 1, 819e9, []).bound == "memory"


def test_an_all_reduce_sends_each_byte_twice_but_for_the_own_part():
    v5e = parse_topology("v5e:2x4")
    found = estimate(v5e, 0, 0, [all_reduce(100e9)])
    assert found.links == pytest.approx(2 * 7 / 8 * 100e9 / 100e9)
    assert found.bound == "links"
    gather = Collective(kind="all-gather", bytes=800, group=8, times=1)
    assert estimate(v5e, 0, 0, [gather]).links == pytest.approx(700 / 100e9)
    permute = Collective(kind="collective-permute", bytes=100, group=0, times=1)
    assert estimate(v5e, 0, 0, [permute]).links == pytest.approx(100 / 100e9)


def test_a_core_has_half_of_a_chip():
    v3 = parse_topology("v3-8")
    assert estimate(v3, 123e12, 0, []).compute == 2.0
    assert estimate(v3, 0, 900e9, []).memory == 2.0


def test_what_stands_outside_of_the_loop_of_steps_is_divided_among_them():
    v5e = parse_topology("v5e:2x4")
    inside, outside = all_reduce(1e9, times=None), all_reduce(1e9)
    once = estimate(v5e, 0, 0, [outside]).links
    assert estimate(v5e, 0, 0, [inside, outside], steps=5).links == pytest.approx(once * 1.2)


def test_one_chip_has_no_links():
    assert estimate(parse_topology("v5e-1"), 1, 1, []).links == 0.0


def test_collectives_take_their_way_however_small_they_are():
    # Along dimensions of 2 and 4 chips that are no rings: 1 and 3 links, there and back.
    found = estimate(parse_topology("v5e:2x4"), 0, 0, [all_reduce(16)], steps=1000)
    assert found.latency == pytest.approx(8e-6 / 1000)
    found = estimate(parse_topology("v5e:2x4"), 0, 0, [all_reduce(16, times=None)], steps=1000)
    assert found.latency == pytest.approx(8e-6)
    assert (found.bound, found.is_shorter_than_latencies) == ("latency", True)
    # A ring of 16 is used in both directions.
    ring = estimate(parse_topology("v5e:16x16"), 0, 0, [all_reduce(16, group=256)])
    assert ring.latency == pytest.approx(32e-6)
    # Four chips of them are on no longer way than that.
    assert estimate(parse_topology("v5e:16x16"), 0, 0, [all_reduce(16, group=4)]).latency == pytest.approx(
        4e-6
    )
    gather = Collective(kind="all-gather", bytes=8, group=8, times=1)
    assert estimate(parse_topology("v5e:2x4"), 0, 0, [gather]).latency == pytest.approx(4e-6)
    permute = Collective(kind="collective-permute", bytes=8, group=0, times=1)
    assert estimate(parse_topology("v5e:2x4"), 0, 0, [permute]).latency == pytest.approx(1e-6)
    large = estimate(parse_topology("v5e:2x4"), 0, 0, [all_reduce(1e9)])
    assert (large.bound, large.is_shorter_than_latencies) == ("links", False)


def test_a_dispatch_takes_the_host_its_time_which_its_steps_share():
    v5e = parse_topology("v5e:2x4")
    found = estimate(v5e, 1e6, 1e3, [])
    assert found.seconds == found.dispatch > 1e-5
    assert (found.bound, found.is_shorter_than_latencies) == ("dispatch", True)
    assert estimate(v5e, 1e6, 1e3, [], steps=50).dispatch == pytest.approx(found.dispatch / 50)
    assert not estimate(v5e, 197e12, 1e3, []).is_shorter_than_latencies


def test_what_goes_on_beside_work_takes_no_time_of_its_own_and_for_the_rest_a_chip_waits():
    v5e = parse_topology("v5e:2x4")
    waiting = all_reduce(100e9)
    beside = dataclasses.replace(waiting, overlaps=True)
    computing = estimate(v5e, 197e12, 0, [])
    alone = estimate(v5e, 0, 0, [waiting])
    assert estimate(v5e, 197e12, 0, [waiting]).seconds == pytest.approx(computing.seconds + alone.seconds)
    hidden = estimate(v5e, 197e12, 0, [beside])
    assert hidden.seconds == pytest.approx(max(computing.seconds, alone.seconds))
    assert hidden.hidden == pytest.approx(alone.seconds)
    both = estimate(v5e, 197e12, 0, [beside, waiting])
    assert both.seconds == pytest.approx(alone.seconds + max(computing.seconds, alone.seconds))
    assert both.bound == "links"
