"""Parameter servers in this process, for tests."""

import contextlib
import socket

import stratax as sx
from stratax.cluster import ClusterSpec, SimpleClusterResolver, credentials
from stratax.distribute.strategies import ParameterServerStrategy
from stratax.parameter_servers.servers import ShardServer, issue


@contextlib.contextmanager
def running(count):
    """Run servers, and give them with a resolver of a cluster that has a chief besides."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    cluster = ClusterSpec({"chief": ["127.0.0.1:1"], "ps": addresses})
    certificates = issue(credentials(cluster).key)
    servers = [ShardServer(*address.split(":"), certificates) for address in addresses]
    try:
        yield servers, SimpleClusterResolver(cluster, task_type="chief", task_id=0)
    finally:
        for server in servers:
            server.close()


@contextlib.contextmanager
def strategy_on(count, partitioner=None):
    """Give a strategy with so many servers."""
    with running(count) as (servers, resolver):
        strategy = ParameterServerStrategy(resolver, partitioner)
        strategy.servers_of_test = servers
        try:
            yield strategy
        finally:
            strategy.close()


def one_device():
    """Give the strategy whose results are to be the same."""
    return sx.distribute.OneDeviceStrategy("/cpu:0")
