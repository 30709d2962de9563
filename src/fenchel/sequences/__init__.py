"""Features of sequences (attributes, templates) and the metrics of their labels."""
