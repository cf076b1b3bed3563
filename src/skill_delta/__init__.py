"""The pull-request check for Agent Skills: two arms, a delta, a gate."""

__version__ = "0.1.0"
