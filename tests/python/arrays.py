"""Arrays for tests, which need no library."""

import array
import ctypes
import os
import struct
import tempfile
import types


class Array:
    """A view of FP32 memory: shape and strides in elements, from element `first` on."""

    CODE, TYPESTR = "f", "<f4"

    def __init__(self, shape, values=None, strides=None, first=0, typestr=None, read_only=False):
        size = 1
        for side in shape:
            size *= side
        self.memory = array.array(self.CODE, map(self.element, values if values is not None else [0.0] * size))
        address, _ = self.memory.buffer_info()
        item = self.memory.itemsize
        self.shape = shape
        self.strides = strides
        self.interface = {
            "version": 3,
            "shape": shape,
            "typestr": typestr or self.TYPESTR,
            "data": (address + item * first, read_only),
            "strides": None if strides is None else tuple(item * stride for stride in strides),
        }

    @staticmethod
    def element(value):
        """A number as memory has it."""
        return value

    @staticmethod
    def value(element):
        """The number that memory has."""
        return element

    @property
    def __array_interface__(self):
        return self.interface

    def at(self, row, column):
        along_rows, along_columns = self.strides or (self.shape[1], 1)
        offset = (self.interface["data"][0] - self.memory.buffer_info()[0]) // self.memory.itemsize
        return self.value(self.memory[offset + row * along_rows + column * along_columns])


class Fp16(Array):
    """The same of FP16."""

    CODE, TYPESTR = "H", "<f2"

    @staticmethod
    def element(value):
        return struct.unpack("<H", struct.pack("<e", value))[0]

    @staticmethod
    def value(element):
        return struct.unpack("<e", struct.pack("<H", element))[0]


class Bf16(Array):
    """The same of BF16, which the array interface calls two bytes. Numbers have at most 8 significant bits."""

    CODE, TYPESTR = "H", "<V2"
    dtype = types.SimpleNamespace(name="bfloat16")

    @staticmethod
    def element(value):
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16

    @staticmethod
    def value(element):
        return struct.unpack("<f", struct.pack("<I", element << 16))[0]


class OnGpu(Array):
    """The same, on a GPU as it says."""

    def __getattribute__(self, name):
        if name == "__array_interface__":
            raise AttributeError(name)
        return super().__getattribute__(name)

    @property
    def __cuda_array_interface__(self):
        return self.interface


class _ManagedTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]


class _VersionedTensor(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _ManagedTensor)]


def _capsule(structure, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(structure), name, None)


class ByDlpack:
    """An array that others see by DLPack alone, of a version before 1.0."""

    def __init__(self, of, code=2, bits=32, device=(1, 0)):
        self.of = of
        self.device = device
        sides = (ctypes.c_int64 * len(of.shape))
        self.sides = sides(*of.shape)
        self.steps = sides(*(of.strides or (of.shape[-1], 1)[-len(of.shape):]))
        self.tensor = _ManagedTensor(
            data=of.interface["data"][0] - 4, device_type=device[0], device_id=device[1],
            ndim=len(of.shape), code=code, bits=bits, lanes=1, byte_offset=4,
            shape=ctypes.cast(self.sides, ctypes.POINTER(ctypes.c_int64)),
            strides=ctypes.cast(self.steps, ctypes.POINTER(ctypes.c_int64)))

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        return _capsule(self.tensor, b"dltensor")


class ByNewDlpack(ByDlpack):
    """The same by DLPack of a version since 1.0, whose flags say that it is read-only (1) or a copy (2)."""

    def __init__(self, of, flags=0, major=1):
        super().__init__(of)
        self.versioned = _VersionedTensor(major=major, flags=flags, tensor=self.tensor)

    def __dlpack__(self, stream=None, max_version=None):
        if max_version is None:
            raise BufferError("only who heeds its flags may have this array")
        return _capsule(self.versioned, b"dltensor_versioned")


def use_temporary_storage():
    """Has the library store what it learns in a folder that is deleted with the answer."""
    folder = tempfile.TemporaryDirectory()
    os.environ["AUTOTUNE_DB"] = folder.name + "/autotune.db"
    os.environ["XDG_CACHE_HOME"] = folder.name + "/cache"
    return folder
