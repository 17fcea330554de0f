"""`tf.distribute.experimental.partitioners` (tf layer)."""

from stratax.distribute import FixedShardsPartitioner as FixedShardsPartitioner
from stratax.distribute import MaxSizePartitioner as MaxSizePartitioner
from stratax.distribute import MinSizePartitioner as MinSizePartitioner
from stratax.distribute import Partitioner as Partitioner
