"""The paper's study: four data sets, twelve networks, metrics M1–M4 and Table I (METHOD §6)."""
