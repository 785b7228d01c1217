"""infimum inside other tools; each is imported only where it is used."""
