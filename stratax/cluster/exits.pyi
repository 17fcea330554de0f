from ._exit import code_of as code_of
from ._exit import leave as leave
