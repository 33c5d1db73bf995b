"""Files of arrays come back as they were; what is not one of ours is refused before it takes memory."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from actors.npz import NpzError, read_npz

ARRAYS = {
    "flags": np.array([True, False]),
    "rows": np.arange(6, dtype=np.float64).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
    "none": np.empty((0, 4), np.float32),
    "number": np.array(7),
    "bytes": np.frombuffer(b"text", np.uint8),
}


def file_of(arrays, save=np.savez):
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer


def entry(name, content, compression=zipfile.ZIP_STORED):
    """Returns a zip file of one entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as opened:
        opened.writestr(name, content)
    return buffer


def npy(header, data=b"", version=(1, 0)):
    """Returns an array file with any header."""
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(text)) + text + data


def shaped(shape, kind="<f8", data=bytes(8)):
    return entry("a.npy", npy(f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}", data))


def test_arrays_come_back_as_they_were(tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    for source in (tmp_path / "a.npz", str(tmp_path / "a.npz"), file_of(ARRAYS)):
        found = read_npz(source, "a.npz is damaged")
        assert list(found) == list(ARRAYS)
        for name, array in ARRAYS.items():
            assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
            assert np.array_equal(found[name], array)
            assert found[name].flags.writeable


def overlapping():
    """Returns a file whose two entries name the same bytes."""
    content = file_of({"a": np.zeros(1000)}).getvalue()
    at, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    again = content[at:end].replace(b"a.npy", b"b.npy")
    tail = struct.pack("<4s4xHHII2x", b"PK\x05\x06", 2, 2, 2 * (end - at), at)
    return io.BytesIO(content[:end] + again + tail)


REFUSED = {
    "text": (lambda: io.BytesIO(b"no file of ours"), "not a zip file"),
    "compressed": (lambda: file_of({"a": np.zeros(10**6)}, np.savez_compressed), "is compressed"),
    "a bomb": (lambda: entry("a.npy", bytes(10**7), zipfile.ZIP_DEFLATED), "is compressed"),
    "overlapping": (overlapping, "larger than the file"),
    "objects": (lambda: file_of({"a": np.array([{}], object)}), "no array of numbers"),
    "records": (lambda: file_of({"a": np.zeros(2, [("x", "f8")])}), "no array of numbers"),
    "text in an array": (lambda: file_of({"a": np.array(["x"])}), "no array of numbers"),
    "no array": (lambda: entry("a.txt", b"x"), "not arrays"),
    "huge": (lambda: shaped("(1000000000000,)"), "another size than it says"),
    "huge by product": (lambda: shaped("(4294967296, 4294967296, 4294967296)"), "another size than it says"),
    "negative": (lambda: shaped("(-1, -1)"), "another size than it says"),
    "too short": (lambda: shaped("(2,)"), "another size than it says"),
    "a shape that is none": (lambda: shaped("'x'"), "shape"),
    "deep": (lambda: shaped("(" * 90), r"\("),
    "another version": (lambda: entry("a.npy", npy("{}", version=(3, 0))), "another version"),
}


@pytest.mark.parametrize(("made", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_ours_is_refused_in_one_line(made, message):
    with pytest.raises(NpzError, match=message) as error:
        read_npz(made(), "a.npz is damaged")
    assert str(error.value).startswith("a.npz is damaged (")
    assert len(str(error.value).splitlines()) == 1


def test_a_bomb_takes_no_memory(tmp_path):
    """64 MiB in 65 kB: hardly more memory is taken than the file has bytes."""
    path, kibibytes = tmp_path / "bomb.npz", 64 * 2**10
    header = npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({kibibytes * 2**10},), }}")
    path.write_bytes(entry("a.npy", header + bytes(kibibytes * 2**10), zipfile.ZIP_DEFLATED).getvalue())
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(NpzError, match="is compressed"):
            read_npz(path, "bomb.npz is damaged")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_flipped_byte_of_an_array_is_noticed():
    content = bytearray(file_of({"a": np.zeros(100)}).getvalue())
    content[400] ^= 1
    with pytest.raises(NpzError, match="CRC"):
        read_npz(io.BytesIO(content), "a.npz is damaged")


def test_an_entry_that_begins_before_the_file_is_damage(tmp_path):
    """The directory is said to begin after the file, so the entries, which are counted from it, would lie before."""
    content = bytearray(file_of({"a": np.zeros(10)}).getvalue())
    end = content.index(b"PK\x05\x06")
    content[end + 16 : end + 20] = struct.pack("<I", 2**31 - 1)
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(NpzError, match="Invalid argument"):
        read_npz(tmp_path / "a.npz", "a.npz is damaged")


def test_a_file_that_cannot_be_read_is_no_damage(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "missing.npz", "missing.npz is damaged")
    with pytest.raises(IsADirectoryError):
        read_npz(tmp_path, "a.npz is damaged")
