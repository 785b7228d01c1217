"""An assessment as text for the terminal and as Markdown."""
