// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/verbs_qp.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <sys/resource.h>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::gen::endpoint {
namespace {

using wire::Transport;

ibv_qp_type type_of(Transport transport) noexcept {
  if (transport == Transport::ud) return IBV_QPT_UD;
  return transport == Transport::uc ? IBV_QPT_UC : IBV_QPT_RC;
}

ibv_mtu mtu_of(std::uint32_t bytes) noexcept {
  return static_cast<ibv_mtu>(std::countr_zero(bytes) - 7);  // 256 gives 1
}

ibv_ah_attr address_to(const RemoteEnd& remote) noexcept {
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  std::memcpy(address.grh.dgid.raw, remote.gid.bytes.data(), remote.gid.bytes.size());
  address.grh.sgid_index = remote.gid_index;
  address.grh.hop_limit = remote.traffic.hop_limit;
  address.grh.traffic_class = remote.traffic.traffic_class;
  address.grh.flow_label = remote.traffic.flow_label;
  address.sl = remote.traffic.service_level;
  return address;
}

}  // namespace

Result<VerbsCompletions> VerbsCompletions::create(const Device& device, std::uint32_t depth,
                                                  bool events) {
  const auto most = static_cast<std::uint32_t>(device.limits().max_cqe);
  if (depth > most)
    return fail(
        fmt::format("{} holds {} completions, the run needs {}: use fewer --buffers or --qps",
                    device.name(), most, depth),
        ExitCode::environment);
  VerbsCompletions made;
  if (events) made.channel_.reset(ibv_create_comp_channel(device.context()));
  made.queue_.reset(
      ibv_create_cq(device.context(), static_cast<int>(depth), nullptr, made.channel_.get(), 0));
  if (!made.queue_ || (events && !made.channel_))
    return fail(fmt::format("{}: no completion queue: {}", device.name(), last_error()),
                ExitCode::environment);
  if (events) ::fcntl(made.channel_->fd, F_SETFL, O_NONBLOCK);
  return made;
}

std::span<const ibv_wc> VerbsCompletions::poll() {
  const int count = ibv_poll_cq(queue_.get(), static_cast<int>(taken_.size()), taken_.data());
  return {taken_.data(), static_cast<std::size_t>(std::max(count, 0))};
}

void VerbsCompletions::wait(Duration timeout, int other) {
  if (!channel_) return;
  // Poll once more after requesting the event: earlier completions raise none.
  if (!asked_) {
    asked_ = ibv_req_notify_cq(queue_.get(), 0) == 0;
    return;
  }
  pollfd both[] = {{channel_->fd, POLLIN, 0}, {other, POLLIN, 0}};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  if (::poll(both, other < 0 ? 1 : 2, static_cast<int>(ms)) <= 0) return;
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) return;
  ibv_ack_cq_events(queue, 1);
  asked_ = false;
}

Result<VerbsQp> VerbsQp::create(const Device& device, ibv_pd* domain,
                                const VerbsCompletions& completions, const QpSpec& spec) {
  const auto most = static_cast<std::uint32_t>(device.limits().max_qp_wr);
  if (spec.sends > most || spec.receives > most)
    return fail(
        fmt::format("{} takes {} work requests per QP, the run needs {}: use fewer --buffers",
                    device.name(), most, std::max(spec.sends, spec.receives)),
        ExitCode::environment);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = completions.queue();
  wanted.qp_type = type_of(spec.transport);
  wanted.cap = {.max_send_wr = spec.sends,
                .max_recv_wr = spec.receives,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = spec.inline_bytes};
  VerbsQp made;
  made.qp_.reset(ibv_create_qp(domain, &wanted));
  if (!made.qp_)
    return fail(fmt::format("{}: no QP: {}{}", device.name(), last_error(),
                            spec.inline_bytes > 0
                                ? fmt::format("; {} bytes inline may be more than it takes: leave "
                                              "--inline out or use a smaller --size",
                                              spec.inline_bytes)
                                : ""),
                ExitCode::environment);
  made.domain_ = domain;
  made.device_ = device.name();
  made.transport_ = spec.transport;
  made.access_ = spec.access;
  made.psn_ = std::random_device{}() & 0xffffff;
  return made;
}

Result<void> VerbsQp::change(ibv_qp_attr& attributes, int mask, const char* state) {
  const int error = ibv_modify_qp(qp_.get(), &attributes, mask);
  if (error == 0) return {};
  return fail(
      fmt::format("{}: the QP can't be moved to {}: {}", device_, state, std::strerror(error)),
      ExitCode::environment);
}

Result<void> VerbsQp::init(std::uint16_t p_key_index) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.pkey_index = p_key_index;
  to.qkey = q_key_;
  to.qp_access_flags = access_;
  const int own = transport_ == Transport::ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  return change(to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own, "INIT");
}

Result<void> VerbsQp::make_ready_to_receive(const RemoteEnd& remote) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTR;
  if (transport_ == Transport::ud) return change(to, IBV_QP_STATE, "RTR");
  to.path_mtu = mtu_of(remote.mtu);
  to.dest_qp_num = remote.qp.qpn;
  to.rq_psn = remote.qp.psn;
  to.ah_attr = address_to(remote);
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (transport_ == Transport::rc) {
    to.max_dest_rd_atomic = static_cast<std::uint8_t>(std::min(remote.reads_taken, 255u));
    to.min_rnr_timer = 12;  // 640 us
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  return change(to, mask, "RTR");
}

Result<void> VerbsQp::make_ready_to_send(const RemoteEnd& remote) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTS;
  to.sq_psn = psn_;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (transport_ == Transport::rc) {
    to.timeout = remote.timeout;
    to.retry_cnt = remote.retries;
    to.rnr_retry = remote.rnr_retries;
    to.max_rd_atomic = static_cast<std::uint8_t>(std::min(remote.reads_sent, 255u));
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return change(to, mask, "RTS");
}

Result<void> VerbsQp::connect(const Device& device, const RemoteEnd& remote) {
  const auto p_key = device.p_key_index(remote.traffic.p_key);
  if (!p_key) return std::unexpected(p_key.error());
  remote_qpn_ = remote.qp.qpn;
  q_key_ = remote.q_key;
  if (transport_ == Transport::ud) {
    ibv_ah_attr address = address_to(remote);
    handle_.reset(ibv_create_ah(domain_, &address));
    if (!handle_)
      return fail(fmt::format("{}: no address handle to {}: {}", device_,
                              wire::to_string(remote.gid), last_error()),
                  ExitCode::environment);
  }
  if (auto moved = init(*p_key); !moved) return moved;
  if (auto moved = make_ready_to_receive(remote); !moved) return moved;
  return make_ready_to_send(remote);
}

Result<void> VerbsQp::post(std::span<ibv_send_wr> requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].next = i + 1 < requests.size() ? &requests[i + 1] : nullptr;
    if (handle_) requests[i].wr.ud = {handle_.get(), remote_qpn_, q_key_};
  }
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(qp_.get(), requests.data(), &refused);
  if (error == 0) return {};
  return fail(fmt::format("{}: a request was not taken: {}", device_, std::strerror(error)),
              ExitCode::failed);
}

Result<void> VerbsQp::post_receive(std::uint64_t id, std::uint64_t va, std::uint32_t size,
                                   std::uint32_t l_key) {
  ibv_sge piece{.addr = va, .length = size, .lkey = l_key};
  ibv_recv_wr request{};
  request.wr_id = id;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_recv(qp_.get(), &request, &refused);
  if (error == 0) return {};
  return fail(fmt::format("{}: a receive was not taken: {}", device_, std::strerror(error)),
              ExitCode::failed);
}

Result<MemoryRegion> register_memory(const Device& device, ibv_pd* domain, std::byte* data,
                                     std::uint64_t size, unsigned access) {
  MemoryRegion made(ibv_reg_mr(domain, data, size, access));
  if (made) return made;
  const std::string reason = last_error();
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const std::string help =
      limit.rlim_cur < size
          ? fmt::format(
                "; the limit of locked memory is {}: `ulimit -l unlimited` as root, or "
                "`* - memlock unlimited` in /etc/security/limits.conf",
                format_bytes(static_cast<double>(limit.rlim_cur)))
          : "";
  return fail(fmt::format("{}: {} can't be registered: {}{}", device.name(),
                          format_bytes(static_cast<double>(size)), reason, help),
              ExitCode::environment);
}

std::string explain(ibv_wc_status status) {
  const char* help = "";
  if (status == IBV_WC_RETRY_EXC_ERR) help = ": the other side does not answer";
  if (status == IBV_WC_RNR_RETRY_EXC_ERR) help = ": the other side posts no receive";
  if (status == IBV_WC_REM_ACCESS_ERR) help = ": the other side does not allow it at that address";
  return fmt::format("{}{}", ibv_wc_status_str(status), help);
}

}  // namespace lw::gen::endpoint
