from ._capture import input_p as input_p
from ._capture import lift_inputs as lift_inputs
from ._checks import raise_failures as raise_failures
from ._program import Program as Program
from ._program import Retrace as Retrace
from ._program import calls_back as calls_back
from ._program import sites_of as sites_of
from ._stream import Stream as Stream
