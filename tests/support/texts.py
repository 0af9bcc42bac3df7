"""Texts on which tokenizers differ."""

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
