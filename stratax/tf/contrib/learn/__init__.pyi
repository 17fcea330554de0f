from stratax.tensorflow.contrib.learn import *

from . import learn_runner as learn_runner
from . import utils as utils
