"""How a trial is driven from its task to a transcript: by a bare model, or by an agent."""
