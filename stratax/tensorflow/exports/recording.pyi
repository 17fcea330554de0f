from stratax.export.parts import write as write

from ._record import HostRecorder as HostRecorder
from ._record import RecordedValue as RecordedValue
from ._record import blank_trace as blank_trace
from ._record import current_recorder as current_recorder
