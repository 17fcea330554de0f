from stratax.v1.logging import *

del get_logger
