from ._arrivals import forget as forget
from ._arrivals import is_anything_waiting as is_anything_waiting
from ._arrivals import settle as settle
from ._arrivals import settle_before_run as settle_before_run
from ._arrivals import wait as wait
from ._arrivals import waiting as waiting
