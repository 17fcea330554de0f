from ._exit import at_end as at_end
from ._exit import before_leaving as before_leaving
from ._exit import code_of as code_of
from ._exit import forget_before_leaving as forget_before_leaving
from ._exit import leave as leave
