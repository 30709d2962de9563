"""Files that are written whole or not at all, and the container in which models and checkpoints are kept."""
