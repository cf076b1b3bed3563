"""The files in which git keeps a repository, handed to dulwich only where they are regular ones."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from pathlib import Path

from dulwich.config import ConfigFile
from dulwich.errors import FileFormatException
from dulwich.object_format import SHA1, SHA256, ObjectFormat
from dulwich.objects import ObjectID
from dulwich.refs import DiskRefsContainer, Ref, RefsContainer
from dulwich.reftable import ReftableRefsContainer

from skill_delta.history.layout import GitFolders
from skill_delta.regular_files import is_regular, open_followed, refuse_special

_KINDS = (b"commit", b"tree", b"blob", b"tag")
_OPENED_IN_PACK = (".pack", ".idx", "multi-pack-index")
_LARGEST_OBJECT = 512 * 1024 * 1024
"""In bytes, packed and unpacked: a small file may unpack to what no memory holds."""
_MOST_ALTERNATES = 100
"""How many object folders one repository borrows from; git itself goes five deep."""


def read_config(common: Path) -> ConfigFile:
    """The repository's own settings, without what they include; none where they are damaged."""
    try:
        return ConfigFile.from_path(
            common / "config",
            expand_includes=False,
            file_opener=lambda path: open_followed(Path(os.fsdecode(path))),
        )
    except (OSError, ValueError, RecursionError):
        return ConfigFile()


def object_format(config: ConfigFile) -> ObjectFormat:
    """How long ids are, and what they are made with."""
    try:
        return SHA256 if config.get(b"extensions", b"objectformat") == b"sha256" else SHA1
    except KeyError:
        return SHA1


def uses_commit_graph(config: ConfigFile) -> bool:
    """Whether git would read a commit-graph here, where there is one."""
    try:
        refused = config.get(b"core", b"commitgraph").lower() in (
            b"false",
            b"no",
            b"off",
            b"0",
            b"",
        )
    except KeyError:
        refused = False
    return not refused and object_format(config) is SHA1


def open_refs(config: ConfigFile, folders: GitFolders) -> list[RefsContainer]:
    """Where branches and tags are looked up, in this order. Raises `OSError` for special files."""
    try:
        is_reftable = config.get(b"extensions", b"refstorage") == b"reftable"
    except KeyError:
        is_reftable = False
    if not is_reftable:
        refuse_special(folders.common / "packed-refs")
        return [_RegularRefs(folders.common, folders.git)]
    places = [folder / "reftable" for folder in dict.fromkeys([folders.git, folders.common])]
    # dulwich would create the folder where it is missing, and we write nothing.
    found = [place for place in places if place.is_dir()]
    for table in (table for place in found for table in place.iterdir()):
        refuse_special(table)
    return [ReftableRefsContainer(os.fspath(place.parent)) for place in found]


class _RegularRefs(DiskRefsContainer):
    """Refs in files, none of which is waited for."""

    def read_loose_ref(self, name: Ref) -> bytes | None:
        path = Path(os.fsdecode(self.refpath(name)))
        return super().read_loose_ref(name) if is_regular(path) else None

    def get_packed_refs(self) -> dict[Ref, ObjectID]:
        try:
            return super().get_packed_refs()
        except StopIteration:
            return {}  # an empty file, which git takes as well
        except (FileFormatException, ValueError):
            # Its text is not shown: it may be anything, also behind a link.
            raise OSError(0, "packed-refs is damaged") from None


def object_folders(objects: Path) -> tuple[Path, ...]:
    """The folder that holds a repository's objects, and those that it borrows from.

    Raises `OSError` where one of their packs, or a list of where to borrow from, is no regular
    file, or where there are too many of them.
    """
    found: dict[Path, None] = {}
    pending = [objects]
    while pending:
        folder = pending.pop()
        if folder in found:
            continue
        if len(found) > _MOST_ALTERNATES:
            raise OSError(0, f"it borrows objects from more than {_MOST_ALTERNATES} folders")
        found[folder] = None
        _refuse_special_packs(folder / "pack")
        pending += _alternates(folder)
    return tuple(found)


def _refuse_special_packs(folder: Path) -> None:
    if folder.is_dir():
        for path in folder.iterdir():
            if path.name.endswith(_OPENED_IN_PACK):
                refuse_special(path)


def _alternates(objects: Path) -> list[Path]:
    listed = objects / "info" / "alternates"
    refuse_special(listed)
    try:
        with open_followed(listed) as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    names = [os.fsdecode(line) for line in lines if line and not line.startswith(b"#")]
    return [Path(os.path.normpath(objects / name)) for name in names]


def loose_object(folders: tuple[Path, ...], oid: bytes) -> tuple[int, bytes] | None:
    """The kind and the bytes of an object that has a file of its own; None where none has.

    It is not parsed: dulwich would refuse a commit of a date that git takes. Raises `OSError`,
    `ValueError` and `zlib.error` for a file that is damaged or no regular one.
    """
    name = oid.hex()
    for folder in folders:
        path = folder / name[:2] / name[2:]
        try:
            with open_followed(path) as file:
                raw = zlib.decompressobj().decompress(file.read(_LARGEST_OBJECT), _LARGEST_OBJECT)
        except (FileNotFoundError, NotADirectoryError):
            continue
        header, _, content = raw.partition(b"\0")
        kind, _, size = header.partition(b" ")
        if kind not in _KINDS or size != b"%d" % len(content):
            raise ValueError("it is cut short, or no object at all")
        return _KINDS.index(kind) + 1, content
    return None


def listed_ids(path: Path) -> Mapping[bytes, tuple[bytes, ...]]:
    """The commits a file of the git folder lists, each with the parents written after it."""
    try:
        with open_followed(path) as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    ids = [[raw_id(word) for word in line.split()] for line in lines if line[:1] != b"#"]
    rows = [tuple(oid for oid in row if oid is not None) for row in ids]
    return {row[0]: row[1:] for row in rows if row}


def raw_id(hexadecimal: bytes) -> bytes | None:
    """The bytes of an id; None where it is none."""
    try:
        return bytes.fromhex(hexadecimal.decode())
    except ValueError:
        return None
