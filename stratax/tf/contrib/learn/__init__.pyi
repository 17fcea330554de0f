from stratax.tensorflow.contrib.learn import *

from . import datasets as datasets
from . import learn_runner as learn_runner
from . import utils as utils
