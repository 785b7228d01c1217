"""Certificates from labelled rows: what they show, what they cost, and which rows to label."""
