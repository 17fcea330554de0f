from ._cluster import DEFAULT_SECONDS as DEFAULT_SECONDS
from ._phases import note_step_dispatched as note_step_dispatched
from ._phases import waiting as waiting
