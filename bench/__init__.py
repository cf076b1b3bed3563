"""Speed, memory and scale, each next to a reference that is measured in the same run.

`python -m bench` prints one table and asserts nothing; `python -m bench history` measures one
group. It needs `git` and a POSIX system, and leaves nothing behind.

What is measured runs in processes of its own, from `bench/probes/` where it is not the command
itself. Nothing else here imports the package: Linux counts the memory of the process that starts
another as the other's own peak, so this one has to stay small.
"""
