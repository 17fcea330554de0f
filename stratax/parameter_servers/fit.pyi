from ._scheduled import ScheduledProgram as ScheduledProgram
from ._worker_input import WorkerInput as WorkerInput
