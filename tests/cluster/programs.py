"""Programs that the tests of a cluster run in every task."""

CONNECT = """\
from stratax.cluster import TFConfigClusterResolver, connect, current, phase
cluster = connect(TFConfigClusterResolver(), timeout=100, **(json.loads(os.environ.get("TEST_LIMITS", "{}"))))
"""

TRAIN = (
    CONNECT
    + """
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
mesh = Mesh(np.array(jax.devices()), ("replica",))
add = jax.jit(jax.shard_map(
    lambda x: jax.lax.psum(x, "replica"), mesh=mesh, in_specs=PartitionSpec("replica"), out_specs=PartitionSpec()))
ones = jax.make_array_from_process_local_data(
    NamedSharding(mesh, PartitionSpec("replica")), np.ones((jax.local_device_count(), 4), np.float32))
with phase("compiling"):
    add(ones).block_until_ready()
def wait_until_heard(index, step=None):
    '''Waits until all tasks have heard that one has begun a step: this one, or any.'''
    deadline = time.monotonic() + 60
    # There are no heartbeats at all before the first ones have come.
    while not (beats := cluster._link._heartbeats) or (last := beats[index].last_step) is None or last < (step or 0):
        assert time.monotonic() < deadline, f"what is known is {beats}"
        time.sleep(0.01)
def train(steps, at_step=lambda step: None):
    for step in range(steps):
        at_step(step)
        with phase("step", step=step):
            add(ones).block_until_ready()
        if step == 5:
            print("TRAINING", flush=True)
        time.sleep(0.01)
"""
)
