// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/server_session.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>

#include <fmt/format.h>

#include "core/quantity.h"
#include "transport/qp_config.h"

namespace lw::gen::endpoint {
namespace {

using handover::Done, handover::Hello, handover::Report;
using wire::Operation;

constexpr std::uint32_t kSpareCompletions = 16;

/// Returns the access to the server's memory that the client's requests need.
unsigned access_of(const SessionParams& params) noexcept {
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  if (params.operation == Operation::write) access |= IBV_ACCESS_REMOTE_WRITE;
  if (params.operation == Operation::read_request || params.read_back)
    access |= IBV_ACCESS_REMOTE_READ;
  if (wire::is_atomic(params.operation)) access |= IBV_ACCESS_REMOTE_ATOMIC;
  return access;
}

/// Returns the parameters of a session's slots: all atomics of a QP use one word of 8 bytes.
SessionParams in_region(SessionParams params) noexcept {
  if (wire::is_atomic(params.operation)) params.size = 8;
  if (wire::is_atomic(params.operation)) params.slots = 1;
  return params;
}

/// Returns true for WRITEs without an immediate, which the server can see only in memory.
bool is_plain_write(const SessionParams& params) noexcept {
  return params.operation == Operation::write && !params.immediate;
}

/// Returns the number of receives of a QP. The first packets of a WRITE change its slot before the
/// last packet takes a receive, so a slot stays valid until it is checked only if there are fewer
/// receives than slots.
std::uint32_t receives_of(const Hello& hello, const Device& device) noexcept {
  const SessionParams& params = hello.params;
  const auto most = static_cast<std::uint32_t>(device.limits().max_qp_wr);
  const bool write = params.immediate && params.operation == Operation::write;
  const bool spare = write && params.slots > params.depth;
  // The sender of signed frames ignores acknowledgements: only the receives limit it.
  const bool one_less = write && hello.signatures && !spare && params.slots > 1;
  return std::min(params.slots - (spare ? params.depth : one_less ? 1 : 0), most);
}

std::uint32_t counter_of(const Counters& counters, const char* name, const char* other) {
  for (const char* each : {name, other})
    if (const auto at = counters.find(each); at != counters.end())
      return static_cast<std::uint32_t>(at->second);
  return 0;
}

}  // namespace

ServerSession::ServerSession(const Device& device, const Region& region, const Hello& hello)
    : device_(device),
      region_(region),
      hello_(hello),
      layout_(in_region(hello.params), hello.qps.size()),
      before_(device.fresh_counters()) {}

Result<std::unique_ptr<ServerSession>> ServerSession::start(const Device& device,
                                                            const Region& region,
                                                            const ServeOptions& options,
                                                            const Hello& hello,
                                                            const wire::IpAddress& own) {
  std::unique_ptr<ServerSession> session(new ServerSession(device, region, hello));
  if (const std::string why = session->unfit_for(options); !why.empty())
    return fail(why, ExitCode::failed);
  if (options.records) session->hello_.checked = false;  // the messages are records
  auto gid = device.gid_for(own);
  if (!gid) return std::unexpected(gid.error());
  if (auto made = session->register_all(); !made) return std::unexpected(made.error());
  if (auto made = session->make_qps(options, *gid); !made) return std::unexpected(made.error());
  if (hello.signatures && session->takes_receives() && !options.records)
    session->signatures_ = std::make_unique<SignedMessages>(hello, gid->gid);
  session->prepare_memory();
  if (options.records) {
    session->on_record_ = options.on_record;
    session->ring_.emplace(*options.records, region.bytes(0, *session->layout_.size()));
  }
  return session;
}

std::string ServerSession::unfit_for(const ServeOptions& options) const {
  if (options.transport && *options.transport != hello_.params.transport)
    return "this server has another --transport";
  const std::size_t qps = hello_.qps.size();
  if (qps > options.most_qps)
    return fmt::format("{} QPs: this server has --qps {}", qps, options.most_qps);
  const auto size = layout_.size();
  if (!size || *size > region_.size())
    return fmt::format(
        "the run needs a region of {} ({} QPs x {} slots of {} B), and the server has {}: use a "
        "smaller --size, fewer --buffers, or a larger --region there",
        size ? format_bytes(static_cast<double>(*size)) : "more than 2^64 B", qps, layout_.slots(),
        layout_.stride(), format_bytes(static_cast<double>(region_.size())));
  return options.records ? unfit_for(*options.records) : "";
}

std::string ServerSession::unfit_for(const RecordReader& records) const {
  const SessionParams& params = hello_.params;
  if (params.operation != Operation::write || params.echo || hello_.qps.size() != 1)
    return "this server takes records: WRITEs on one QP, without an echo";
  if (params.size != records.size())
    return fmt::format("this server takes records of {} B, not of {} B", records.size(),
                       params.size);
  if (layout_.slots() > records.counter_mask() / 2)
    return fmt::format("a ring of {} records needs a longer counter", layout_.slots());
  return "";
}

/// Registers the memory. Echoes are sent from separate memory, which the client's requests can't
/// access.
Result<void> ServerSession::register_all() {
  domain_.reset(ibv_alloc_pd(device_.context()));
  if (!domain_)
    return fail(fmt::format("{}: no protection domain: {}", device_.name(), last_error()),
                ExitCode::environment);
  auto memory = register_memory(device_, domain_.get(), region_.data(), *layout_.size(),
                                access_of(hello_.params));
  if (!memory) return std::unexpected(memory.error());
  memory_ = std::move(*memory);
  if (!hello_.params.echo) return {};
  auto echoes = Region::map({.size = *layout_.size(), .file = "", .huge_pages = false});
  if (!echoes) return std::unexpected(echoes.error());
  echoes_ = std::move(*echoes);
  auto registered = register_memory(device_, domain_.get(), echoes_.data(), echoes_.size(), 0);
  if (!registered) return std::unexpected(registered.error());
  echo_memory_ = std::move(*registered);
  return {};
}

Result<void> ServerSession::make_qps(const ServeOptions& options, const PortGid& gid) {
  const SessionParams& params = hello_.params;
  const auto qps = static_cast<std::uint32_t>(hello_.qps.size());
  const auto most = static_cast<std::uint32_t>(device_.limits().max_cqe) - kSpareCompletions;
  receives_ = takes_receives() ? std::min(receives_of(hello_, device_), most / (2 * qps)) : 0;
  const std::uint32_t echoes =
      params.echo ? std::min({params.depth + transport::kSpareRequests, most / (2 * qps),
                              static_cast<std::uint32_t>(device_.limits().max_qp_wr)})
                  : 1;
  auto completions =
      VerbsCompletions::create(device_, qps * (receives_ + echoes) + kSpareCompletions,
                               options.events && !(params.echo && is_plain_write(params)));
  if (!completions) return std::unexpected(completions.error());
  completions_ = std::move(*completions);
  offer_ = {.qps = {},
            .va = region_.va(),
            .size = *layout_.size(),
            .r_key = memory_->rkey,
            .gid = gid.gid,
            .rocev1 = !gid.rocev2,
            .mtu = std::min(hello_.mtu, device_.mtu()),
            .q_key = std::max(1u, memory_->rkey & 0x7fffffff),
            .max_rd_atomic = static_cast<std::uint32_t>(device_.limits().max_qp_rd_atom)};
  const QpClass traffic = qp_class_of(options.traffic.over(class_of(hello_.traffic)));
  for (std::size_t i = 0; i < hello_.qps.size(); ++i) {
    auto qp = VerbsQp::create(device_, domain_.get(), *completions_,
                              {.transport = params.transport,
                               .sends = echoes,
                               .receives = std::max(1u, receives_),
                               .access = access_of(params)});
    if (!qp) return std::unexpected(qp.error());
    const handover::Qp& client = hello_.qps[i];
    if (auto connected = qp->connect(device_, {.qp = client,
                                               .gid = hello_.gid,
                                               .gid_index = gid.index,
                                               .mtu = offer_.mtu,
                                               .timeout = hello_.timeout,
                                               .retries = hello_.retries,
                                               .rnr_retries = hello_.rnr_retries,
                                               .reads_sent = 1,
                                               .reads_taken = offer_.max_rd_atomic,
                                               .q_key = offer_.q_key,
                                               .traffic = traffic});
        !connected)
      return connected;
    offer_.qps.push_back({.qpn = qp->qpn(),
                          .psn = qp->psn(),
                          .va = region_.va() + layout_.at(i, 0) - layout_.grh(),
                          .r_key = memory_->rkey});
    flows_.push_back({.qp = std::move(*qp),
                      .client = client,
                      .sent = PayloadPattern(Side::client, client.qpn),
                      .echoed = PayloadPattern(Side::responder, client.qpn),
                      .numbers = analysis::SequenceTracker()});
    if (auto posted = post_receives(i); !posted) return posted;
  }
  return {};
}

/// Clears messages of earlier sessions, so that none is taken for a message of this one, and writes
/// the messages for READs.
void ServerSession::prepare_memory() {
  const SessionParams& params = hello_.params;
  const std::uint64_t size = *layout_.size();
  if (wire::is_atomic(params.operation) || signatures_) {
    std::memset(region_.data(), 0, size);
  } else if (hello_.checked && params.operation != Operation::read_request) {
    PayloadPattern::clear(region_.bytes(0, size));
  }
  for (std::size_t i = 0; i < hello_.qps.size(); ++i) {
    if (hello_.checked && params.operation == Operation::read_request)
      for (std::uint64_t n = 0; n < layout_.slots(); ++n) flows_[i].echoed.write(message(i, n), n);
    if (params.echo && is_plain_write(params)) await_write(i, 0);
  }
}

/// Sets the last byte of a slot to a value that differs from that of the next message: the last
/// byte arrives last.
void ServerSession::await_write(std::size_t index, std::uint64_t number) {
  Flow& flow = flows_[index];
  const auto slot = message(index, number);
  flow.sent.write(slot, number);
  flow.awaited = slot.back();
  slot.back() = ~slot.back();
}

std::span<std::byte> ServerSession::message(std::size_t flow, std::uint64_t number) const {
  return region_.bytes(layout_.at(flow, number), layout_.stride() - layout_.grh());
}

bool ServerSession::takes_receives() const noexcept { return hello_.params.takes_receive(); }

std::size_t ServerSession::index_of(std::uint32_t qpn) const noexcept {
  const auto at = std::ranges::find(flows_, qpn, [](const Flow& flow) { return flow.qp.qpn(); });
  return static_cast<std::size_t>(at - flows_.begin());
}

/// Posts receives up to the number of the session. The receive for an immediate has no memory.
Result<void> ServerSession::post_receives(std::size_t index) {
  Flow& flow = flows_[index];
  const bool send = hello_.params.operation == Operation::send;
  for (; flow.received < flow.arrived + receives_; ++flow.received) {
    const std::uint64_t at = region_.va() + layout_.at(index, flow.received) - layout_.grh();
    const auto size = send ? static_cast<std::uint32_t>(layout_.stride()) : 0;
    if (auto posted = flow.qp.post_receive(flow.received, at, size, memory_->lkey); !posted)
      return posted;
  }
  return {};
}

Result<bool> ServerSession::poll() {
  const auto completed = completions_->poll();
  for (const ibv_wc& each : completed)
    if (auto handled = complete(each); !handled) return std::unexpected(handled.error());
  if (ring_) return ring_->poll(on_record_) > 0 || !completed.empty();
  if (!hello_.params.echo || !is_plain_write(hello_.params)) return !completed.empty();
  const auto written = look_for_writes();
  if (!written) return written;
  return *written || !completed.empty();
}

Result<void> ServerSession::complete(const ibv_wc& done) {
  if (done.status != IBV_WC_SUCCESS) {
    ++report_.errors;
    return fail(fmt::format("a completion in error: {}", explain(done.status)), ExitCode::failed);
  }
  if ((done.opcode & IBV_WC_RECV) == 0) return {};  // completion of an echo
  const std::size_t flow = index_of(done.qp_num);
  const std::uint64_t number = take_message(flow, done);
  // Post before the echo, because the echo makes the client send the next message.
  if (auto posted = post_receives(flow); !posted) return posted;
  return hello_.params.echo ? echo(flow, number) : Result<void>{};
}

/// Returns the bytes of an arrived message, without its GRH.
std::uint64_t ServerSession::bytes_of(const ibv_wc& done) const noexcept {
  const std::uint64_t grh = hello_.params.operation == Operation::send ? layout_.grh() : 0;
  return done.byte_len - std::min<std::uint64_t>(done.byte_len, grh);
}

/// Takes an arrived message. Its number is its index among the QP's messages; if messages may be
/// lost, the message contains its number.
std::uint64_t ServerSession::take_message(std::size_t index, const ibv_wc& done) {
  Flow& flow = flows_[index];
  const SessionParams& params = hello_.params;
  const bool send = params.operation == Operation::send;
  std::uint64_t number = flow.arrived++;
  std::uint64_t place = send ? done.wr_id : number;
  if (params.lossy() && hello_.checked) {
    const std::uint64_t low = ntohl(done.imm_data);
    number = send ? PayloadPattern::number_of(message(index, place))
                  : number + static_cast<std::uint32_t>(low - number);
    if (!send) place = number;
  }
  const std::uint64_t size = bytes_of(done);
  if (signatures_ && !hello_.payload_crcs.empty()) ++report_.stats.checked;
  if (signatures_ && !take_signed(index, done, place)) ++report_.stats.wrong;
  bool right = size == params.size;
  if (params.immediate) right = right && ntohl(done.imm_data) == static_cast<std::uint32_t>(number);
  if (hello_.checked) right = right && flow.sent.holds(message(index, place), number);
  count(flow, number, right);
  report_.bytes += size;
  return number;
}

/// Reads the signatures of a message. A WRITE of UC is in the next slot that contains a complete
/// message, because earlier ones may be lost. Returns false if the content is wrong, or a signature
/// is of another QP.
bool ServerSession::take_signed(std::size_t index, const ibv_wc& done, std::uint64_t place) {
  Flow& flow = flows_[index];
  if (hello_.params.lossy() && hello_.params.operation == Operation::write) {
    place = flow.next;
    while (place < flow.next + layout_.slots() && !signatures_->holds(message(index, place), place))
      ++place;
    if (place == flow.next + layout_.slots()) place = flow.next;
    flow.next = place + 1;
  }
  const auto slot = message(index, place);
  return signatures_->count_message(
      index, slot.first(std::min<std::uint64_t>(slot.size(), bytes_of(done))));
}

void ServerSession::count(Flow& flow, std::uint64_t number, bool right) {
  ++report_.messages;
  if (!hello_.checked) return;
  ++report_.stats.checked;
  if (!right) ++report_.stats.wrong;
  if (right && hello_.params.lossy() &&
      flow.numbers.add(number).kind == analysis::Arrival::Kind::duplicate)
    ++report_.stats.duplicates;
}

/// Takes arrived WRITEs: the next WRITE of each QP is complete when its last byte has changed.
Result<bool> ServerSession::look_for_writes() {
  bool any = false;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    Flow& flow = flows_[i];
    const auto slot = message(i, flow.arrived);
    const std::byte last = std::atomic_ref(slot.back()).load(std::memory_order_acquire);
    if (last != flow.awaited) continue;
    any = true;
    const std::uint64_t number = flow.arrived++;
    count(flow, number, flow.sent.holds(slot, number));
    report_.bytes += slot.size();
    await_write(i, flow.arrived);
    if (auto sent = echo(i, number); !sent) return std::unexpected(sent.error());
  }
  return any;
}

Result<void> ServerSession::echo(std::size_t index, std::uint64_t number) {
  Flow& flow = flows_[index];
  const SessionParams& params = hello_.params;
  const std::uint64_t offset = layout_.at(index, number);
  flow.echoed.write(echoes_.bytes(offset, params.size), number);
  ibv_sge piece{.addr = echoes_.va() + offset, .length = params.size, .lkey = echo_memory_->lkey};
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  request.imm_data = htonl(static_cast<std::uint32_t>(number));
  if (params.operation == Operation::send) {
    request.opcode = params.immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  } else {
    request.opcode = params.immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.wr.rdma.remote_addr = flow.client.va + number % layout_.slots() * layout_.stride();
    request.wr.rdma.rkey = flow.client.r_key;
  }
  return flow.qp.post({&request, 1});
}

bool ServerSession::complete(const Done& done) const noexcept {
  // With a ring, records are found in memory; only some of them may have an immediate.
  const bool seen =
      !ring_ && (takes_receives() || (hello_.params.echo && is_plain_write(hello_.params)));
  for (std::size_t i = 0; seen && i < flows_.size() && i < done.messages.size(); ++i)
    if (flows_[i].arrived < done.messages[i]) return false;
  if (signatures_) return signatures_->complete(done);  // duplicates count as messages
  // The last WRITEs of UC may still be on the way.
  const bool look =
      !ring_ && hello_.checked && hello_.params.lossy() && is_plain_write(hello_.params);
  return !look || last_writes(done).wrong == 0;
}

/// Checks the contents of each slot, which are those of its last WRITE.
ServerStats ServerSession::last_writes(const Done& done) const {
  ServerStats found;
  for (std::size_t i = 0; i < flows_.size() && i < done.messages.size(); ++i) {
    const std::uint64_t all = done.messages[i];
    for (std::uint64_t n = all - std::min(all, layout_.slots()); n < all; ++n) {
      ++found.checked;
      if (!flows_[i].sent.holds(message(i, n), n)) ++found.wrong;
    }
  }
  return found;
}

/// Checks plain WRITEs at the end: only the last one of each slot is still there. On UC, that one
/// may be lost.
void ServerSession::check_last_writes(const Done& done) {
  const ServerStats found = last_writes(done);
  const bool lossy = hello_.params.lossy();
  report_.stats.checked += lossy ? found.checked - found.wrong : found.checked;
  (lossy ? report_.stats.dropped : report_.stats.wrong) += found.wrong;
}

void ServerSession::finish_ring(const Done* done) {
  if (done != nullptr) {
    report_.messages = done->messages.front();
    report_.bytes = done->bytes;
    ring_->finish(done->messages.front(), on_record_);
  }
  report_.stats.dropped = ring_->counts().lost + ring_->counts().lapped;
}

Report ServerSession::report(const Done* done) {
  report_.counted = !ring_ && (takes_receives() || hello_.params.echo);
  if (done != nullptr && !takes_receives() && !hello_.params.echo) {
    for (const std::uint64_t messages : done->messages) report_.messages += messages;
    report_.bytes = done->bytes;
    if (hello_.checked && hello_.params.operation == Operation::write) check_last_writes(*done);
  }
  if (ring_) finish_ring(done);
  if (signatures_) {
    signatures_->finish(done);
    report_.signatures = signatures_->counts();
  }
  const Counters change = risen(before_, device_.fresh_counters());
  report_.stats.out_of_sequence = counter_of(change, "out_of_seq_request", "out_of_sequence");
  report_.stats.cnps = counter_of(change, "np_cnp_sent", "np_cnp_sent");
  if (!hello_.params.lossy())
    report_.stats.duplicates = counter_of(change, "duplicate_request", "duplicate_request");
  report_.counters = {change.begin(), change.end()};
  return report_;
}

}  // namespace lw::gen::endpoint
