/** How the names of a vocabulary become bytes (kvscope/model/checkpoint/tokenizer.py). */

const utf8 = new TextEncoder();
/** Printable characters of Latin-1, which stand for their own byte. */
const PRINTABLE = /^[!-~¡-¬®-ÿ]$/;

/** @returns {Map<string, number>} GPT-2's printable character for each byte: printable Latin-1 is itself, the rest begin at U+0100 */
function byteAlphabet() {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const isOwn = (byte) => PRINTABLE.test(String.fromCharCode(byte));
  const others = bytes.filter((byte) => !isOwn(byte));
  return new Map(bytes.map((byte) => [String.fromCharCode(isOwn(byte) ? byte : 256 + others.indexOf(byte)), byte]));
}

const BYTE_OF = byteAlphabet();
/** The characters that stand for bytes, in the order of their code points. */
export const BYTE_NAMES = [...BYTE_OF.keys()].sort();

/** By kind, returns the bytes of a name.  @type {Object<string, (name: string) => Uint8Array>} */
export const BYTES_OF = {
  /** A name in GPT-2's byte alphabet, or else its own UTF-8. */
  byte_level(name) {
    const bytes = Array.from(name, (char) => BYTE_OF.get(char));
    return bytes.includes(undefined) ? utf8.encode(name) : Uint8Array.from(bytes);
  },
  /** A name of SentencePiece: `<0xE2>` is one byte, `▁` a space. */
  byte_fallback(name) {
    const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(name)?.[1];
    return byte ? Uint8Array.of(Number.parseInt(byte, 16)) : utf8.encode(name.replaceAll("▁", " "));
  },
};
