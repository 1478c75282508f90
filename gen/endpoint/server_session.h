// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/sequence_tracker.h"
#include "gen/endpoint/arrivals/record_ring.h"
#include "gen/endpoint/arrivals/signed_messages.h"
#include "gen/endpoint/device.h"
#include "gen/endpoint/region.h"
#include "gen/endpoint/verbs_qp.h"
#include "gen/perf/session/handover_link.h"
#include "gen/perf/session/payload_pattern.h"

namespace lw::gen::endpoint {

struct ServeOptions {
  DeviceOptions device;
  RegionSpec region;
  std::uint32_t most_qps = 64;               // limit per session
  std::optional<wire::Transport> transport;  // accepted transport; empty: any
  handover::Admission admission;
  std::uint64_t sessions = 0;          // number of sessions to serve; 0: until a signal
  roce::ClassOfTraffic traffic;        // where it has no values, that of the client
  bool events = false;                 // sleep until a completion, instead of polling
  Duration idle_limit = kIdleSession;  // ends a session without a sign of its client; 0: never
  bool keep = false;                   // plain memory keeps its data for the next client
  // if set, the WRITEs of a run are records in a ring, which is read
  std::optional<RecordReader> records;
  RecordRing::OnRecord on_record;  // called with each record
};

/// A server's session with one client: the QPs and the registered part of the region. The
/// destructor ends both. One thread; device and region must outlive it.
class ServerSession {
 public:
  /// Makes the QPs ready to receive. `own`: the address of this side. Errors: the run needs a
  /// larger region or another transport (failed); those of the device (environment).
  static Result<std::unique_ptr<ServerSession>> start(const Device& device, const Region& region,
                                                      const ServeOptions& options,
                                                      const handover::Hello& hello,
                                                      const wire::IpAddress& own);

  [[nodiscard]] const handover::Offer& offer() const noexcept { return offer_; }

  /// Handles completions, and WRITEs to echo. Returns true if there was anything to do. Errors
  /// (failed): a completion in error.
  Result<bool> poll();
  /// With events: sleeps until there is something to do.
  void wait(Duration timeout, int link) { completions_->wait(timeout, link); }
  /// Returns true if every message that the client has sent has arrived, or if the server can't
  /// know.
  [[nodiscard]] bool complete(const handover::Done& done) const noexcept;
  /// Makes the checks that are possible only at the end, and returns the session's counters. `done`
  /// is null if the client left.
  [[nodiscard]] handover::Report report(const handover::Done* done);
  /// Returns true if poll() tells of each message: by a completion, an echo or a record.
  [[nodiscard]] bool sees_messages() const noexcept {
    return takes_receives() || hello_.params.echo || ring_.has_value();
  }
  /// Counters of the ring of records; null if the session has none.
  [[nodiscard]] const RingCounts* ring() const noexcept {
    return ring_ ? &ring_->counts() : nullptr;
  }
  /// Returns the results of the messages' signatures; null if they were not read. Call it once,
  /// after report().
  [[nodiscard]] std::unique_ptr<SignedMessages> take_signatures() noexcept {
    return std::move(signatures_);
  }

 private:
  struct Flow {
    VerbsQp qp;
    handover::Qp client;
    PayloadPattern sent, echoed;
    std::uint64_t arrived = 0;          // completed receives, or WRITEs seen
    std::uint64_t received = 0;         // posted receives
    std::byte awaited{};                // last byte of the next WRITE to echo
    std::uint64_t next = 0;             // slot after the newest signed WRITE
    analysis::SequenceTracker numbers;  // for messages that may be lost
  };

  ServerSession(const Device& device, const Region& region, const handover::Hello& hello);
  /// Returns why the client's run can't be served, or is not a run of records when one is required;
  /// empty if it can.
  [[nodiscard]] std::string unfit_for(const ServeOptions& options) const;
  [[nodiscard]] std::string unfit_for(const RecordReader& records) const;
  Result<void> register_all();
  Result<void> make_qps(const ServeOptions& options, const PortGid& gid);
  void prepare_memory();
  void await_write(std::size_t flow, std::uint64_t number);
  Result<void> post_receives(std::size_t flow);
  Result<void> complete(const ibv_wc& done);
  [[nodiscard]] std::uint64_t bytes_of(const ibv_wc& done) const noexcept;
  std::uint64_t take_message(std::size_t flow, const ibv_wc& done);
  bool take_signed(std::size_t flow, const ibv_wc& done, std::uint64_t place);
  Result<bool> look_for_writes();
  Result<void> echo(std::size_t flow, std::uint64_t number);
  void count(Flow& flow, std::uint64_t number, bool right);
  [[nodiscard]] ServerStats last_writes(const handover::Done& done) const;
  void check_last_writes(const handover::Done& done);
  void finish_ring(const handover::Done* done);
  [[nodiscard]] std::span<std::byte> message(std::size_t flow, std::uint64_t number) const;
  [[nodiscard]] bool takes_receives() const noexcept;
  [[nodiscard]] std::size_t index_of(std::uint32_t qpn) const noexcept;

  const Device& device_;
  const Region& region_;
  handover::Hello hello_;
  SlotLayout layout_;
  Region echoes_;  // separate memory, which the client can't access
  ProtectionDomain domain_;
  MemoryRegion memory_, echo_memory_;
  std::optional<VerbsCompletions> completions_;
  std::vector<Flow> flows_;
  handover::Offer offer_;
  handover::Report report_;
  Counters before_;
  std::uint32_t receives_ = 0;  // posted receives per QP
  RecordRing::OnRecord on_record_;
  std::optional<RecordRing> ring_;
  std::unique_ptr<SignedMessages> signatures_;
};

}  // namespace lw::gen::endpoint
