"""Estimators and pipelines of scikit-learn, in memory and from files of skops."""
