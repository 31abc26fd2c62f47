"""As which character encoding a text file is read."""

import codecs

from ..errors import ExtractionFailed

# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
GUESSED = ["cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "shift_jis", "euc_jp", "euc_kr", "gb18030",
           "big5", "cp1252"]  # fmt: skip
FOREIGN = 0.3
"""Share of letters beyond ASCII from which a text is taken for one in another script than the Latin one."""
FEW = 16
"""So few bytes beyond ASCII say nothing."""
LOOKED_AT = 1 << 16


def decode(data: bytes, encoding: str = "auto") -> tuple[str, str, str]:
    """The text of ``data`` without its byte order mark, the encoding it was read as, and a complaint or "".

    Auto: the byte order mark, then UTF-8, then Windows-1252, then what charset-normalizer finds, then Latin-1. UTF-8
    with a few broken bytes (a cut-off end, one pasted byte) is still read as UTF-8: taking it for Windows-1252 would
    garble every accented letter. Windows-1252 fits nearly any bytes, so it is passed over where so many letters are
    beyond ASCII as no language written in it has.
    Raises ExtractionFailed when the mark or the named encoding does not fit.
    """
    mark, marked = next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", ""))
    if encoding != "auto" or marked:
        chosen = marked or encoding
        try:
            return data[len(mark) :].decode(chosen), chosen, ""
        except UnicodeDecodeError as error:
            raise ExtractionFailed("encoding", f"byte {len(mark) + error.start + 1} is not {chosen}") from None
    try:
        return data.decode("utf-8"), "utf-8", ""
    except UnicodeDecodeError as error:
        broken = error
    mended = data.decode("utf-8", "replace")
    bad = mended.count("\ufffd")
    good = len(mended) - len(mended.encode("ascii", "ignore")) - bad
    if good >= 10 * bad:
        return mended, "utf-8", f"{bad} places are not valid UTF-8, the first at byte {broken.start + 1}"
    return _without_unicode(data)


def _without_unicode(data: bytes) -> tuple[str, str, str]:
    try:
        western = data.decode("cp1252")
    except UnicodeDecodeError:
        western = None
    if _is_foreign(data):
        guessed = _guess(data)
        if guessed is not None:
            return *guessed, f"no encoding is named or certain: read as {guessed[1]}"
    return (western, "cp1252", "") if western is not None else (data.decode("latin-1"), "latin-1", "")


def _is_foreign(data: bytes) -> bool:
    sample = data[:LOOKED_AT]
    beyond = sum(byte > 0x7F for byte in sample)
    plain = sum(byte < 0x80 and chr(byte).isalpha() for byte in sample)
    return beyond >= FEW and beyond > FOREIGN * (beyond + plain)


def _guess(data: bytes) -> tuple[str, str] | None:
    from charset_normalizer import from_bytes

    sample = data[:LOOKED_AT]
    if len(data) > LOOKED_AT:
        sample = sample[: sample.rfind(b"\n") + 1] or sample  # not in the middle of a character
    best = from_bytes(sample, cp_isolation=GUESSED).best()
    if best is None:
        return None
    try:
        return data.decode(best.encoding), best.encoding
    except UnicodeDecodeError:
        return None
