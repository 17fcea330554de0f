from stratax.command.rehearsal import *
