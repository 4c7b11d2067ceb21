"""Name/value blocks: compressed header fields (SPDY draft 3.1, 2.6.10).

Rules:
1. Each direction has a single zlib stream for the whole session. So all blocks must be unpacked, in order.
2. The unpacked size of a block is limited. A block that is too large, cannot be unpacked or is not valid raises Breach.
"""

import zlib
from collections.abc import Mapping

from priolab.client.spdy.frames import Breach

# The zlib dictionary of name/value blocks: both ends compress and decompress as if this text preceded their stream.
#
# The dictionary is a constant of SPDY/3 (draft 3.1, 2.6.10.1). It begins with words, and each word is preceded by
# its length, as in a block. Plain text follows.
_WORDS = (
    *("options", "head", "post", "put", "delete", "trace"),
    *("accept", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "age", "allow"),
    *("authorization", "cache-control", "connection", "content-base", "content-encoding", "content-language"),
    *("content-length", "content-location", "content-md5", "content-range", "content-type", "date", "etag", "expect"),
    *("expires", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"),
    *("last-modified", "location", "max-forwards", "pragma", "proxy-authenticate", "proxy-authorization", "range"),
    *("referer", "retry-after", "server", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary"),
    *("via", "warning", "www-authenticate", "method", "get", "status", "200 OK", "version", "HTTP/1.1", "url"),
    *("public", "set-cookie", "keep-alive", "origin"),
)

_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)

DICTIONARY = b"".join(len(word).to_bytes(4) + word.encode() for word in _WORDS) + _TEXT.encode()
"""The dictionary: 1423 bytes, Adler-32 0xe3c6a7c2."""


_MOST_BYTES = 64 * 1024
"""The most bytes of an unpacked block. The limit is needed because a megabyte of equal bytes packs to a kilobyte."""


class BlockWriter:
    """Compresses the name/value blocks of one direction, all in one zlib stream."""

    def __init__(self) -> None:
        self._deflater = zlib.compressobj(zdict=DICTIONARY)

    def pack(self, fields: Mapping[str, str]) -> bytes:
        """Packs fields into a block; names must be lower-case."""
        words = [word.encode("ascii") for pair in fields.items() for word in pair]
        block = len(fields).to_bytes(4) + b"".join(len(word).to_bytes(4) + word for word in words)
        return self._deflater.compress(block) + self._deflater.flush(zlib.Z_SYNC_FLUSH)


class BlockReader:
    """Decompresses the name/value blocks of one direction, all from one zlib stream."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(zdict=DICTIONARY)

    def unpack(self, packed: bytes) -> dict[str, str]:
        """Unpacks the next block into fields. NUL bytes separate several values of a field. Raises Breach."""
        try:
            block = self._inflater.decompress(packed, _MOST_BYTES + 1)
        except zlib.error as error:
            raise Breach(f"a header block that cannot be unpacked ({error})") from error
        if len(block) > _MOST_BYTES:
            raise Breach(f"a header block of more than {_MOST_BYTES} bytes")
        if self._inflater.eof:
            raise Breach("a header block that ends the zlib stream")
        words = _Words(block)
        fields: dict[str, str] = {}
        for _ in range(words.number()):
            name, value = words.word(), words.word()
            if not name or name != name.lower() or name in fields:
                raise Breach(f"a header block with the name {name!r}, which is empty, upper-case, or repeated")
            fields[name] = value
        words.check_end()
        return fields


class _Words:
    def __init__(self, block: bytes) -> None:
        self._rest = memoryview(block)

    def number(self) -> int:
        return int.from_bytes(self._take(4))

    def word(self) -> str:
        return str(self._take(self.number()), "latin-1")

    def check_end(self) -> None:
        if self._rest:
            raise Breach(f"a header block with {len(self._rest)} bytes too many")

    def _take(self, size: int) -> memoryview:
        if size > len(self._rest):
            raise Breach("a header block that ends too early")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
