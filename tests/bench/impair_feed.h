// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <sched.h>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "roce/compose.h"

namespace lw::bench {

/// RC SEND ONLY of `bytes` in all, to this QP with this PSN; payloads of different PSNs differ.
inline std::vector<std::byte> frame_of(std::size_t bytes, std::uint32_t qp, std::uint32_t psn) {
  roce::FrameFields fields;
  fields.bth.opcode = 0x04;
  fields.bth.dest_qp = qp;
  fields.bth.psn = wire::Psn(psn);
  std::vector<std::byte> payload(bytes - roce::layout_of(fields, 0).size);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * psn);
  return roce::compose(fields, payload);
}

/// Keeps the calling thread on this core.
inline void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

/// During its lifetime, threads start on the other cores, if there are any: EAL has pinned the
/// calling thread, and what it starts would share its core.
class OffTheCore {
 public:
  explicit OffTheCore(int core) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t others;
    CPU_ZERO(&others);
    for (int each = 0; each < static_cast<int>(std::thread::hardware_concurrency()); ++each)
      if (each != core) CPU_SET(static_cast<std::size_t>(each), &others);
    if (CPU_COUNT(&others) > 0) sched_setaffinity(0, sizeof others, &others);
  }
  OffTheCore(const OffTheCore&) = delete;
  OffTheCore& operator=(const OffTheCore&) = delete;
  ~OffTheCore() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

/// What the calling thread has had of its core so far: what others took meanwhile doesn't count.
inline double core_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Exits where it isn't a number.
inline unsigned number(std::string_view text) {
  unsigned value{};
  if (std::from_chars(text.data(), text.data() + text.size(), value).ptr != text.end())
    std::exit((fmt::print(stderr, "expected a number, found {}\n", text), 2));
  return value;
}

}  // namespace lw::bench
