"""The version, which provenance and `--version` tell; pyproject.toml says the same."""

__version__ = "0.1.0"
