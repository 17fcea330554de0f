from ._context import get_step as get_step
from ._context import set_step as set_step
from ._context import summary_scope as summary_scope
