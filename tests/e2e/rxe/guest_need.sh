#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# need MODULE...: loads modules of the kernel, with those that they need. Also as modprobe.
for name in "$@"; do
  while read -r file; do
    grep -q "^$(basename "$file" .ko | tr - _) " /proc/modules || insmod "/mod/$file"
  done <"/mod/need.$(echo "$name" | tr - _)"
done
