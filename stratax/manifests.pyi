from stratax.command.manifests import *
