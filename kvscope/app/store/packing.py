"""Compresses frames for the database, each separately and without loss, so that damage to one leaves the others.

Measured on the frames of a run of 64 + 64 tokens of SmolLM2-135M (3.0 MB, 1.96 million attention weights inside the
causal mask). Bytes per such weight, for the attention alone, by the change made to it before compression:

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

The weights are nearly random: the entropy of one weight alone is 0.677 bytes, and 0.55 bytes if the same cell of the
query before is known. All steps of a run in one piece, one head at a time, take 0.567 with LZMA and 0.558 with JPEG XL
(its highest effort), but then one flipped bit damages every step. No method reached 0.5. On whole frames Zstandard is
within 13 % of LZMA and more than 10 times as fast both ways, and a link is opened more often than it is created.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 3
WINDOW_LOG = 17
"""Twice the largest frame: the memory that a reader needs (2^17 bytes)."""


class NotPacked(ValueError):
    """The bytes do not unpack to a payload of the expected size."""


def pack(payload: bytes) -> bytes:
    """Returns the payload as one Zstandard frame (RFC 8878)."""
    return zstd.compress(payload, LEVEL)


def unpack(packed: bytes, size: int) -> bytes:
    """Returns the packed payload of `size` bytes. Unpacks at most one byte more. Raises NotPacked."""
    reader = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})
    try:
        payload = reader.decompress(packed, max_length=size + 1)
    except zstd.ZstdError as error:
        raise NotPacked(str(error)) from None
    if len(payload) != size or not reader.eof or reader.unused_data:
        raise NotPacked(f"{len(payload)} bytes in place of {size}")
    return payload
