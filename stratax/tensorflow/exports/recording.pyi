from stratax.export.parts import write as write

from ._host_value import RecordedValue as RecordedValue
from ._host_value import info_of as info_of
from ._record import HostRecorder as HostRecorder
from ._record import blank_trace as blank_trace
from ._record import current_recorder as current_recorder
