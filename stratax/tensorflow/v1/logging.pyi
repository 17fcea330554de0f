import stratax.tensorflow.v1._logging

from ._logging import DEBUG as DEBUG
from ._logging import ERROR as ERROR
from ._logging import FATAL as FATAL
from ._logging import INFO as INFO
from ._logging import WARN as WARN
from ._logging import debug as debug
from ._logging import error as error
from ._logging import fatal as fatal
from ._logging import get_logger as get_logger
from ._logging import get_verbosity as get_verbosity
from ._logging import info as info
from ._logging import log as log
from ._logging import log_if as log_if
from ._logging import set_verbosity as set_verbosity
from ._logging import warning as warning

warn = stratax.tensorflow.v1._logging.warning
