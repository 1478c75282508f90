# SPDX-License-Identifier: BSD-3-Clause
"""Says in plain words what `roce-dissect compare --json` measured in the demo: in virtual time, and between
real processes.

    demo_verdict.py VIRTUAL.json REAL.json"""

import json
import sys


def direction_of(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)['directions'][0]


def loss_text(path):
    return (f"{path['sent']} frames went in, {path['received']} came out, {path['lost']} were lost on"
            f" the way:\n{100 * path['loss']:.3f} %; asked: {100 * path['asked_loss']:g} %, which"
            f" {'agrees' if path['asked_loss_within'] else 'DISAGREES'} within 95 % confidence.")


def main():
    virtual, real = (direction_of(path) for path in sys.argv[1:3])
    delay, asked = real['delay_ns'], real['asked_delay_ns']
    clean = all(real[name] == 0 for name in ('changed', 'invented', 'duplicated', 'reordered'))
    early = delay['min'] < asked
    print(loss_text(real))
    print('No frame was invented, doubled or put out of order.' if clean else
          'Frames were INVENTED, DOUBLED or put OUT OF ORDER: see above.')
    print(f"Asked for {asked / 1e3:.1f} us one way. In virtual time every frame took"
          f" {virtual['delay_ns']['min'] / 1e3:.3f} to {virtual['delay_ns']['max'] / 1e3:.3f} us.\n"
          f"Between real processes the fastest took {delay['min'] / 1e3:.1f} us and half of them at most"
          f" {delay['p50'] / 1e3:.1f} us:\nthree processes that poll share this machine's cores (two idle"
          f" cores: about 2,000 us).")
    if early:
        print('A frame came EARLIER than asked: that is wrong.')
    # The loss is drawn by a fixed seed, so it can't disagree by bad luck on one machine only.
    sys.exit(0 if clean and not early and real['asked_loss_within'] else 1)


if __name__ == '__main__':
    main()
