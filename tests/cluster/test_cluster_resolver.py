"""The resolver that is told its answers."""

import pytest

from stratax.cluster import ClusterResolver, ClusterSpec, SimpleClusterResolver
from stratax.errors import BadTypeError

SPEC = ClusterSpec({"worker": ["a:1", "b:1"]})


def test_it_answers_what_it_was_told():
    resolver = SimpleClusterResolver(
        SPEC, "local", "worker", 1, environment="mine", num_accelerators={"GPU": 2}, rpc_layer="grpc"
    )
    assert isinstance(resolver, ClusterResolver)
    assert (resolver.cluster_spec(), resolver.task_type, resolver.task_id) == (SPEC, "worker", 1)
    assert (resolver.environment, resolver.rpc_layer) == ("mine", "grpc")
    assert (resolver.master(), resolver.master("worker", 0), resolver.master("worker", 0, "http")) == (
        "grpc://local",
        "grpc://a:1",
        "http://a:1",
    )
    assert resolver.num_accelerators() == {"GPU": 2}


def test_the_defaults_are_tensorflows():
    resolver = SimpleClusterResolver({"worker": ["a:1"]})
    assert (resolver.master(), resolver.task_type, resolver.task_id, resolver.environment) == (
        "",
        None,
        None,
        "",
    )
    assert resolver.num_accelerators() == {}


def test_what_is_no_cluster_or_address_is_refused():
    with pytest.raises(BadTypeError, match="must be a dictionary.*cluster='a:1'"):
        SimpleClusterResolver("a:1")
    with pytest.raises(BadTypeError, match="master must be a string.*master=3"):
        SimpleClusterResolver(SPEC, 3)
