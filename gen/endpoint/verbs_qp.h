// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/time.h"
#include "gen/endpoint/device.h"
#include "gen/perf/session/handover.h"

namespace lw::gen::endpoint {

/// A completion queue, polled or with events.
class VerbsCompletions {
 public:
  /// `depth`: most completions that wait at the same time. Errors (environment): the device's
  /// limit.
  static Result<VerbsCompletions> create(const Device& device, std::uint32_t depth, bool events);

  /// Takes up to 64 completions. Empty if there are none; valid until the next call.
  std::span<const ibv_wc> poll();
  /// With events: sleeps until there is a completion, `timeout` is over, or the descriptor `other`
  /// is readable. Without events: returns at once.
  void wait(Duration timeout, int other);

  [[nodiscard]] ibv_cq* queue() const noexcept { return queue_.get(); }
  [[nodiscard]] bool has_events() const noexcept { return channel_ != nullptr; }

 private:
  CompletionChannel channel_;
  CompletionQueue queue_;
  bool asked_ = false;  // an event was requested
  std::array<ibv_wc, 64> taken_{};
};

/// Parameters of a QP's creation.
struct QpSpec {
  wire::Transport transport = wire::Transport::rc;
  std::uint32_t sends = 1, receives = 1;  // work requests posted at once
  std::uint32_t inline_bytes = 0;         // of messages sent inline
  unsigned access = 0;                    // IBV_ACCESS_REMOTE_* for the peer's requests
};

/// The remote QP, and the parameters of the path to it.
struct RemoteEnd {
  handover::Qp qp;
  wire::Ipv6Address gid;
  std::uint8_t gid_index = 0;  // GID index of this side
  std::uint32_t mtu = 1024;    // bytes
  std::uint8_t timeout = 18, retries = 6, rnr_retries = 6;
  // READs and atomics outstanding, in each direction
  std::uint32_t reads_sent = 1, reads_taken = 1;
  std::uint32_t q_key = 0;
  QpClass traffic = {};  // of the packets to it
};

/// A QP of a device. The device, the protection domain and the completion queue must outlive it.
class VerbsQp {
 public:
  /// Errors (environment): a limit of the device; the message states it.
  static Result<VerbsQp> create(const Device& device, ibv_pd* domain,
                                const VerbsCompletions& completions, const QpSpec& spec);
  /// Moves the QP to RTR and RTS. Errors (environment): the device refuses the parameters.
  Result<void> connect(const Device& device, const RemoteEnd& remote);

  [[nodiscard]] std::uint32_t qpn() const noexcept { return qp_->qp_num; }
  [[nodiscard]] std::uint32_t psn() const noexcept { return psn_; }

  /// Posts a list of requests. For UD, sets their destination. Errors (failed): those of the
  /// device.
  Result<void> post(std::span<ibv_send_wr> requests);
  /// Posts a receive into registered memory. Errors (failed): those of the device.
  Result<void> post_receive(std::uint64_t id, std::uint64_t va, std::uint32_t size,
                            std::uint32_t l_key);

 private:
  [[nodiscard]] Result<void> init(std::uint16_t p_key_index);
  [[nodiscard]] Result<void> make_ready_to_receive(const RemoteEnd& remote);
  [[nodiscard]] Result<void> make_ready_to_send(const RemoteEnd& remote);
  [[nodiscard]] Result<void> change(ibv_qp_attr& attributes, int mask, const char* state);

  AddressHandle handle_;  // for UD; the QP is destroyed first
  QueuePair qp_;
  ibv_pd* domain_ = nullptr;
  std::string device_;
  wire::Transport transport_{};
  unsigned access_ = 0;
  std::uint32_t psn_ = 0, remote_qpn_ = 0, q_key_ = 0;
};

/// Registers memory. Errors (environment): the limit of locked memory; the message names the
/// command that raises it.
Result<MemoryRegion> register_memory(const Device& device, ibv_pd* domain, std::byte* data,
                                     std::uint64_t size, unsigned access);

/// Returns an explanation: "RETRY_EXC_ERR (transport retry counter exceeded): the other side does
/// not answer".
std::string explain(ibv_wc_status status);

}  // namespace lw::gen::endpoint
