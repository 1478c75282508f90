# SPDX-License-Identifier: BSD-3-Clause
"""The start page, docs/start.md, from its first to its last command, in network and mount namespaces of
its own: two servers, a box between them, and its live page. Needs root.

With LONGWIRE_START_ROOT, the commands run in that root, where the packages are installed."""

import json
import re
import tempfile
import time
import unittest
import urllib.request

import needs
from guide_blocks import blocks_of, steps_of
from guides import ROOT, runner
from longwire_test import SOURCE

GUIDE = SOURCE / 'docs' / 'start.md'
# The names of network namespaces are files here: no other process shall see this guide's.
NAMES = f'{ROOT}/run/netns'
PATH_US, SHORTER_US, BY_PAGE_US = 1903.5, 500, 1000


def fewest_us(output):
    """The least latency of a `perf --pattern lat`."""
    return float(re.search(r'^ 64\s+\d+\s+([\d.]+)', output, re.M)[1])


@needs.root('network namespaces')
class Start(unittest.TestCase):
    def test_every_command_does_what_the_page_says(self):
        with tempfile.TemporaryDirectory(prefix='longwire-', dir=f'{ROOT}/tmp') as folder:
            commands = runner(self, folder)
            blocks = blocks_of(GUIDE.read_text(encoding='utf-8'))
            end = next(i for i, block in enumerate(blocks) if block.commands[0][0] == '^C')
            began = time.monotonic()
            commands.run(blocks[:end])
            measured = next(ended for ended, (command, _) in zip(commands.ended, commands.shown)
                            if '--pattern lat' in command)
            print(f'# first measured round trip after {measured - began:.1f} s', flush=True)
            measurements = [(command, text) for command, text in commands.shown if '--pattern lat' in command]
            first, second = (fewest_us(text) for _, text in measurements)
            self.assertGreaterEqual(first, PATH_US)
            self.assertTrue(SHORTER_US <= second < PATH_US, second)
            self.use_the_page(commands.terminals['box'].text())
            by_page = runner(self, folder)
            by_page.run(blocks_of(f'```console run only\n# {measurements[0][0]}\n```\n'))
            self.assertTrue(BY_PAGE_US <= fewest_us(by_page.shown[0][1]) < PATH_US, by_page.shown)
            commands.run(blocks[end:])
            print(f'# {GUIDE.name}: {steps_of(blocks)} steps in {time.monotonic() - began:.1f} s', flush=True)

    def use_the_page(self, printed):
        """Sets the delay as the page's form does."""
        url, token = re.search(r'live page: (http://\S+/)#token=(\S+)', printed).groups()
        with urllib.request.urlopen(url, timeout=30) as page:
            self.assertIn('<title>roce-impair</title>', page.read().decode())
        asked = {'do': 'set', 'rule': 'long haul', 'keys': {'delay': f'{BY_PAGE_US}us'}}
        request = urllib.request.Request(url + 'do', json.dumps(asked).encode(), headers={
            'Authorization': f'Bearer {token}', 'Origin': url.rstrip('/'),
            'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=30) as answer:
            self.assertTrue(json.load(answer)['ok'])


if __name__ == '__main__':
    import longwire_test
    # `ip netns exec` needs a root that is a mount.
    mounts = [f'mount --bind {ROOT} {ROOT}'] if ROOT else []
    mounts += [f'mount --rbind /{name} {ROOT}/{name}' for name in ('dev', 'proc', 'sys') if ROOT]
    longwire_test.enter_namespaces('--net', '--mount', prepare=' && '.join(
        [*mounts, f'mkdir -p {NAMES}', f'mount -t tmpfs none {NAMES}', 'ip link set lo up']))
    longwire_test.main()
