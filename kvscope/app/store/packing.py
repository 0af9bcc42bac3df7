"""How frames are kept in the database: compressed one by one, without loss, so that damage to one leaves the others.

Tried on the frames of a run of 64 + 64 tokens of SmolLM2-135M (3.0 MB, 1.96 million attention weights that a causal
mask leaves). Bytes per such weight, of the attention alone, by what was done to a frame's attention before:

=================================  =====  =====  =====  =========
before                             zlib   zstd   LZMA   brotli 11
=================================  =====  =====  =====  =========
nothing                            0.699  0.682  0.632  0.639
masked cells left out              0.680  0.666  0.622  0.631
keys before queries                0.700  0.685  0.626  0.634
difference to the row before       0.696  0.676  0.633  0.639
difference to the key before       0.752  0.726  0.682  0.677
difference to the head before      0.764  0.745  0.690  0.695
difference to the layer before     0.789  0.771  0.745  0.742
=================================  =====  =====  =====  =========

The weights are as good as noise: each by itself has 0.677 bytes of entropy. To know the same cell of the query before
would leave 0.55; all steps of a run in one piece, a head at a time, come to 0.567 with LZMA and 0.558 with JPEG XL (its
highest effort). But then one flipped bit takes every step with it. 0.5 was reached by nothing. On whole frames
Zstandard is within 13 % of LZMA at more than 10 times its speed both ways, and a link is opened more often than it is
made.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 3
WINDOW_LOG = 17
"""Twice the greatest frame: what a reader is asked to hold."""


class NotPacked(ValueError):
    """Bytes that do not unpack to what they should."""


def pack(payload: bytes) -> bytes:
    """The payload as one Zstandard frame (RFC 8878)."""
    return zstd.compress(payload, LEVEL)


def unpack(packed: bytes, size: int) -> bytes:
    """The payload of `size` bytes that was packed. Never makes more than that. Raises NotPacked."""
    reader = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
    try:
        payload = reader.decompress(packed, max_length=size + 1)
    except zstd.ZstdError as error:
        raise NotPacked(str(error)) from None
    if len(payload) != size or not reader.eof or reader.unused_data:
        raise NotPacked(f"{len(payload)} bytes in place of {size}")
    return payload
