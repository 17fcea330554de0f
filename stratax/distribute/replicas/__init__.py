"""What code inside and around a replica sees: contexts, values per replica, and variables while replicas compute."""
