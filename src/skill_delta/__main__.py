"""`python -m skill_delta` is the `skill-delta` command."""

from skill_delta.cli import main

if __name__ == "__main__":
    main()
