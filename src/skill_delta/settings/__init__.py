"""Every choice of a run, checked once: flag over config file over default."""
