from stratax.tf import *

del summary
from . import losses as losses  # noqa: E402
from . import metrics as metrics  # noqa: E402
from . import summary as summary  # type: ignore[no-redef] # noqa: E402
