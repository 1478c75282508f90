// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/stalls.h"
#include "gen/endpoint/clock.h"
#include "gen/endpoint/device.h"
#include "gen/endpoint/region.h"
#include "gen/endpoint/verbs_qp.h"
#include "gen/perf/report/perf_report.h"
#include "gen/perf/session/handover_link.h"
#include "gen/perf/session/payload_pattern.h"
#include "perf/config.h"

namespace lw::gen::endpoint {

/// Verbs settings of a run, in addition to perf::PerfConfig, of which it uses operation, size, QPs,
/// iterations, duration and read_back, and of qp: transport, mtu, tx_depth, max_rd_atomic, timeout,
/// retries.
struct VerbsOptions {
  bool inlined = false;     // inline data in the work requests of SENDs and WRITEs
  bool events = false;      // sleep until a completion, instead of polling
  std::uint32_t list = 1;   // work requests per post
  bool periodic = false;    // one completion per tx_depth / 2 requests
  std::uint32_t slots = 0;  // least number of slots of a QP in the server's region
  bool checked = true;      // messages differ in their content, which is checked
};

/// The server of a run, and the local device.
struct VerbsClientOptions {
  std::string connect, token;
  DeviceOptions device;
  Duration wait = std::chrono::seconds(10);  // longest wait for the TCP connection
  VerbsOptions verbs;
  QpClass traffic;
};

// longest wait for an Offer, a Report or a message
inline constexpr Duration kAnswerWithin = std::chrono::seconds(60);

/// A client's session with a server: memory, QPs and their requests, from the connection to the
/// server's report. One thread; the constructor's arguments must outlive it.
class ClientSession {
 public:
  /// A QP of the client.
  struct Flow {
    std::size_t index = 0;
    VerbsQp qp;
    handover::Qp remote;
    PayloadPattern sent, received;
    std::uint64_t posted = 0, completed = 0;
    std::uint64_t last_signalled = 0;  // number of requests up to the last signalled one
    [[nodiscard]] std::uint64_t in_flight() const noexcept { return posted - completed; }
  };

  /// `latency`: one message at a time, there and back. `stop` ends waits early.
  ClientSession(const Device& device, const VerbsClientOptions& options,
                const perf::PerfConfig& config, bool latency, const std::atomic<bool>& stop);

  /// Makes memory and QPs and connects them to the server's. Errors: a limit of the device, a
  /// server that is not reached or refuses.
  Result<void> open();
  /// Gets the server's report and adds it to `outcome`. Errors (failed): no report, or a failure
  /// in it.
  Result<void> end(PerfOutcome& outcome);
  /// The same after a run both ways, whose Done was sent.
  Result<void> end_both(PerfOutcome& outcome);

  // The steps of open() and end(), for a side that has a connection already.

  /// Makes memory and QPs.
  Result<void> prepare();
  [[nodiscard]] handover::Hello hello(const PortGid& gid) const;
  /// Connects the QPs to those of the offer.
  Result<void> connect(handover::Offer offer, const PortGid& gid);
  [[nodiscard]] handover::Done done() const;
  Result<void> take_report(const handover::Report& report, PerfOutcome& outcome) const;
  /// The connection to the server. Requires open().
  [[nodiscard]] handover::Client& link() noexcept { return *link_; }

  [[nodiscard]] const perf::PerfConfig& config() const noexcept { return config_; }
  [[nodiscard]] const VerbsOptions& verbs() const noexcept { return options_.verbs; }
  [[nodiscard]] const SessionParams& params() const noexcept { return params_; }
  [[nodiscard]] bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::vector<Flow>& flows() noexcept { return flows_; }
  [[nodiscard]] Flow& flow_of(std::uint32_t qpn) noexcept;

  /// Puts message `number` into its slot; for a READ or an atomic, clears an earlier answer from
  /// it.
  void fill(Flow& flow, std::uint64_t number);
  /// Returns the work request of message `number`, which refers to `piece`.
  [[nodiscard]] ibv_send_wr request_of(const Flow& flow, std::uint64_t number, ibv_sge& piece,
                                       bool signalled) const;
  /// Returns the READ that fetches message `number` again, which refers to `piece`.
  [[nodiscard]] ibv_send_wr read_back_of(const Flow& flow, std::uint64_t number,
                                         ibv_sge& piece) const;
  /// Returns true if a READ or an atomic returned the expected data.
  [[nodiscard]] bool right(const Flow& flow, std::uint64_t number) const;
  /// The place of an echo or an answer, as bytes and as the piece of a receive.
  [[nodiscard]] std::span<std::byte> answer(const Flow& flow, std::uint64_t number) const noexcept {
    return slot(inbox_, flow, number);
  }
  [[nodiscard]] ibv_sge answer_piece(const Flow& flow, std::uint64_t number) const noexcept {
    return piece_of(inbox_, flow, number);
  }

  /// Takes completions; see VerbsCompletions::poll().
  [[nodiscard]] std::span<const ibv_wc> poll() { return completions_->poll(); }
  /// Returns the error of a completion that isn't a success.
  [[nodiscard]] Error failure_of(const ibv_wc& done) const;
  /// Call when a message has completed.
  void note_progress(Instant now) noexcept {
    progressed_ = now;
    stalls_.poll(now);
  }
  /// For how long this thread stood still, since the server's offer.
  [[nodiscard]] const Stalls& stalls() const noexcept { return stalls_.stalls(); }
  /// Call after a round without work. Errors (failed): nothing has completed for too long, or the
  /// server is gone and its answers have timed out; a signal came, and requests are still open
  /// kWaitAfterStop later.
  Result<void> idle();

 private:
  /// Registered memory for the slots of all QPs; empty if a run needs none.
  struct Box {
    Region region;
    MemoryRegion registered;
  };

  Result<void> make_memory();
  Result<void> make_box(Box& box, unsigned access);
  Result<void> make_qps();
  Result<void> connect_qps(const PortGid& gid);
  [[nodiscard]] std::span<std::byte> slot(const Box& box, const Flow& flow,
                                          std::uint64_t number) const noexcept {
    return box.region.bytes(layout_.at(flow.index, number), params_.size);
  }
  [[nodiscard]] ibv_sge piece_of(const Box& box, const Flow& flow,
                                 std::uint64_t number) const noexcept {
    return {.addr = box.region.va() + layout_.at(flow.index, number),
            .length = params_.size,
            .lkey = box.registered->lkey};
  }
  [[nodiscard]] std::uint64_t remote_slot(const Flow& flow, std::uint64_t number) const noexcept {
    return flow.remote.va + number % params_.slots * params_.size;
  }
  [[nodiscard]] Duration longest_retry() const noexcept;

  const Device& device_;
  const VerbsClientOptions& options_;
  const perf::PerfConfig& config_;
  SessionParams params_;
  const std::atomic<bool>& stop_;
  std::optional<handover::Client> link_;
  SlotLayout layout_;
  ProtectionDomain domain_;
  Box inbox_, outbox_;  // for data from the server; for messages to the server
  std::optional<VerbsCompletions> completions_;
  std::vector<Flow> flows_;
  handover::Offer offer_;
  Instant progressed_, check_at_;
  StallWatch stalls_;
  std::uint64_t idle_rounds_ = 0;
  std::optional<Error> gone_;  // error of the server's TCP connection
  Instant gone_at_;
  std::optional<Instant> stopped_at_;  // when a signal was first seen
};

}  // namespace lw::gen::endpoint
