from keras import *

from . import estimator as estimator
