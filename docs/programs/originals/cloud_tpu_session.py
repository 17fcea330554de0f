import tensorflow as tf
tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(tpu)
tf.tpu.experimental.initialize_tpu_system(tpu)
devices = tf.config.list_logical_devices('TPU')
devices
tf.random.set_seed(42)
x = tf.random.normal(shape=(2, 3))
y = tf.random.normal(shape=(3, 2))
with tf.device(devices[0]):
     z = tf.matmul(x, y)
z
tf.tpu.experimental.initialize_tpu_system(tpu)
strategy = tf.distribute.TPUStrategy(tpu)
@tf.function
def matmul_fn(x, y):
  """行列の積を計算する関数"""
  z = tf.matmul(x, y)
  return z

zs = strategy.run(matmul_fn, args=(x, y))
zs
range_dataset = tf.data.Dataset.range(16)
list(range_dataset.as_numpy_iterator())
batch_size = 1 * strategy.num_replicas_in_sync
batch_dataset = range_dataset.batch(batch_size)
list(batch_dataset.as_numpy_iterator())
dist_dataset = strategy.experimental_distribute_dataset(batch_dataset)
dist_dataset
ite = iter(dist_dataset)
x = next(ite)
x
@tf.function
def double_fn(x):
    """引数を 2 倍する関数"""
    return x * 2

for x in dist_dataset:
    result = strategy.run(double_fn, args=(x, ))
    print(result)
