# SPDX-License-Identifier: BSD-3-Clause
"""Says in plain words what `roce-dissect compare --json` measured in the demo."""

import json
import sys


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        path = json.load(file)['directions'][0]
    delay, asked = path['delay_ns'], path['asked_delay_ns']
    clean = path['changed'] == 0 and path['invented'] == 0 and path['duplicated'] == 0 and path['reordered'] == 0
    early = delay['min'] < asked
    print(f"{path['sent']} frames went in, {path['received']} came out, {path['lost']} were lost on"
          f" the way:\n{100 * path['loss']:.3f} %; asked: {100 * path['asked_loss']:g} %, which"
          f" {'agrees' if path['asked_loss_within'] else 'DISAGREES'} within 95 % confidence.")
    print('No frame was invented, doubled or put out of order.' if clean else
          'Frames were INVENTED, DOUBLED or put OUT OF ORDER: see above.')
    print(f"Asked for {asked / 1e3:.1f} us one way: the fastest frame took"
          f" {delay['min'] / 1e3:.1f} us and half of\nthem at most {delay['p50'] / 1e3:.1f} us;"
          f" what is more is this machine's scheduling of three polling\nprocesses, not the path"
          f" (roce-impair replay is exact to the nanosecond).")
    if early:
        print('A frame came EARLIER than asked: that is wrong.')
    # The loss is drawn by a fixed seed, so it can't disagree by bad luck on one machine only.
    sys.exit(0 if clean and not early and path['asked_loss_within'] else 1)


if __name__ == '__main__':
    main()
