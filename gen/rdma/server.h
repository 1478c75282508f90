// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/sequence_tracker.h"
#include "gen/perf/session/handover_link.h"
#include "gen/rdma/device.h"
#include "gen/rdma/record_ring.h"
#include "gen/rdma/region.h"
#include "gen/rdma/signed_messages.h"
#include "gen/rdma/verbs_qp.h"

namespace lw::gen::rdma {

struct ServeOptions {
  DeviceOptions device;
  RegionSpec region;
  std::uint32_t most_qps = 64;               // of a session
  std::optional<wire::Transport> transport;  // empty: any
  handover::Admission admission;
  std::uint64_t sessions = 0;           // 0: until a signal
  bool events = false;                  // sleep until a completion, instead of polling
  std::optional<RecordReader> records;  // a run's WRITEs are records in a ring, which is followed
  RecordRing::Take take;                // gets each record
};

/// A session of a server: QPs and a registered part of the region, for one client. All of it ends
/// with the object. One thread; device and region outlive it.
class ServerSession {
 public:
  /// Makes the QPs ready to receive. Errors: the run needs more than the region, or another
  /// transport (failed); the device's (environment).
  static Result<std::unique_ptr<ServerSession>> start(const Device& device, const Region& region,
                                                      const ServeOptions& options,
                                                      const handover::Admitted& client);

  [[nodiscard]] const handover::Offer& offer() const noexcept { return offer_; }

  /// Takes completions and looks for WRITEs to echo. Returns whether there was anything. Errors
  /// (failed): a completion in error.
  Result<bool> poll();
  /// With events: sleeps until something happens.
  void wait(Duration timeout, int link) { completions_->wait(timeout, link); }
  /// Whether every message that the client has sent is here; true where a server can't know.
  [[nodiscard]] bool complete(const handover::Done& done) const noexcept;
  /// Checks what only the end can tell, and returns the counters of the session. `done` is null if
  /// the client left.
  [[nodiscard]] handover::Report report(const handover::Done* done);
  /// Of a ring of records; null: the session has none.
  [[nodiscard]] const RingCounts* ring() const noexcept {
    return ring_ ? &ring_->counts() : nullptr;
  }
  /// What the messages' signatures said, after report(); null: they were not read. Call it once.
  [[nodiscard]] std::unique_ptr<SignedMessages> take_signatures() noexcept {
    return std::move(signatures_);
  }

 private:
  struct Flow {
    VerbsQp qp;
    handover::Qp client;
    PayloadPattern sent, echoed;
    std::uint64_t arrived = 0;          // receives completed, or WRITEs seen
    std::uint64_t received = 0;         // receives posted so far
    std::byte awaited{};                // last byte of the next WRITE that is echoed
    std::uint64_t next = 0;             // after the newest signed WRITE
    analysis::SequenceTracker numbers;  // of messages that may be lost
  };

  ServerSession(const Device& device, const Region& region, const handover::Hello& hello);
  /// Why the client's run can't be served, or is none of records; empty: it is.
  [[nodiscard]] std::string unfit_for(const ServeOptions& options) const;
  [[nodiscard]] std::string unfit_for(const RecordReader& records) const;
  Result<void> register_all();
  Result<void> make_qps(const ServeOptions& options, const PortGid& gid);
  void prepare_memory();
  void await_write(std::size_t flow, std::uint64_t number);
  Result<void> post_receives(std::size_t flow);
  Result<void> take(const ibv_wc& done);
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
  Region echoes_;  // own memory, which the client doesn't reach
  ProtectionDomain domain_;
  MemoryRegion memory_, echo_memory_;
  std::optional<Completions> completions_;
  std::vector<Flow> flows_;
  handover::Offer offer_;
  handover::Report report_;
  Counters before_;
  std::uint32_t receives_ = 0;  // posted per QP
  RecordRing::Take take_;
  std::optional<RecordRing> ring_;
  std::unique_ptr<SignedMessages> signatures_;
};

/// A session that ended.
struct SessionEnd {
  wire::IpAddress peer;
  handover::Hello hello;
  handover::Report report;
  double seconds = 0, cpu_share = 0;  // of one core
  std::optional<RingCounts> ring = {};
  std::unique_ptr<SignedMessages> signatures = {};  // null: not read
};

/// What is called while a server runs.
struct ServeEvents {
  std::function<void(std::uint16_t port, const Device& device)> ready;  // clients may come
  std::function<void(const SessionEnd&)> ended;
  std::function<void(const std::string& who_and_why)> refused;
};

/// Serves clients until `stop`, or the number of sessions is reached. Errors: the device's, the
/// region's, the TCP port's.
Result<void> serve(const ServeOptions& options, const std::atomic<bool>& stop,
                   const ServeEvents& events);

}  // namespace lw::gen::rdma
