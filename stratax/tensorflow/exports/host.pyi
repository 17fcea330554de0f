from ._host_plan import CallPlan as CallPlan
from ._host_value import RecordedValue as RecordedValue
from ._program_arguments import HostArguments as HostArguments
from ._record import HostRecorder as HostRecorder
from ._run_plan import check_plan as check_plan
from ._run_plan import run as run
