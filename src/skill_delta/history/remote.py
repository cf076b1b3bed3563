"""What a clone lacks, fetched from where it came from, into a store that is thrown away."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dulwich.object_store import DiskObjectStore, ObjectStoreGraphWalker
from dulwich.objects import ObjectID
from dulwich.refs import Ref

from skill_delta.deadline import within
from skill_delta.history.repository import COMMIT, Unreadable

if TYPE_CHECKING:
    from dulwich.client import HttpGitClient
    from dulwich.object_format import ObjectFormat
    from dulwich.pack import Pack

FIRST_DEPTH = 50
"""How many commits of history are fetched the first time some are missing."""
GROWTH = 4
"""How many times more each time after: a long history takes few requests."""
MOST_FAILURES = 3
"""After so many refusals nothing more is asked for: each costs seconds."""
SECONDS = 60.0
"""How long the server may say nothing."""
ANSWER_SECONDS = 600.0
"""How long one whole answer may take: a server that drips would keep a job for hours."""


class Remote:
    """Fetches objects over HTTP(S) from a git server into `folder`, and nowhere else.

    The first commit asked for comes with all of its files: it is the base of the comparison. The
    history behind it comes without them (`blob:none`), as far back as it is walked; of its files
    those that are read are fetched one by one, or together where it is known which.
    """

    def __init__(self, url: str, token: str, folder: Path) -> None:
        """`token` may be blank. Nothing is asked before the first object is missing."""
        self._url = url
        self._token = token
        self._folder = folder
        self._failures = 0
        self._depth = 1
        self._client: tuple[HttpGitClient, str] | None = None
        self._store: DiskObjectStore | None = None

    def fetch(
        self, oids: Sequence[bytes], kind: int, have: bytes | None, object_format: ObjectFormat
    ) -> Sequence[Pack]:
        """The packs that now hold the objects. Raises `Unreadable`, with what the server said.

        `have` is a commit of the clone whose files need not come again.
        """
        if self._failures >= MOST_FAILURES:
            raise Unreadable(
                "what is missing could not be fetched before, and is not asked for again"
            )
        try:
            packs = within(ANSWER_SECONDS, lambda: self._fetch(oids, kind, have, object_format))
        except TimeoutError as error:
            self._failures = MOST_FAILURES
            raise Unreadable(f"it could not be fetched: {error}") from None
        except Exception as error:  # noqa: BLE001 - a server may say anything, dulwich raises it all
            self._failures += 1
            raise Unreadable(f"it could not be fetched: {_said(error, self._token)}") from None
        self._failures = 0
        return packs

    def _fetch(
        self, oids: Sequence[bytes], kind: int, have: bytes | None, object_format: ObjectFormat
    ) -> Sequence[Pack]:
        client, path = self._opened()
        store = self._opened_store(object_format)
        wanted = [_name(oid) for oid in oids]
        first = kind == COMMIT and self._depth == 1
        haves = [_name(have)] if have is not None and first else []
        walker = ObjectStoreGraphWalker(haves, lambda _: [], shallow=set(haves))
        file, commit, abort = store.add_pack()
        try:
            client.fetch_pack(
                path,
                lambda refs, depth=None: wanted,  # noqa: ARG005 - whatever it has, we know what we want
                walker,
                file.write,
                depth=self._depth if kind == COMMIT else None,
                filter_spec=None if first else b"blob:none",
            )
        except BaseException:
            abort()
            raise
        pack = commit()
        if kind == COMMIT:
            self._depth = FIRST_DEPTH if first else self._depth * GROWTH
        return [pack] if pack is not None else []

    def close(self) -> None:
        """Let go of what was fetched; whoever made the folder removes it."""
        if self._client is not None:
            self._client[0].pool_manager.clear()
        if self._store is not None:
            self._store.close()

    def tip(self, ref: bytes) -> bytes | None:
        """What the server's ref names; None where it has none of the name. Raises `Unreadable`."""
        client, path = self._opened()
        try:
            refs = within(ANSWER_SECONDS, lambda: client.get_refs(path.encode()).refs)
        except Exception as error:  # noqa: BLE001 - as above
            raise Unreadable(f"{self._url} cannot be asked: {_said(error, self._token)}") from None
        found = refs.get(Ref(ref))
        return bytes.fromhex(found.decode()) if found else None

    def _opened_store(self, object_format: ObjectFormat) -> DiskObjectStore:
        if self._store is None:
            objects = self._folder / "objects"
            (objects / "pack").mkdir(parents=True)
            self._store = DiskObjectStore(objects, object_format=object_format)
        return self._store

    def _opened(self) -> tuple[HttpGitClient, str]:
        if self._client is None:
            from dulwich.client import HttpGitClient  # noqa: PLC0415 - few clones lack anything

            # What it has to say reaches us as an error, or is none of a reader's business.
            logging.getLogger("dulwich").addHandler(logging.NullHandler())

            base, _, path = self._url.rpartition("/")
            client = HttpGitClient(
                f"{base}/",
                timeout=SECONDS,
                thin_packs=False,
                quiet=True,
                username="x-access-token" if self._token else None,
                password=self._token or None,
            )
            self._client = client, path
        return self._client


def _name(oid: bytes) -> ObjectID:
    return ObjectID(oid.hex().encode())


def _said(error: Exception, token: str) -> str:
    """What went wrong in one line, without the token."""
    text = re.sub(r"\s+", " ", str(error)) or type(error).__name__
    return (text.replace(token, "(redacted)") if token else text)[:300]
