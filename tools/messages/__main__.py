"""`python -m tools.messages`: writes the texts to translate into the catalogues of static/languages/.

It writes the pseudo-language `xx` anew: English with accents and a third longer, which shows text that does not fit and
text that nobody could translate. Any other catalogue keeps its translations, loses unused messages and gets new ones,
empty. Begin a language with its tag: `python -m tools.messages de`.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from tools.messages.collect import Messages, collect

LANGUAGES = Path(__file__).resolve().parents[2] / "kvscope" / "static" / "languages"
PSEUDO = "xx"
ACCENTS = str.maketrans("aceinorsuyACEINORSUY", "áçéíñóřšúýÁÇÉÍÑÓŘŠÚÝ")
WORD = re.compile(r"[A-Za-z]+")
NO_LANGUAGE = re.compile(r"(\{\w+\}|%\(\w+\)s|%%|<[^>]*>)")
"""Placeholders and elements, which stay as they are."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.messages", description=__doc__.splitlines()[0])
    parser.add_argument("language", nargs="?", help="BCP 47 tag of a language to begin, such as de")
    wanted = parser.parse_args().language
    messages = collect()
    others = {path.stem for path in LANGUAGES.glob("*.json")} | ({wanted} if wanted else set())
    for language in sorted(others | {PSEUDO}):
        write(language, renewed(language, messages))


def renewed(language: str, messages: Messages) -> dict[str, Any]:
    """Returns the catalogue of a language for these messages."""
    if language == PSEUDO:
        return {
            key: pseudo(key) if other is None else {"one": pseudo(key), "other": pseudo(other)}
            for key, other in messages.items()
        }
    path = LANGUAGES / f"{language}.json"
    known = json.loads(path.read_text("utf-8"))["messages"] if path.exists() else {}
    return {key: known.get(key, {"one": "", "other": ""} if other else "") for key, other in messages.items()}


def write(language: str, translations: dict[str, Any]) -> None:
    found = {"language": language, "messages": translations}
    text = json.dumps(found, ensure_ascii=False, indent=2) + "\n"
    (LANGUAGES / f"{language}.json").write_text(text, "utf-8")


def pseudo(text: str) -> str:
    """Returns English with accents, each word a third longer."""
    pieces = NO_LANGUAGE.split(text)
    return "".join(piece if at % 2 else WORD.sub(_longer, piece) for at, piece in enumerate(pieces))


def _longer(word: re.Match[str]) -> str:
    return word[0].translate(ACCENTS) + "~" * (len(word[0]) // 3)


if __name__ == "__main__":
    main()
