#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of a test guest. It runs commands that come by the serial port `commands`:
#   host to guest:  NUMBER BASE64(command)
#   guest to host:  NUMBER EXIT_CODE BASE64(output)       "ready 0" once the guest is up
# /run/out.NUMBER is the output so far, /run/pid.NUMBER the process group.
export PATH=/usr/bin HOME=/
chmod 755 /  # DPDK loads drivers from folders that others can't write
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /dev/hugepages
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /tmp
mount -t tmpfs run /run
exec </dev/console >/dev/console 2>&1
ulimit -l unlimited
need virtio_pci virtio_console
ip link set lo up
port=
while [ -z "$port" ]; do
  for name in /sys/class/virtio-ports/*/name; do
    [ "$(cat "$name" 2>/dev/null)" = commands ] && port=/dev/$(basename "$(dirname "$name")")
  done
  [ -n "$port" ] || sleep 0.05
done
exec 3<>"$port"
echo "ready 0" >&3

serve() {
  echo "$2" | base64 -d >"/run/job.$1"
  # By a path: busybox runs its own shell for the bare name.
  setsid /usr/bin/dash "/run/job.$1" </dev/null >"/run/out.$1" 2>&1 3>&- &
  echo $! >"/run/pid.$1"
  wait $!
  code=$?
  { printf '%s %s ' "$1" "$code"; base64 "/run/out.$1" | tr -d '\n'; echo; } >"/run/reply.$1"
  flock /run/lock cat "/run/reply.$1" >&3
  rm -f "/run/job.$1" "/run/reply.$1" "/run/pid.$1"
}

while :; do
  if read -r number command <&3 && [ -n "$number" ]; then
    serve "$number" "$command" &
  else
    sleep 0.1
  fi
done
