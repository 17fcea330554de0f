"""`tensorflow.examples.tutorials.mnist.mnist`: the tutorial's network (tf layer)."""

from stratax.tensorflow.contrib._mnist_model import IMAGE_PIXELS as IMAGE_PIXELS
from stratax.tensorflow.contrib._mnist_model import IMAGE_SIZE as IMAGE_SIZE
from stratax.tensorflow.contrib._mnist_model import NUM_CLASSES as NUM_CLASSES
from stratax.tensorflow.contrib._mnist_model import evaluation as evaluation
from stratax.tensorflow.contrib._mnist_model import inference as inference
from stratax.tensorflow.contrib._mnist_model import loss as loss
from stratax.tensorflow.contrib._mnist_model import training as training
