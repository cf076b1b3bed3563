"""Run records: every finished trial on a line of its own, so that nothing paid for is lost."""
