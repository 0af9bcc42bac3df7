"""Texts on which tokenizers differ."""

import random
import unicodedata

ASSIGNED = [code for code in range(0x30000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
"""Code points of characters; not those that a later version of Unicode may assign, nor surrogates."""
TEXTS = [
    "",
    " ",
    "   ",
    "\n\n\t  x \n",
    "Hello world",
    "The animal didn't cross the street because it was too tired.",
    "a1234567890b 12 345 3.14159 1 000 000",
    "def f(x):\n    return x ** 2  # naïve\n\n",
    "日本語のテキスト と 漢字",
    "Привет, мир! مرحبا بالعالم नमस्ते",
    "👍🏽 and 👨‍👩‍👧 and 🏳️‍🌈",
    "e\u0301 vs é, \u00a0no-break\u2003em space\u200bzero width",
    "<|im_start|>user\nhi<|im_end|>\n",
    "<|im_end|",
    "<|im_end|><|im_end|> <|endoftext|>x<repo_name>y",
    "x" * 300,
]

PIECES = [
    *("the", "The", " and", "ing", "Don't", "I'LL", "we've", "1984", "3.14", "²", "½", "٣"),
    *("Ⅷ", "_id", "x_1", "()", "{}", "=>", "!==", "://", "…", "—", "«", "日本語", "汉字", "한국어"),
    *("مرحبا", "עברית", "नमस्ते", "ไทย", "Ж", "ß", "ǅ", "ﬁ", "İ", "é", "e\u0301"),
    *("\u1e9b\u0323", "😀", "👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👍🏽", "\u200d", "\ufe0f"),
    *("\u200b", "\ufeff", "\ufffd", "\U00040000", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n"),
    *("\xa0", "\u2003", "\u3000", "\x85", "\u2028", "\x00", "\x07", "\x1b", "\x7f"),
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_end|", "</s>", "<s>", "<0x41>", "▁"),
    *("Ġ", "Ċ", "'", "''", "a", "b", "A", "Z", "0", "9", ".", ",", "!", "?", "-", "\\", '"'),
    *("`", "~", "$", "^", "|", "(", ")", "[", "]", "{", "}"),
]
"""Parts of texts: words, code, scripts, digits, spaces, control characters and names of tokens."""


def mixed_texts(count: int) -> list[str]:
    """Texts of up to 30 `PIECES`, and of characters from everywhere; the same each time."""
    chance = random.Random(44)
    mixed = ["".join(chance.choices(PIECES, k=chance.randint(1, 30))) for _ in range(count)]
    return [*mixed, *("".join(map(chr, chance.choices(ASSIGNED, k=20))) for _ in range(count // 4))]
