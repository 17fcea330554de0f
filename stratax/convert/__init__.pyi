from stratax.command.convert import *
