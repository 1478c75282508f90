# SPDX-License-Identifier: BSD-3-Clause
"""The captures that tests take as they are: of Linux soft-RoCE (pcaps/rxe), composed after network
cards (pcaps/nic), and with LONGWIRE_CAPTURES=DIR the pcap files of that folder: traffic without loss
and with right ICRCs, of real network cards. Their fields as tshark lists them."""

import csv
import gzip
import os
import pathlib
import subprocess

import tshark_fields
from longwire_test import SOURCE

RXE, NIC = SOURCE / 'pcaps' / 'rxe', SOURCE / 'pcaps' / 'nic'
TSHARK = SOURCE / 'tests' / 'golden' / 'tshark'
WITH_LOSS = ('loss_read_requester_side', 'loss_write_sender_side', 'netem_reorder', 'rnr_nak')
OWN = [*sorted(RXE.glob('*.pcap')), *sorted(NIC.glob('*.pcap'))]


def further():
    """The captures in the folder of LONGWIRE_CAPTURES; none where it is not set."""
    folder = os.environ.get('LONGWIRE_CAPTURES')
    if not folder:
        return []
    found = sorted(pathlib.Path(folder).resolve().glob('*.pcap'))
    if not found:
        raise FileNotFoundError(f'LONGWIRE_CAPTURES: no *.pcap in {folder}')
    return found


def captures():
    return [*OWN, *further()]


def without_loss():
    return [path for path in captures() if path.stem not in WITH_LOSS]


def tshark_table(path):
    """What tshark says of a capture's RoCE frames, as tests/golden/README.md asks it: of our captures as
    it was kept, of others by tshark itself."""
    if path in OWN:
        return gzip.decompress((TSHARK / f'{path.parent.name}-{path.stem}.tsv.gz').read_bytes()).decode()
    command = tshark_fields.command(path, tshark_fields.fields())
    return tshark_fields.used_columns(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def tshark_of(path):
    """A dictionary for each RoCE frame: the value of each column, by its name."""
    return list(csv.DictReader(tshark_table(path).splitlines(), delimiter='\t', quoting=csv.QUOTE_NONE))
