"""`tf.contrib.learn`: experiments of Estimators (tf layer)."""

from stratax.tensorflow.contrib.learn import *

from . import datasets as datasets
from . import io as io
from . import learn_runner as learn_runner
from . import preprocessing as preprocessing
from . import utils as utils
