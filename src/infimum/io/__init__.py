"""Files of every kind: read with care, written beside their place and renamed. They know arrays and records only."""
