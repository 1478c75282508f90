// SPDX-License-Identifier: BSD-3-Clause
#include "transport/event_queue.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace lw::transport {
namespace {

/// The first source of those with the least time, by looking at each.
std::uint32_t next_of(const std::vector<Instant>& times) {
  std::uint32_t next = 0;
  for (std::uint32_t i = 1; i < times.size(); ++i)
    if (times[i] < times[next]) next = i;
  return next;
}

/// Sources that come while others have events, times that go both ways, and many equal ones.
TEST(EventQueue, has_the_source_with_the_least_time_and_number) {
  for (const std::uint32_t sources : {1U, 2U, 3U, 4U, 5U, 8U, 9U, 26U, 64U, 300U}) {
    std::mt19937 random(sources);
    EventQueue queue;
    std::vector<Instant> times;
    for (int step = 0; step < 20'000; ++step) {
      if (times.size() < sources && (times.empty() || random() % 16 == 0)) {
        ASSERT_EQ(queue.add(), times.size());
        times.push_back(Instant::max());
      }
      const auto source = static_cast<std::uint32_t>(random() % times.size());
      const Instant at = random() % 5 == 0 ? Instant::max() : instant_from_ns(random() % 50);
      queue.set(source, at);
      times[source] = at;
      ASSERT_EQ(queue.next_source(), next_of(times)) << sources << " sources, step " << step;
      ASSERT_EQ(queue.next_at(), times[next_of(times)]);
      ASSERT_EQ(queue.at(source), at);
    }
  }
}

}  // namespace
}  // namespace lw::transport
