# SPDX-License-Identifier: BSD-3-Clause
"""The metrics of a run, read by a real Prometheus and checked by promtool; the names in the shipped
dashboard and alert rules."""

import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import needs
from longwire_test import BOX, SOURCE, begin, free_port, program

GRAFANA = SOURCE / 'packaging' / 'grafana'
DASHBOARD, RULES = GRAFANA / 'longwire-impair.json', GRAFANA / 'longwire-impair.rules.yml'
PROFILE = '[[rule]]\nname = "long haul"\ndelay = "1903.5us"\n'
FLOW = '''
[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 1024
rate = "1000 frames/s"
messages = 1000000
'''
TIMEOUT = 60


def read(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


@needs.tools('promtool')
class Metrics(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        (self.folder / 'impair.toml').write_text(PROFILE, encoding='utf-8')
        self.target = f'127.0.0.1:{free_port()}'
        ready = self.folder / 'ready'
        west = f'memif:{self.folder}/w'
        (self.folder / 'flow.toml').write_text(FLOW, encoding='utf-8')
        self.process = begin(self, [*BOX, self.folder / 'impair.toml', '--west',
                                    west + ',server', '--east', 'null', '--metrics', self.target,
                                    '--ledger', self.folder / 'ledger.jsonl', '--ready-file', ready])
        begin(self, [program('roce-gen'), 'run', self.folder / 'flow.toml', '--port', west])
        end = time.monotonic() + TIMEOUT
        while not ready.exists():
            self.assertIsNone(self.process.poll(), 'the run ended')
            self.assertLess(time.monotonic(), end, 'never ready')
            time.sleep(0.02)

    def check(self, *words, text=None):
        """promtool finds nothing to say."""
        done = subprocess.run(['promtool', 'check', *map(str, words)], input=text, text=True,
                              capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)

    def metrics(self):
        return read(f'http://{self.target}/metrics')

    def test_promtool_is_content(self):
        text = self.metrics()
        self.check('metrics', text=text)
        self.check('rules', RULES)
        with self.assertRaises(AssertionError):
            self.check('metrics', text=text.replace('_frames_total', '_frames'))

    def test_dashboard_and_rules_name_metrics_of_a_run(self):
        there = set(re.findall(r'^# TYPE (\w+)', self.metrics(), re.M))
        self.assertGreaterEqual(len(there), 20)
        expressions = [target['expr'] for panel in json.loads(DASHBOARD.read_text())['panels']
                       for target in panel['targets']]
        self.assertGreaterEqual(len(expressions), 10)
        there |= {name + '_bucket' for name in re.findall(r'^# TYPE (\w+) histogram$', self.metrics(), re.M)}
        for text in *expressions, DASHBOARD.read_text(), RULES.read_text():
            named = set(re.findall(r'longwire_impair_\w+', text))
            self.assertTrue(named, text)
            self.assertLessEqual(named, there)

    def query(self, api, expression):
        """The samples of an instant query; none while Prometheus does not answer."""
        try:
            answer = json.loads(read(f'{api}/query?' + urllib.parse.urlencode({'query': expression})))
        except (urllib.error.URLError, ConnectionError):
            return []
        return answer['data']['result']

    def a_constant_delay_is_found(self, api):
        """The dashboard's query for the median and the 99 % quantile of a rule's delay, to 1 %."""
        expressions = [target['expr'] for panel in json.loads(DASHBOARD.read_text())['panels']
                       for target in panel['targets'] if 'delay_seconds_bucket' in target['expr']]
        self.assertEqual(len(expressions), 3)
        end = time.monotonic() + TIMEOUT
        for expression in expressions[:2]:
            asked = (expression.replace('$__rate_interval', '10s')
                     .replace('{instance=~"$instance"}', '{direction="west-to-east"}'))
            found = []
            while not found or found[0]['value'][1] == 'NaN':
                self.assertLess(time.monotonic(), end, 'no quantile came')
                time.sleep(0.2)
                found = self.query(api, asked)
            self.assertLess(abs(float(found[0]['value'][1]) / 1.9035e-3 - 1), 0.01, asked)

    def test_a_real_prometheus_scrapes_a_run(self):
        config = self.folder / 'prometheus.yml'
        config.write_text(f'''global: {{scrape_interval: 1s}}
rule_files: ["{RULES}"]
scrape_configs:
  - job_name: longwire
    static_configs: [{{targets: ["{self.target}"]}}]
''', encoding='utf-8')
        address = f'127.0.0.1:{free_port()}'
        server = begin(self, ['prometheus', f'--config.file={config}', '--log.level=error',
                              f'--storage.tsdb.path={self.folder}/data',
                              f'--web.listen-address={address}'])
        api, end = f'http://{address}/api/v1', time.monotonic() + TIMEOUT
        name = 'longwire_impair_received_frames_total{direction="west-to-east",rule="long haul"}'
        while not (found := self.query(api, name)):
            self.assertIsNone(server.poll(), 'Prometheus ended')
            self.assertLess(time.monotonic(), end, 'no sample came')
            time.sleep(0.2)
        self.assertGreaterEqual(int(found[0]['value'][1]), 0)
        self.assertEqual(self.query(api, 'up{job="longwire"}')[0]['value'][1], '1')
        self.a_constant_delay_is_found(api)
        server.send_signal(signal.SIGTERM)
        server.wait(TIMEOUT)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
