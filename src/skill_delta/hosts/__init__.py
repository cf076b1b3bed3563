"""Whom a run talks to: a terminal, a log, a code host."""
