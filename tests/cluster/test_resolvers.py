"""The TPU resolver, and the calls that every TPU program makes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax.cluster import (
    ClusterResolver,
    SimulatedDevices,
    TPUClusterResolver,
    experimental_connect_to_cluster,
    experimental_connect_to_host,
    initialize_tpu_system,
    shutdown_tpu_system,
)
from stratax.errors import BadArgumentError, BadTypeError, NoTPUError
from tests.cluster import simulated


@pytest.fixture
def as_tpu(monkeypatch):
    """Presents this process's eight CPU devices as a TPU."""
    simulated.replace(monkeypatch, SimulatedDevices(kind="TPU", count=8))


def test_without_a_tpu_it_raises_the_value_error_that_programs_rely_on():
    with pytest.raises(ValueError, match="neither a real nor a simulated one") as caught:
        TPUClusterResolver()
    assert isinstance(caught.value, NoTPUError)
    for call in (initialize_tpu_system, shutdown_tpu_system, TPUClusterResolver.connect):
        with pytest.raises(NoTPUError, match=r"STRATAX_SIMULATE=tpu:8"):
            call()


def test_a_programs_beginning_runs_as_it_stands(as_tpu):
    resolver = TPUClusterResolver(tpu="")
    experimental_connect_to_cluster(resolver)
    experimental_connect_to_host(resolver.master())
    topology = initialize_tpu_system(resolver)
    assert resolver.num_accelerators() == topology.num_accelerators == {"TPU": 8}
    assert resolver.tpu_devices() == jax.devices()


def test_the_resolver_answers_as_tensorflows_does(as_tpu):
    resolver = TPUClusterResolver("local", zone="europe-west4-a", project="mine")
    assert isinstance(resolver, ClusterResolver)
    assert (resolver.tpu, resolver.environment, resolver.get_job_name()) == ("local", "", "worker")
    assert (resolver.task_type, resolver.task_id, resolver.get_master()) == ("worker", 0, "")
    assert resolver.cluster_spec() == {}
    metadata = resolver.get_tpu_system_metadata()
    assert (metadata.num_cores, metadata.num_hosts, metadata.num_of_cores_per_host) == (8, 1, 8)
    assert metadata.devices[-1] == "/job:worker/replica:0/task:0/device:TPU:7"


def test_connect_finds_and_initialises(as_tpu):
    with TPUClusterResolver.connect() as resolver:
        assert resolver.num_accelerators() == {"TPU": 8}


def test_the_topology_of_eight_simulated_cores_is_that_of_one_board(as_tpu):
    topology = initialize_tpu_system()
    assert topology.mesh_shape == (2, 2, 1, 2)
    assert len(set(topology.device_coordinates)) == 8
    assert (topology.num_tasks, topology.num_tpus_per_task) == (1, 8)


def test_initialising_again_keeps_arrays_and_shutting_down_waits_for_the_work(as_tpu):
    resolver = TPUClusterResolver()
    array = jnp.arange(4.0) + 1
    initialize_tpu_system(resolver)
    shutdown_tpu_system(resolver)
    np.testing.assert_array_equal(array, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tpu": 3}, BadTypeError, "tpu must be a string or None.*tpu=3"),
        ({"tpu": "grpc://10.0.0.1:8470"}, BadArgumentError, "own host.*tpu='grpc://10.0.0.1:8470'"),
        ({"coordinator_name": "c"}, BadArgumentError, "coordinator_name has no meaning.*'c'"),
        ({"service": object}, BadArgumentError, "service has no meaning"),
    ],
)
def test_arguments_that_cannot_work_are_refused(as_tpu, arguments, error, message):
    with pytest.raises(error, match=message):
        TPUClusterResolver(**arguments)


def test_calls_refuse_what_is_not_a_resolver(as_tpu):
    with pytest.raises(BadTypeError, match=r"cluster_spec_or_resolver must be a ClusterResolver.*'tpu'"):
        experimental_connect_to_cluster("tpu")
    for call in (initialize_tpu_system, shutdown_tpu_system):
        with pytest.raises(BadTypeError, match=r"must be a TPUClusterResolver.*'tpu'"):
            call("tpu")


def test_connecting_to_another_host_is_refused():
    for local in (None, "", "local", "localhost"):
        experimental_connect_to_host(local)
    with pytest.raises(BadArgumentError, match=r"can't connect to another.*remote_host='10.0.0.1:8470'"):
        experimental_connect_to_host("10.0.0.1:8470")
    with pytest.raises(BadTypeError, match="remote_host must be a string or None.*3"):
        experimental_connect_to_host(3)
