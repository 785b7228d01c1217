"""Which rows are one input: by ids, by hashes where the user says so, never by their outputs."""
