# SPDX-License-Identifier: BSD-3-Clause
"""PCI ports of roce-impair and roce-gen, in a guest: QEMU's network cards are real PCI devices there,
which DPDK drives through vfio-pci behind an emulated IOMMU. Frames are sent and captured outside, on
the cards' taps."""

import json
import os
import pathlib
import re
import socket
import tempfile
import time
import unittest

import guest_image
import guests
import longwire_test
import roce_packets
from pcap_file import read_pcap, roce_frame

# QEMU's name and options of a card.
CARDS = {'e1000e': '', 'vmxnet3': '',
         'virtio-net-pci': ',iommu_platform=on,disable-legacy=on,host_mtu=1500'}
LONGEST = {'e1000e': 4200, 'vmxnet3': 4200, 'virtio-net-pci': 1514}  # B that the test sends
PROFILE = '''[[rule]]
name = "haul"
delay = "1ms"
[capacity]
rate = "1Gb/s"
largest_frame = "4500B"
'''
FLOW = '''[[flow]]
name = "data"
operation = "write"
message_size = 4096
messages = 100
mtu = {mtu}
rate = "20 kframes/s"
'''
GUEST = None


class PciGuest:
    """A guest with two cards of each kind, on taps of their names and numbers."""

    def __init__(self):
        guests.own_network()
        self._folder = tempfile.TemporaryDirectory(prefix='pci.')
        self.folder = pathlib.Path(self._folder.name)
        initrd = self.folder / 'initrd'
        programs = [longwire_test.program(name) for name in ('roce-impair', 'roce-gen')]
        kernel = guest_image.initrd_with(programs, True, initrd)
        self.taps, devices = {}, ['-device', 'intel-iommu,intremap=off,caching-mode=on',
                                  '-smp', '2',
                                  '-monitor', f'unix:{self.folder}/monitor,server=on,wait=off']
        for kind, (card, options) in enumerate(CARDS.items()):
            self.taps[card] = [f'card{kind}a', f'card{kind}b']
            for number, tap in enumerate(self.taps[card]):
                guests.ip(f'tuntap add dev {tap} mode tap')
                guests.no_ipv6(tap)
                guests.ip(f'link set {tap} mtu 9000 up')
                devices += ['-netdev', f'tap,id={tap},ifname={tap},script=no,downscript=no',
                            '-device', f'{card},netdev={tap},id=of_{tap},'
                                       f'mac=52:54:00:00:0{kind}:0{number}{options}']
        self.machine = guests.Guest('pci', self.folder, devices, 2048, kernel, initrd, cpu='max',
                                    kernel_words='intel_iommu=on')
        self.machine.wait_until_up()
        self.machine.check('''set -e
need e1000e virtio_net vmxnet3 vfio_iommu_type1
echo 1 >/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts
echo 400 >/proc/sys/vm/nr_hugepages
mount -t hugetlbfs hugetlbfs /dev/hugepages''', 60)
        listed = self.machine.check('''for i in /sys/class/net/eth*; do
echo $(cat $i/address) $(readlink -f $i/device); done''')
        self._addresses = {}
        for line in listed.splitlines():
            mac, path = line.split()
            self._addresses[mac] = re.findall(r'[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d', path)[-1]

    def addresses(self, card):
        kind = list(CARDS).index(card)
        return [self._addresses[f'52:54:00:00:0{kind}:0{number}'] for number in range(2)]

    def write(self, path, text):
        self.machine.check(f"cat >{path} <<'END'\n{text}END")

    def set_link(self, tap, state):
        """Plugs the wire of a card in or out."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(f'{self.folder}/monitor')
            monitor.sendall(f'set_link {tap} {state}\n'.encode())
            time.sleep(0.3)

    def end(self):
        self.machine.end()
        self._folder.cleanup()


def setUpModule():
    global GUEST
    if not guests.NO_QEMU:
        GUEST = PciGuest()


def tearDownModule():
    if GUEST:
        GUEST.end()


def test_frames(longest):
    """Tagged and not, small to long, and RoCE."""
    frames = []
    for size in (60, 61, 1000, longest):
        for kind in (b'\x88\xb5', b'\x81\x00\x20\x64\x88\xb5', b'\x88\xa8\x00\x07\x88\xb5'):
            head = b'\x02\0\0\0\0\x09' + b'\x02\0\0\0\0\x08' + kind
            frames.append(head + os.urandom(size - len(head)))
    return frames + [roce_frame(i, 8 << i) for i in range(8)]


@guests.needed
class PciPorts(unittest.TestCase):
    card = None

    def run_in_guest(self, command, code=0):
        ended, said = GUEST.machine.run(command, 90)
        self.assertEqual(ended, code, said)
        return said

    def refused_and_bound(self, address):
        """A device that the kernel uses is refused, with the command that binds it to vfio-pci; the
        command does so."""
        said = self.run_in_guest(f'roce-gen run /flow.toml --port {address}', 3)
        driver = {'virtio-net-pci': 'virtio-pci'}.get(self.card, self.card)
        self.assertIn(f"it is bound to the kernel's driver {driver}; expected vfio-pci", said)
        command = re.search(r'^  (modprobe vfio-pci; .*)$', said, re.M)
        self.assertIsNotNone(command, said)
        self.run_in_guest(command[1])
        self.assertIn('vfio-pci', self.run_in_guest(
            f'readlink /sys/bus/pci/devices/{address}/driver'))

    def begin_box(self, west, east, *options):
        job = GUEST.machine.begin(f'exec roce-impair run /profile.toml --west {west} --east {east} '
                                  f"--idle yield --json --expect 'late<=100%' {' '.join(options)}")
        job.wait_for('\nready', 60)
        return job

    def report_of(self, job, code=0):
        ended, said = job.stop('INT', 60)
        self.assertEqual(ended, code, said)
        return json.loads(next(line for line in said.splitlines() if line.startswith('{'))), said

    def cross(self, there, here, frames):
        """Sends frames into one card; those that leave the other one."""
        with tempfile.TemporaryDirectory() as folder:
            with guests.Capture(folder, '', (here,)) as capture:
                with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as opened:
                    opened.bind((there, 0))
                    for frame in frames:
                        opened.send(frame)
                        time.sleep(0.01)
                time.sleep(0.5)
            return [frame for _, frame in read_pcap(capture.a)]

    def frames_cross(self, west, east):
        """Both ways, as they are, and counted."""
        taps, frames = GUEST.taps[self.card], test_frames(LONGEST[self.card])
        job = self.begin_box(west, east, '--verbose')
        for there, here in (taps, reversed(taps)):
            self.assertEqual(self.cross(there, here, frames), frames)
        report, said = self.report_of(job)
        self.assertNotIn('Failed to attach', said)
        for port in report['ports']:
            self.assertEqual((port['received'], port['sent'], port['missed'], port['errors']),
                             (len(frames), len(frames), 0, 0), port)

    def lost_link(self, west, east):
        """A wire that is pulled ends the run; with --on-link-loss hold, frames cross again when it
        is back."""
        taps = GUEST.taps[self.card]
        job = self.begin_box(west, east)
        GUEST.set_link(taps[1], 'off')
        code, said = job.wait(30)
        self.assertEqual(code, 1, said)
        self.assertIn(f'port `{east}` has lost its link', said)
        GUEST.set_link(taps[1], 'on')
        job = self.begin_box(west, east, '--on-link-loss hold')
        GUEST.set_link(taps[1], 'off')
        time.sleep(1)
        GUEST.set_link(taps[1], 'on')
        time.sleep(2)
        frames = test_frames(LONGEST[self.card])[:3]
        self.assertEqual(self.cross(*taps, frames), frames)
        report, _ = self.report_of(job, 1)
        self.assertEqual([port['link_losses'] for port in report['ports']], [0, 1])

    def frames_of_gen(self, port, tap):
        """What roce-gen sends leaves the card with right ICRCs; no longer frame than the MTU."""
        mtu = 1024 if LONGEST[self.card] < 4200 else 4096
        GUEST.write('/long.toml', FLOW.format(mtu=4096))
        if mtu < 4096:
            self.assertIn("the port's MTU of 1500 B allows 1514 B",
                          self.run_in_guest(f'roce-gen run /long.toml --port {port}', 2))
        GUEST.write('/flow.toml', FLOW.format(mtu=mtu))
        with tempfile.TemporaryDirectory() as folder:
            with guests.Capture(folder, 'udp port 4791', (tap,)) as capture:
                said = self.run_in_guest(f'roce-gen run /flow.toml --port {port} --json')
            report = json.loads(next(line for line in said.splitlines() if line.startswith('{')))
            self.assertEqual(roce_packets.icrcs(capture.a), (100 * 4096 // mtu, 0, 0), report)

    def scenario(self, card):
        self.card = card
        west, east = GUEST.addresses(card)
        GUEST.write('/profile.toml', PROFILE)
        GUEST.write('/flow.toml', FLOW.format(mtu=1024))
        for address in (west, east):
            self.refused_and_bound(address)
        self.frames_cross(west, east)
        self.frames_cross(west, east)  # a second start finds the devices as the first did
        self.frames_of_gen(west, GUEST.taps[card][0])
        self.lost_link(west, east)

    def test_e1000e(self):
        self.scenario('e1000e')

    def test_virtio(self):
        self.scenario('virtio-net-pci')

    def test_vmxnet3(self):
        self.scenario('vmxnet3')

    def test_no_such_device(self):
        GUEST.write('/flow.toml', FLOW.format(mtu=1024))
        self.assertIn('no PCI device at 0000:1f:1f.7',
                      self.run_in_guest('roce-gen run /flow.toml --port 1f:1f.7', 3))


if __name__ == '__main__':
    longwire_test.main()
