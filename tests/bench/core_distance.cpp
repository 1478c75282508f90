// SPDX-License-Identifier: BSD-3-Clause
// How far two cores are apart: the time of a cache line from one core to the other and back.
// Figures of two threads depend on it, and on a virtual machine it changes while it runs: its two
// cores share a cache for some minutes and not for the next ones.
//
//   core_distance CORE OTHER_CORE
//
// Prints the tenth percentile of 200 times in ns, each the mean of 100 ways there and back.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <pthread.h>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int kTimes = 200, kWays = 100;

alignas(64) std::atomic<int> turn{0};

/// True if the calling thread runs on the core of this number from now on.
bool pin(std::string_view text) {
  int core = -1;
  cpu_set_t one;
  CPU_ZERO(&one);
  if (std::from_chars(text.data(), text.data() + text.size(), core).ec != std::errc{} || core < 0 ||
      core >= CPU_SETSIZE)
    return false;
  CPU_SET(static_cast<std::size_t>(core), &one);
  return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
}

/// Answers each odd number by the even one behind it.
void answer(std::string_view core, std::atomic<bool>& pinned) {
  pinned = pin(core);
  for (int next = 1; next < 2 * kTimes * kWays; next += 2) {
    while (turn.load(std::memory_order_acquire) != next) {
    }
    turn.store(next + 1, std::memory_order_release);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 3 || std::string_view(words[1]) == words[2] || !pin(words[1])) {
    std::fputs("usage: core_distance CORE OTHER_CORE\n", stderr);
    return 2;
  }
  std::atomic<bool> pinned{false};
  std::thread other(answer, words[2], std::ref(pinned));
  std::vector<double> times;
  for (int time = 0, sent = 1; time < kTimes; ++time) {
    const auto begin = std::chrono::steady_clock::now();
    for (int way = 0; way < kWays; ++way, sent += 2) {
      turn.store(sent, std::memory_order_release);
      while (turn.load(std::memory_order_acquire) != sent + 1) {
      }
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    times.push_back(took.count() / kWays);
  }
  other.join();
  if (!pinned) return std::fputs("core_distance: expected another core\n", stderr), 2;
  std::ranges::nth_element(times, times.begin() + kTimes / 10);
  std::printf("%.0f\n", times[kTimes / 10]);
  return 0;
}
