"""Networks of Keras 3: read in safe mode, cut before the last Dense layer."""
