"""Names become objects: settings in, a report out, an exit code. The one event loop is here."""
