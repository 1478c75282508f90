// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "sim/event_heap.h"
#include "sim/host.h"

namespace lw::sim {

/// Hosts, lines and a clock that jumps from event to event. Given the same configuration and the
/// same calls it does the same, event by event. One thread.
class Simulation {
 public:
  Simulation() = default;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  Simulation(Simulation&&) = delete;
  Simulation& operator=(Simulation&&) = delete;
  ~Simulation() = default;

  /// References stay good. A line delivers to the host that a packet names.
  Line& add_line(const LineConfig& config);
  Host& add_host(const NicConfig& nic, transport::Memory memory, Line& out);

  [[nodiscard]] Instant now() const noexcept { return now_; }
  [[nodiscard]] std::vector<std::unique_ptr<Host>>& hosts() noexcept { return hosts_; }
  [[nodiscard]] std::vector<std::unique_ptr<Line>>& lines() noexcept { return lines_; }
  [[nodiscard]] transport::PayloadStore& store() noexcept { return store_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

  /// Posts at now(). After a post on a host by any other way, call settle(host).
  bool post(Host& host, std::uint32_t qp, const transport::WorkRequest& request);
  void settle(Host& host);

  /// The next event; false when there is none, ever.
  bool step();
  /// All events up to and at `until`; the clock is there afterwards.
  void run_until(Instant until);
  /// Until nothing happens any more, or `until` is reached. Whether it came to rest.
  bool run_to_rest(Instant until);

 private:
  void deliver(Line& line);

  transport::PayloadStore store_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<std::unique_ptr<Host>> hosts_;
  struct Source {
    Line* line = nullptr;
    Host* host = nullptr;
  };
  std::vector<Source> sources_;
  std::vector<std::uint32_t> source_of_line_, source_of_host_, line_of_host_;
  EventHeap heap_;
  Instant now_;
  std::uint64_t events_ = 0;
};

}  // namespace lw::sim
