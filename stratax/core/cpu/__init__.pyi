from ._install import install as install
from ._joined import joined as joined
from ._runs import few_runs as few_runs
