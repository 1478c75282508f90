// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/time.h"
#include "gen/perf/session/handover.h"
#include "gen/rdma/device.h"

namespace lw::gen::rdma {

/// A completion queue, polled or with events.
class Completions {
 public:
  /// `depth`: most completions that wait at once. Errors (environment): the device's limit.
  static Result<Completions> create(const Device& device, std::uint32_t depth, bool events);

  /// Takes up to 64 completions, which are valid until the next call. Empty: there are none.
  std::span<const ibv_wc> poll();
  /// Without events: returns at once. With events: sleeps until there is a completion, `timeout` is
  /// over, or `other`, a descriptor, is readable.
  void wait(Duration timeout, int other);

  [[nodiscard]] ibv_cq* queue() const noexcept { return queue_.get(); }
  [[nodiscard]] bool has_events() const noexcept { return channel_ != nullptr; }

 private:
  CompletionChannel channel_;
  CompletionQueue queue_;
  bool asked_ = false;  // for an event
  std::array<ibv_wc, 64> taken_{};
};

/// What a QP is made for.
struct QpSpec {
  wire::Transport transport = wire::Transport::rc;
  std::uint32_t sends = 1, receives = 1;  // work requests posted at once
  std::uint32_t inline_bytes = 0;         // of a message that is sent inline
  unsigned access = 0;                    // IBV_ACCESS_REMOTE_* that the peer needs
};

/// The other end, and how to reach it.
struct RemoteEnd {
  handover::Qp qp;
  wire::Ipv6Address gid;
  std::uint8_t gid_index = 0;  // the own one
  std::uint32_t mtu = 1024;    // bytes
  std::uint8_t timeout = 18, retries = 6, rnr_retries = 6;
  std::uint32_t reads_sent = 1, reads_taken = 1;  // READs and atomics outstanding, each way
  std::uint32_t q_key = 0;
};

/// A QP of a device. The device, the protection domain and the completion queue outlive it.
class VerbsQp {
 public:
  /// Errors (environment): the device's limits, with what they are.
  static Result<VerbsQp> create(const Device& device, ibv_pd* domain,
                                const Completions& completions, const QpSpec& spec);
  /// Moves the QP to RTR and RTS. Errors (environment): the device refuses the parameters.
  Result<void> connect(const RemoteEnd& remote);

  [[nodiscard]] std::uint32_t qpn() const noexcept { return qp_->qp_num; }
  [[nodiscard]] std::uint32_t psn() const noexcept { return psn_; }

  /// Posts a list of requests; UD: fills in the destination. Errors (failed): the device's.
  Result<void> post(std::span<ibv_send_wr> requests);
  /// Posts a receive into registered memory. Errors (failed): the device's.
  Result<void> post_receive(std::uint64_t id, std::uint64_t va, std::uint32_t size,
                            std::uint32_t l_key);

 private:
  [[nodiscard]] Result<void> init(unsigned access, std::uint32_t q_key);
  [[nodiscard]] Result<void> make_ready_to_receive(const RemoteEnd& remote);
  [[nodiscard]] Result<void> make_ready_to_send(const RemoteEnd& remote);
  [[nodiscard]] Result<void> change(ibv_qp_attr& attributes, int mask, const char* state);

  AddressHandle handle_;  // UD; the QP goes first
  QueuePair qp_;
  ibv_pd* domain_ = nullptr;
  std::string device_;
  wire::Transport transport_{};
  unsigned access_ = 0;
  std::uint32_t psn_ = 0, remote_qpn_ = 0, q_key_ = 0;
};

/// Registers memory. Errors (environment): the limit of locked memory, with the command that raises
/// it.
Result<MemoryRegion> register_memory(const Device& device, ibv_pd* domain, std::byte* data,
                                     std::uint64_t size, unsigned access);

/// "RETRY_EXC_ERR (transport retry counter exceeded): the other side does not answer"
std::string explain(ibv_wc_status status);

}  // namespace lw::gen::rdma
