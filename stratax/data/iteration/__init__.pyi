from ._iterator import DatasetIterator as DatasetIterator
from ._iterator import Epochs as Epochs
from ._iterator import fingerprint as fingerprint
from ._iterator import orders_of as orders_of
from ._stream_elements import tracing_region as tracing_region
