"""First steps on a TPU, from the article on Cloud TPU at CUBE SUGAR CONTAINER; what it types at a prompt is printed.

Run it with: python examples/cloud_tpu_session.py --strategy tpu --simulate tpu:8
"""

# The lines are those of the original, so its layout and style stay: see docs/programs/.
# fmt: off
# ruff: noqa: D415, I001
from pprint import pprint

import stratax.tf as tf

import command_line

options = command_line.parse(__doc__, strategy='tpu')
if options.strategy == 'tpu':
     tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
     tf.config.experimental_connect_to_cluster(tpu)
     tf.tpu.experimental.initialize_tpu_system(tpu)
devices = tf.config.list_logical_devices(options.device_type)
pprint(devices)
tf.random.set_seed(42)
x = tf.random.normal(shape=(2, 3))
y = tf.random.normal(shape=(3, 2))
with tf.device(devices[0]):
     z = tf.matmul(x, y)
print(z)
if options.strategy == 'tpu':
     tf.tpu.experimental.initialize_tpu_system(tpu)
strategy = options.make_strategy()
@tf.function
def matmul_fn(x, y):
  """The product of two matrices"""
  z = tf.matmul(x, y)
  return z

zs = strategy.run(matmul_fn, args=(x, y))
print(zs)
range_dataset = tf.data.Dataset.range(16)
print(list(range_dataset.as_numpy_iterator()))
batch_size = 1 * strategy.num_replicas_in_sync
batch_dataset = range_dataset.batch(batch_size)
print(list(batch_dataset.as_numpy_iterator()))
dist_dataset = strategy.experimental_distribute_dataset(batch_dataset)
print(dist_dataset)
ite = iter(dist_dataset)
x = next(ite)
print(x)
@tf.function
def double_fn(x):
    """Twice the argument"""
    return x * 2

for x in dist_dataset:
    result = strategy.run(double_fn, args=(x, ))
    print(result)
