"""`tf.queue`: queues of graphs that sessions run (tf layer)."""

from stratax.tensorflow.graph._queues import FIFOQueue as FIFOQueue
from stratax.tensorflow.graph._queues import PaddingFIFOQueue as PaddingFIFOQueue
from stratax.tensorflow.graph._queues import QueueBase as QueueBase
from stratax.tensorflow.graph._queues import RandomShuffleQueue as RandomShuffleQueue
