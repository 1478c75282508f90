# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect over captures of a million frames, whole processes on one core with the file in the
page cache: beside tshark, and beside a loop on libpcap that checks ICRCs and counts (dissect_bare.cpp).
The captures are simulated RC WRITEs of 64 QPs with their ACKs. bench.py runs it.

Figures, for SIZE 64 B and 1 KiB of payload:
  list SIZE, tshark SIZE     frames/s of ten fields as CSV
  verify SIZE                bytes/s of the file
  analysis SIZE, bare SIZE   frames/s of sessions, messages and anomalies in one pass; of the loop
  two jobs SIZE              frames/s of the same with --jobs 2
  compare SIZE, passes SIZE  seconds of comparing the client's frames with the server's; of two passes
                             of the analysis over them
  memory of compare          bytes that it takes at most, for each more frame of both captures: from
                             a quarter of the frames to all
  commands, storage          frames/s of `commands --json` and of anomalies, over 20,000 commands of NVMe
  sessions N                 frames/s of the analysis of 1,000,000 frames of N connections
  memory                     bytes that the analysis of 1,000 QPs takes
  memory of KIND             of the same by captures of many_qps: `one-way`, 1,000 QPs whose ACKs were
                             not captured; `flows`, 500,000 QPs, so a million flows
"""

import functools
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
import many_qps  # noqa: E402  (found by the line above)
import upper_composer  # noqa: E402
from pcap_file import write_pcap  # noqa: E402

SIZES = {'64 B': 64, '1 KiB': 1024}
QPS = 64
MANY_QPS = {'one-way': {'qps': 1000, 'messages': 1500, 'answered': False},
            'flows': {'qps': 500_000}}
SESSIONS = (1, 100, 20_000)
STORAGE_COMMANDS = 20_000
MESSAGES = {'frames': 8000, 'memory': 500}  # a QP
FIELDS = ('frame.number', 'frame.time_epoch', 'ip.src', 'ip.dst', 'udp.srcport',
          'infiniband.bth.opcode', 'infiniband.bth.destqp', 'infiniband.bth.psn',
          'infiniband.bth.a', 'frame.len')
TSHARK_FRAMES = 50_000
# Prints the most memory of a command in KiB. The peak of a process begins with that of the process
# that made it, so a small one makes it.
PEAK = """import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss)
sys.exit(process.returncode)
"""


class Bench:
    """Makes a capture when it is first needed."""

    def __init__(self, settings, stack):
        self._dissect = settings.program('dissect', 'roce-dissect')
        self._gen = settings.program('gen', 'roce-gen')
        self._bare = settings.program('tests', 'bench', 'dissect_bare')
        self._stack, self._folder, self._frames = stack, None, {}

    def _in_folder(self, name):
        if self._folder is None:
            self._folder = pathlib.Path(self._stack.enter_context(
                tempfile.TemporaryDirectory(prefix='longwire-')))
        return self._folder / name

    def _capture(self, size, qps=QPS, messages=MESSAGES['frames'], points=('client-out', 'client-in')):
        """A capture file and its number of frames."""
        path = self._in_folder(f'{size}-{qps}-{messages}-{"-".join(points)}.pcapng')
        if path not in self._frames:
            at = [word for point in points for word in ('--pcap-at', point)]
            subprocess.run([self._gen, 'sim', '--delay', '100us', '--op', 'write', '-s',
                            str(size), '--mtu', '1024', '-q', str(qps), '-n', str(messages),
                            '--pcap', path, *at], check=True, capture_output=True)
            self._frames[path] = int(subprocess.run([self._bare, path], check=True, text=True,
                                                    capture_output=True).stdout.split()[0])
        return path, self._frames[path]

    @staticmethod
    def _seconds(*command):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin

    def list(self, size):
        path, frames = self._capture(SIZES[size])
        return (frames / self._seconds(self._dissect, 'list', path, '--csv', '--fields',
                                       ','.join(FIELDS)),)

    def tshark(self, size):
        path, _ = self._capture(SIZES[size])
        fields = [word for field in FIELDS for word in ('-e', field)]
        return (TSHARK_FRAMES / self._seconds('tshark', '-n', '-r', path, '-c', str(TSHARK_FRAMES),
                                              '-T', 'fields', '-E', 'separator=,', *fields),)

    def verify(self, size):
        path, _ = self._capture(SIZES[size])
        return (path.stat().st_size / self._seconds(self._dissect, 'verify', path),)

    def analysis(self, size):
        path, frames = self._capture(SIZES[size])
        return (frames / self._seconds(self._dissect, 'anomalies', path),)

    def two_jobs(self, size):
        path, frames = self._capture(SIZES[size])
        return (frames / self._seconds(self._dissect, 'anomalies', path, '--jobs', '2'),)

    def bare(self, size):
        path, frames = self._capture(SIZES[size])
        return (frames / self._seconds(self._bare, path),)

    def compare(self, size):
        near, _ = self._capture(SIZES[size], points=('client-out',))
        far, _ = self._capture(SIZES[size], points=('server-in',))
        passes = sum(self._seconds(self._dissect, 'anomalies', path) for path in (near, far))
        return self._seconds(self._dissect, 'compare', near, far), passes

    def compare_memory(self):
        measured = []
        for messages in (MESSAGES['frames'] // 4, MESSAGES['frames']):
            near, sent = self._capture(64, messages=messages, points=('client-out',))
            far, came = self._capture(64, messages=messages, points=('server-in',))
            measured.append((self._peak('compare', near, far), sent + came))
        (few_bytes, few), (bytes_, frames) = measured
        return ((bytes_ - few_bytes) / (frames - few),)

    def sessions(self, qps):
        path = self._in_folder(f'sessions-{qps}.pcap')
        if not path.exists():
            write_pcap(path, many_qps.capture(qps, 500_000 // qps))
        return (1_000_000 / self._seconds(self._dissect, 'anomalies', path),)

    def storage(self, *words):
        path = self._in_folder('storage.pcap')
        if path not in self._frames:
            frames = upper_composer.compose('nvme', 5, STORAGE_COMMANDS)[0]
            write_pcap(path, frames)
            self._frames[path] = len(frames)
        return (self._frames[path] / self._seconds(self._dissect, *words, path),)

    def memory(self):
        path, _ = self._capture(64, 1000, MESSAGES['memory'])
        return self._memory(path)

    def memory_of(self, kind):
        path = self._in_folder(f'{kind}.pcap')
        if not path.exists():
            write_pcap(path, many_qps.capture(**MANY_QPS[kind]))
        return self._memory(path)

    def _memory(self, path):
        return (self._peak('anomalies', path),)

    def _peak(self, command, *files):
        """The most bytes that a command takes."""
        run = subprocess.run([sys.executable, '-c', PEAK, self._dissect, command, *files],
                             check=True, capture_output=True, text=True)
        return int(run.stdout) * 1024


def runs(settings, stack):
    """(names of figures, what measures them) in the order of a round."""
    bench = Bench(settings, stack)
    measured = []
    for size in SIZES:
        for name in ('list', 'tshark', 'verify', 'analysis', 'bare'):
            measured.append(((f'{name} {size}',), functools.partial(getattr(bench, name), size)))
        measured.append(((f'two jobs {size}',), functools.partial(bench.two_jobs, size)))
        measured.append(((f'compare {size}', f'passes {size}'),
                         functools.partial(bench.compare, size)))
    for qps in SESSIONS:
        measured.append(((f'sessions {qps:,}',), functools.partial(bench.sessions, qps)))
    measured.append((('commands',), functools.partial(bench.storage, 'commands', '--json')))
    measured.append((('storage',), functools.partial(bench.storage, 'anomalies')))
    measured.append((('memory',), bench.memory))
    measured.append((('memory of compare',), bench.compare_memory))
    for kind in MANY_QPS:
        measured.append(((f'memory of {kind}',), functools.partial(bench.memory_of, kind)))
    return measured
