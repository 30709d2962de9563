"""Which solver fits a problem, what the others lack, which one `auto` takes and when it changes."""
