from ._cluster import DEFAULT_SECONDS as DEFAULT_SECONDS
from ._phases import note_step_dispatched as note_step_dispatched
from ._phases import waiting as waiting
from ._start import START_SECONDS as START_SECONDS
from ._start import START_VARIABLE as START_VARIABLE
from ._start import start_seconds as start_seconds
