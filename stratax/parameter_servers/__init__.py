"""What programs with parameter servers need beside the core, which does not know it (parameter_servers layer)."""
