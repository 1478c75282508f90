# SPDX-License-Identifier: BSD-3-Clause
"""Telemetry by RDMA beside a UDP and a TCP collector in the same guest: records per second, and CPU
time of a record. roce-gen telemetry, or record_stream.cpp, sends the same records of 32 B from this
machine; the guest is one CPU under emulation, with soft-RoCE. Needs root and QEMU. bench.py runs it.

Figures of KIND (ring: RDMA into a file that a plain reader follows; serve: RDMA, and roce-endpoint
follows the ring and formats each record as CSV; udp, paced: as fast as the ring's run; tcp):
  KIND rate, KIND lost     records/s that arrived; share of the records that did not
  KIND guest, KIND process ns of CPU time for a record that arrived: of the whole guest (what its
                           CPU takes of this machine), of which soft-RoCE's and the protocols' work
                           in the kernel is part; and of the collecting processes as the guest
                           accounts them, which includes interrupts that came meanwhile
"""

import functools
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path += [str(HERE.parent / 'support'), str(HERE.parent / 'e2e' / 'rxe')]

TOKEN = 'a-token-of-the-benchmark'
SLOTS, PACKETS = 65536, 1000
RECORDS = {'ring': 200_000, 'serve': 100_000, 'udp': 1_000_000, 'paced': 200_000,
           'tcp': 4_000_000}
PORT = 5000
KINDS = ('ring', 'serve', 'udp', 'paced', 'tcp')
FIGURES = ('rate', 'lost', 'guest', 'process')


class Bench:
    """A guest that boots when it is first needed."""

    def __init__(self, settings, stack):
        self._settings, self._stack, self._lab, self._rate = settings, stack, None, 0
        self._warm = set()

    def _boot(self):
        import guests  # pylint: disable=import-outside-toplevel  (longwire_test reads the folders)
        import pcap_file  # pylint: disable=import-outside-toplevel
        if guests.NO_QEMU:
            raise RuntimeError('LONGWIRE_NO_QEMU is set')
        self._guests = guests
        self._program = self._settings.program('tests', 'bench', 'record_stream')
        self._lab = self._stack.enter_context(guests.Guests(host=True, memory_mib=512,
                                                            programs=[self._program]))
        self._stack.enter_context(self._lab.bridge())
        self._lab.ping()
        self._lab.a.check(f'echo {TOKEN} > /tmp/token; ln -s /dev/null /tmp/null.csv')
        self._capture = self._lab.folder / 'frames.pcap'
        subprocess.run([self._settings.program('gen', 'roce-gen'), 'run',
                        SOURCE / 'profiles/flows/ipv4-rc-send.toml', '--pcap', self._capture,
                        '--count', str(PACKETS)], check=True, capture_output=True)
        heads = [frame[26:34] + frame[34:36] + frame[38:40] + frame[42:54] + bytes(8)
                 for _, frame in pcap_file.read_pcap(self._capture)]
        (self._lab.folder / 'records').write_bytes(b''.join(heads))

    def _cpu_of(self, jobs):
        """CPU time of jobs in ns, as the guest accounts it."""
        paths = ' '.join(f'/proc/$(cat /run/pid.{job.number})/schedstat' for job in jobs)
        return sum(int(line.split()[0]) for line in self._lab.a.check(f'cat {paths}').splitlines())

    def _spent(self, jobs, send):
        """CPU time in ns that `send` takes of the guest, and of the jobs there; what it returns."""
        process, guest = self._cpu_of(jobs), self._lab.a.cpu_ns()
        returned = send()
        time.sleep(0.5)  # for what is still in the guest's sockets
        guest = self._lab.a.cpu_ns() - guest
        return guest, self._cpu_of(jobs) - process, returned

    def _collect(self, records, words, send, others=()):
        """Figures of record_stream in the guest, while `send` runs here. `others` collect too."""
        job = self._lab.a.begin(f'exec record_stream collect {words} {records}')
        job.wait_for('ready')
        guest, process, _ = self._spent([job, *others], send)
        found = json.loads(job.wait_for('elapsed_ns', 60).splitlines()[1])
        for each in (job, *others):
            each.stop('TERM')
        arrived = found['records']
        if arrived == 0 or found['gaps'] > records - arrived:
            raise RuntimeError(f'records out of order: {found}')
        return (arrived * 1e9 / found['elapsed_ns'], (records - arrived) / records,
                guest / arrived, process / arrived)

    def _stream(self, records, protocol, rate=0):
        def send():
            subprocess.run([self._program, 'send', protocol, self._guests.ADDRESSES['a'][0],
                            str(PORT), self._lab.folder / 'records', str(records),
                            str(int(rate))], check=True)

        return self._collect(records, f'{protocol} {PORT}', send)

    def _serve(self, options):
        job = self._lab.a.begin('exec roce-endpoint serve --device rxe0 --gid 1 --token-file '
                                f'/tmp/token --poll event {options}')
        job.wait_for('--token')
        return job

    def _write(self, records, slots):
        """Writes records into the memory of a roce-endpoint; what roce-gen says."""
        done = subprocess.run(
            [self._settings.program('gen', 'roce-gen'), 'telemetry', '--from', self._capture,
             '--layout', 'roce32', '--port', 'far', '--address', '192.168.77.9', '--peer',
             f"{self._guests.ADDRESSES['a'][0]}:18515", '--token', TOKEN, '--slots', str(slots),
             '--loop', str(records // PACKETS), '--json'], check=True, capture_output=True,
            text=True)
        return json.loads(done.stdout)

    def _ring(self, records):
        self._lab.a.check('rm -f /tmp/ring')
        server = self._serve('--region 4MiB,file=/tmp/ring')
        return self._collect(records, 'ring /tmp/ring', lambda: self._write(records, SLOTS),
                             [server])

    def _follow(self, records):
        """A ring that holds all records: formatting them is slower than writing them."""
        server = self._serve('--region 8MiB --json --layout roce32 --records /tmp/null.csv')
        guest, process, ran = self._spent([server], lambda: self._write(records, records))
        code, said = server.stop()
        if code != 0 or ran['records'] != records:
            raise RuntimeError(f'roce-endpoint: {code}: {said}')
        return ran['records_per_second'], 0.0, guest / records, process / records

    def _measure(self, kind, records):
        if kind == 'serve':
            return self._follow(records)
        if kind == 'ring':
            found = self._ring(records)
            self._rate = found[0]
            return found
        if kind == 'paced':
            if not self._rate:
                raise RuntimeError('the rate of the ring was not measured')
            return self._stream(records, 'udp', self._rate)
        return self._stream(records, kind)

    def measure(self, kind):
        """The figures of one kind. The emulator translates its code in a short run before."""
        if self._lab is None:
            self._boot()
        if kind not in self._warm:
            self._warm.add(kind)
            self._measure(kind, PACKETS)
        return self._measure(kind, RECORDS[kind])


def runs(settings, stack):
    """(names of figures, what measures them) in the order of a round."""
    bench = Bench(settings, stack)
    return [(tuple(f'{kind} {figure}' for figure in FIGURES), functools.partial(bench.measure, kind))
            for kind in KINDS]
