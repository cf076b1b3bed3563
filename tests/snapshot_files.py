"""Snapshots as files of their own, so that a reviewer reads them as a user would.

    assert text == snapshot(extension_class=MarkdownFile)

`pytest --snapshot-update` writes them into `__snapshots__/<module>/<test>.<extension>`.
"""

from __future__ import annotations

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class TextFile(SingleFileSnapshotExtension):
    """What a terminal shows."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


class MarkdownFile(TextFile):
    """What GitHub shows."""

    file_extension = "md"


class JsonFile(TextFile):
    """What a program reads."""

    file_extension = "json"


class XmlFile(TextFile):
    """What a CI system reads."""

    file_extension = "xml"
