from ._install import install as install
from ._joined import joined as joined
