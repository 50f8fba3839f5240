"""Reads disk images with dissect.hypervisor, libvhdi and libvmdk, and inspects them with OpenStack's format_inspector.

Takes a line of JSON for each image: its path as `image`, its format as `format` ("qcow2", "vmdk", "vpc", "vhdx" or "vdi"), and the path of the
raw disk that is expected in it as `disk`; without a `disk`, the image is only inspected. Answers with a line of JSON: see
Answer in foreign-readers.ts.
"""

import json
import logging
import sys
from pathlib import Path

import pyvhdi
import pyvmdk
from dissect.hypervisor.disk.qcow2 import QCow2
from dissect.hypervisor.disk.vdi import VDI
from dissect.hypervisor.disk.vhd import VHD
from dissect.hypervisor.disk.vhdx import VHDX
from dissect.hypervisor.disk.vmdk import VMDK
from oslo_utils.imageutils import format_inspector

PART = 4 << 20
SECTOR = 512


class Sectors:
    """A VMDK as a stream. VMDK.read needs a disk of whole 8 KiB."""

    def __init__(self, path):
        self.vmdk = VMDK(path)
        self.size = self.vmdk.size
        self.at = 0

    def read(self, length):
        count = min(length // SECTOR, self.vmdk.sector_count - self.at)
        part = self.vmdk.read_sectors(self.at, count) if count > 0 else b""
        self.at += count
        return part


class Blocks:
    """A VDI as a stream. VDIStream.read finds only the first block of a read by the map: it takes the others from after it."""

    def __init__(self, path):
        vdi = VDI(path.open("rb"))
        self.stream = vdi.open()
        self.size = vdi.size
        self.block_size = vdi.block_size

    def read(self, length):
        return b"".join(self.stream.read(self.block_size) for _ in range(length // self.block_size))


class Media:
    """A disk of libvhdi or libvmdk as a stream."""

    def __init__(self, handle):
        self.handle = handle
        self.size = handle.get_media_size()

    def read(self, length):
        return self.handle.read_buffer(min(length, self.size - self.handle.get_offset()))


def vhdi(path):
    file = pyvhdi.file()
    file.open(str(path))
    return Media(file)


def vmdk(path):
    handle = pyvmdk.handle()
    handle.open(str(path))
    handle.open_extent_data_files()
    return Media(handle)


READERS = {
    "dissect": {
        "qcow2": lambda path: QCow2(path).open(),
        "vmdk": Sectors,
        "vpc": lambda path: VHD(path.open("rb")),
        "vhdx": lambda path: VHDX(path.open("rb")),
        "vdi": Blocks,
    },
    "libvhdi": {"vpc": vhdi, "vhdx": vhdi},
    "libvmdk": {"vmdk": vmdk},
}


def difference(found, disk):
    """The number of the first part of `found` that is not that of `disk`, followed by zeros. None if there is none."""
    number = 0
    while True:
        part, expected = found.read(PART), disk.read(PART)
        if not part and not expected:
            return None
        if part != expected + bytes(max(len(part) - len(expected), 0)):
            return number
        number += 1


def read(image, format, disk):
    """What each reader of the format finds."""
    found = {}
    for name, formats in READERS.items():
        if format in formats:
            stream = formats[format](Path(image))
            with open(disk, "rb") as expected:
                found[name] = {"size": stream.size, "difference": difference(stream, expected)}
    return {"read": found}


def inspect(image):
    inspector = format_inspector.detect_file_format(image)
    answer = {"format": str(inspector), "virtualSize": inspector.virtual_size, "failures": {}}
    try:
        inspector.safety_check()
    except format_inspector.SafetyCheckFailed as failed:
        answer["failures"] = {name: str(failure) for name, failure in failed.failures.items()}
    return answer


# The inspector logs what it also throws.
logging.disable(logging.CRITICAL)
for line in sys.stdin:
    question = json.loads(line)
    found = read(**question) if "disk" in question else {}
    print(json.dumps({**found, **inspect(question["image"])}), flush=True)
