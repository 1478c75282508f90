#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# listening PID: waits up to 20 s for a server that listens, by TCP or by RDMA's connection manager.
# Exit code 1: there is none. 2: the process has ended.
i=0
while [ $i -lt 200 ]; do
  grep -q ' 0A 00000000:' /proc/net/tcp /proc/net/tcp6 && exit 0
  # The kernel shows this state shortly before it accepts requests.
  rdma resource show cm_id 2>/dev/null | grep -q 'state LISTEN' && exec sleep 0.2
  [ -d "/proc/$1" ] || exit 2
  sleep 0.1
  i=$((i + 1))
done
exit 1
