"""A comparison of networks as text for the terminal, as Markdown, and as one HTML page."""
