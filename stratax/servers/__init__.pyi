from ._certificates import Certificates as Certificates
from ._certificates import issue as issue
from ._connection import Connection as Connection
from ._deadlines import Deadlines as Deadlines
from ._server import ShardServer as ShardServer
from ._shards import Shards as Shards
