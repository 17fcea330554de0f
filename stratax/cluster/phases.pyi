from ._cluster import DEFAULT_SECONDS as DEFAULT_SECONDS
from ._phases import step_dispatched as step_dispatched
from ._phases import waiting as waiting
