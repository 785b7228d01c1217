"""The paper's study: four data sets, twelve networks, metrics M1–M4 and Table I (docs/method.md §6)."""
