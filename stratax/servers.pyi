from stratax.parameter_servers.servers import *
