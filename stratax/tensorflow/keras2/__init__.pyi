from ._methods import install as install
from ._methods import install_training as install_training
