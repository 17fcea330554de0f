from stratax.command.serving import *
