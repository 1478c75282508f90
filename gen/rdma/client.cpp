// SPDX-License-Identifier: BSD-3-Clause
#include "gen/rdma/client.h"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <numeric>

#include <fmt/format.h>

#include "gen/perf/session/handover_link.h"
#include "gen/rdma/region.h"
#include "gen/rdma/verbs_qp.h"

namespace lw::gen::rdma {
namespace {

using handover::Done, handover::Offer;
using wire::Operation, wire::Transport;

// longest wait for an Offer, a Report or a message
constexpr Duration kAnswerWithin = std::chrono::seconds(60);
constexpr Duration kCheckEvery = std::chrono::milliseconds(50);

Instant time_now() noexcept {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

/// Returns the CPU time of this process, user and system.
double cpu_seconds() noexcept { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

bool fetches_word(Operation operation) noexcept {
  return operation == Operation::fetch_add || operation == Operation::cmp_swap;
}

bool carries(Operation operation) noexcept {
  return operation == Operation::send || operation == Operation::write;
}

/// Session parameters. A QP has as many slots as messages in flight, and twice as many if receives
/// are used, so that the server has receives while it checks what arrived.
SessionParams params_of(const sim::PerfConfig& config, bool latency, std::uint32_t slots) noexcept {
  SessionParams params{.transport = config.qp.transport,
                       .operation = config.operation,
                       .immediate = config.immediate,
                       .echo = latency && carries(config.operation) && !config.read_back,
                       .read_back = config.read_back,
                       .size = fetches_word(config.operation) ? 8 : config.size,
                       .depth = latency ? 1 : config.qp.tx_depth};
  const bool receives = params.operation == Operation::send || params.immediate;
  params.slots = std::max(slots, receives ? 2 * params.depth : params.depth);
  return params;
}

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

/// Registered memory for the slots of all QPs; empty if a run needs none.
struct Box {
  Region region;
  MemoryRegion registered;
};

/// One session, from the connection to the server's report.
class Session {
 public:
  Session(const Device& device, const MeasureOptions& options, const sim::PerfConfig& config,
          bool latency, const std::atomic<bool>& stop)
      : device_(device),
        options_(options),
        config_(config),
        params_(params_of(config, latency, options.verbs.slots)),
        stop_(stop),
        layout_(params_, config.qps) {}

  Result<PerfOutcome> run(bool latency);

 private:
  Result<void> open();
  Result<void> make_memory();
  Result<void> make_box(Box& box, unsigned access);
  Result<void> make_qps();
  Result<void> connect_qps(const PortGid& gid);
  [[nodiscard]] handover::Hello hello(const PortGid& gid) const;

  Result<void> run_bandwidth();
  Result<void> post_more(Flow& flow);
  [[nodiscard]] bool may_post(const Flow& flow) const noexcept;
  [[nodiscard]] std::uint64_t list_length(const Flow& flow) const noexcept;
  Result<void> take(const ibv_wc& done);
  Result<void> take_success(Flow& flow, std::uint64_t number);
  void finish_bandwidth();

  Result<void> run_latency();
  Result<bool> ping(Flow& flow);
  std::byte await_echo(const Flow& flow, std::uint64_t number);
  Result<bool> wait_for_echo(Flow& flow, std::uint64_t number, std::byte last);
  Result<bool> wait_for_completion(Flow& flow, std::uint64_t number);
  void finish_latency();

  ibv_send_wr request_of(const Flow& flow, std::uint64_t number, ibv_sge& piece, bool signalled);
  Result<void> post_read_back(Flow& flow, std::uint64_t number);
  void fill(Flow& flow, std::uint64_t number);
  [[nodiscard]] bool right(const Flow& flow, std::uint64_t number) const;
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
  [[nodiscard]] Flow& flow_of(std::uint32_t qpn) noexcept;

  /// Call after a round without work. Errors (failed): nothing has happened for too long, or the
  /// server is gone and its answers have timed out.
  Result<void> idle();
  [[nodiscard]] Duration longest_retry() const noexcept;
  Result<void> end();

  const Device& device_;
  const MeasureOptions& options_;
  const sim::PerfConfig& config_;
  SessionParams params_;
  const std::atomic<bool>& stop_;
  std::optional<handover::Client> link_;
  SlotLayout layout_;
  ProtectionDomain domain_;
  Box inbox_, outbox_;  // for data from the server; for messages to the server
  std::optional<Completions> completions_;
  std::vector<Flow> flows_;
  Offer offer_;
  std::vector<ibv_send_wr> list_;
  std::vector<ibv_sge> pieces_;

  std::uint64_t every_ = 1;  // every n-th request is signalled
  std::uint64_t completed_ = 0, echoes_ = 0;
  Instant start_, half_at_, progressed_, check_at_;
  std::optional<Instant> until_;
  std::uint64_t half_bytes_ = 0, idle_rounds_ = 0;
  double sum_ = 0, squares_ = 0;
  std::optional<Error> gone_;  // error of the server's TCP connection
  Instant gone_at_;
  PerfOutcome outcome_;
};

Flow& Session::flow_of(std::uint32_t qpn) noexcept {
  return *std::ranges::find(flows_, qpn, [](const Flow& flow) { return flow.qp.qpn(); });
}

Result<void> Session::open() {
  // Slow preparations come first: a server waits only a few seconds for the first line of a
  // connection.
  if (auto made = make_memory(); !made) return made;
  if (auto made = make_qps(); !made) return made;
  auto link = handover::Client::connect(options_.connect, options_.wait);
  if (!link) return std::unexpected(link.error());
  link_.emplace(std::move(*link));
  const auto gid = device_.gid_for(link_->local());
  if (!gid) return std::unexpected(gid.error());
  auto offer = link_->open(hello(*gid), kAnswerWithin, stop_);
  if (!offer) return std::unexpected(offer.error());
  if (auto same = handover::check_encapsulation(*offer, !gid->rocev2); !same) return same;
  offer_ = std::move(*offer);
  return connect_qps(*gid);
}

Result<void> Session::make_memory() {
  domain_.reset(ibv_alloc_pd(device_.context()));
  if (!domain_)
    return fail(fmt::format("{}: no protection domain: {}", device_.name(), last_error()),
                ExitCode::environment);
  if (carries(params_.operation))
    if (auto made = make_box(outbox_, 0); !made) return made;
  if (carries(params_.operation) && !params_.echo && !params_.read_back) return {};
  // Only the echo of a WRITE arrives by a request of the server; all other requests are local.
  const bool written = params_.echo && params_.operation == Operation::write;
  return make_box(inbox_,
                  IBV_ACCESS_LOCAL_WRITE | (written ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0U));
}

Result<void> Session::make_box(Box& box, unsigned access) {
  const auto size = layout_.size();
  if (!size) return fail("the messages in flight are more than 2^64 B");
  auto region = Region::map({.size = *size, .file = "", .huge_pages = false});
  if (!region) return std::unexpected(region.error());
  box.region = std::move(*region);
  auto registered =
      register_memory(device_, domain_.get(), box.region.data(), box.region.size(), access);
  if (!registered) return std::unexpected(registered.error());
  box.registered = std::move(*registered);
  return {};
}

Result<void> Session::make_qps() {
  const std::uint32_t sends = params_.depth + (params_.read_back ? 2 : 1);
  every_ = options_.verbs.periodic ? std::max(1u, params_.depth / 2) : 1;
  const std::uint32_t receives = params_.echo ? 2 : 1;
  auto completions =
      Completions::create(device_, config_.qps * (sends + receives) + 16, options_.verbs.events);
  if (!completions) return std::unexpected(completions.error());
  completions_ = std::move(*completions);
  const unsigned access = params_.echo && params_.operation == Operation::write
                              ? unsigned{IBV_ACCESS_REMOTE_WRITE}
                              : 0U;
  for (std::uint32_t i = 0; i < config_.qps; ++i) {
    auto qp = VerbsQp::create(device_, domain_.get(), *completions_,
                              {.transport = params_.transport,
                               .sends = sends,
                               .receives = receives,
                               .inline_bytes = options_.verbs.inlined ? params_.size : 0,
                               .access = access});
    if (!qp) return std::unexpected(qp.error());
    const std::uint32_t qpn = qp->qpn();
    flows_.push_back({.index = i,
                      .qp = std::move(*qp),
                      .remote = {},
                      .sent = PayloadPattern(Side::client, qpn),
                      .received = PayloadPattern(Side::responder, qpn)});
  }
  return {};
}

handover::Hello Session::hello(const PortGid& gid) const {
  handover::Hello hello{.token = options_.token,
                        .params = params_,
                        .count = config_.duration > Duration{} ? 0 : config_.iterations,
                        .checked = options_.verbs.checked,
                        .mtu = config_.qp.mtu,
                        .timeout = config_.qp.timeout,
                        .retries = config_.qp.retry_count,
                        .rnr_retries = config_.qp.rnr_retry,
                        .gid = gid.gid,
                        .qps = {}};
  for (const Flow& flow : flows_)
    hello.qps.push_back(
        {.qpn = flow.qp.qpn(),
         .psn = flow.qp.psn(),
         .va = inbox_.registered ? inbox_.region.va() + layout_.at(flow.index, 0) : 0,
         .r_key = inbox_.registered ? inbox_.registered->rkey : 0});
  return hello;
}

Result<void> Session::connect_qps(const PortGid& gid) {
  const auto most = static_cast<std::uint32_t>(device_.limits().max_qp_init_rd_atom);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    flows_[i].remote = offer_.qps[i];
    if (auto connected = flows_[i].qp.connect(
            {.qp = offer_.qps[i],
             .gid = offer_.gid,
             .gid_index = gid.index,
             .mtu = std::min(config_.qp.mtu, offer_.mtu),
             .timeout = config_.qp.timeout,
             .retries = config_.qp.retry_count,
             .rnr_retries = config_.qp.rnr_retry,
             .reads_sent = std::min({most, offer_.max_rd_atomic, config_.qp.max_rd_atomic}),
             .reads_taken = 1,
             .q_key = offer_.q_key});
        !connected)
      return connected;
  }
  return {};
}

/// Puts message `number` into its slot; for a READ or an atomic, clears an earlier answer from it.
void Session::fill(Flow& flow, std::uint64_t number) {
  if (fetches_word(params_.operation)) return;
  if (carries(params_.operation) && (options_.verbs.checked || params_.lossy()))
    flow.sent.write(slot(outbox_, flow, number), number);
  if (options_.verbs.checked && (params_.operation == Operation::read_request || params_.read_back))
    PayloadPattern::clear(slot(inbox_, flow, number));
}

ibv_send_wr Session::request_of(const Flow& flow, std::uint64_t number, ibv_sge& piece,
                                bool signalled) {
  const bool out = carries(params_.operation);
  piece = piece_of(out ? outbox_ : inbox_, flow, number);
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.imm_data = htonl(static_cast<std::uint32_t>(number));
  if (signalled) request.send_flags |= IBV_SEND_SIGNALED;
  if (out && options_.verbs.inlined) request.send_flags |= IBV_SEND_INLINE;
  request.wr.rdma = {remote_slot(flow, number), flow.remote.r_key};
  switch (params_.operation) {
    case Operation::send:
      request.opcode = params_.immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
      break;
    case Operation::read_request:
      request.opcode = IBV_WR_RDMA_READ;
      break;
    case Operation::fetch_add:
    case Operation::cmp_swap: {
      const bool add = params_.operation == Operation::fetch_add;
      request.opcode = add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
      request.wr.atomic = {flow.remote.va, add ? 1 : number, number + 1, flow.remote.r_key};
      break;
    }
    default:
      request.opcode = params_.immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  }
  return request;
}

/// Returns true if a READ or an atomic returned the expected data.
bool Session::right(const Flow& flow, std::uint64_t number) const {
  if (!options_.verbs.checked || !inbox_.registered) return true;
  const auto got = slot(inbox_, flow, number);
  if (fetches_word(params_.operation)) {
    std::uint64_t original = 0;
    std::memcpy(&original, got.data(), sizeof original);
    return original == number;
  }
  if (params_.operation == Operation::read_request)
    return flow.received.holds(got, number % params_.slots);
  return !params_.read_back || flow.sent.holds(got, number);
}

bool Session::may_post(const Flow& flow) const noexcept {
  if (until_) return time_now() < *until_ && !stop_.load(std::memory_order_relaxed);
  return flow.posted < config_.iterations && !stop_.load(std::memory_order_relaxed);
}

/// Returns the number of requests to post now. A list waits until there is room for all of it,
/// unless no completion of a request in flight would make room.
std::uint64_t Session::list_length(const Flow& flow) const noexcept {
  std::uint64_t length = params_.depth - flow.in_flight();
  if (!until_) length = std::min(length, config_.iterations - flow.posted);
  const std::uint64_t wanted = std::min<std::uint64_t>(options_.verbs.list, params_.depth);
  if (length > wanted) return wanted;
  const bool room_comes = flow.last_signalled > flow.completed;
  const bool rest = !until_ && flow.posted + length == config_.iterations;
  return length == wanted || rest || !room_comes ? length : 0;
}

Result<void> Session::post_more(Flow& flow) {
  while (may_post(flow)) {
    const std::uint64_t length = list_length(flow);
    if (length == 0) return {};
    list_.clear();
    pieces_.resize(length);
    for (std::uint64_t i = 0; i < length; ++i) {
      const std::uint64_t number = flow.posted + i;
      const bool last = !until_ && number + 1 == config_.iterations;
      const bool signalled = (number + 1) % every_ == 0 || last;
      fill(flow, number);
      list_.push_back(request_of(flow, number, pieces_[i], signalled));
      if (signalled) flow.last_signalled = number + 1;
    }
    if (auto posted = flow.qp.post(list_); !posted) return posted;
    flow.posted += length;
  }
  // After a time limit or a signal the last requests may not be signalled, so one more request is
  // posted that is.
  if (flow.last_signalled == flow.posted || flow.in_flight() == 0 || list_length(flow) == 0)
    return {};
  fill(flow, flow.posted);
  pieces_.resize(1);
  list_.assign(1, request_of(flow, flow.posted, pieces_[0], true));
  flow.last_signalled = ++flow.posted;
  return flow.qp.post(list_);
}

/// Handles a completion, which confirms all earlier requests of its QP.
Result<void> Session::take_success(Flow& flow, std::uint64_t number) {
  sim::BandwidthResult& result = outcome_.bandwidth;
  const Instant now = time_now();
  for (; flow.completed <= number; ++flow.completed, ++completed_) {
    if (!right(flow, flow.completed)) ++outcome_.wrong;
    result.bytes += params_.size;
  }
  progressed_ = now;
  result.elapsed = now - start_;
  const bool half = until_ ? now - start_ >= config_.duration / 2
                           : completed_ >= (config_.iterations * flows_.size() + 1) / 2;
  if (half && half_at_ == Instant{}) {
    half_at_ = now;
    half_bytes_ = result.bytes;
  }
  return post_more(flow);
}

Result<void> Session::take(const ibv_wc& done) {
  if (done.status != IBV_WC_SUCCESS)
    return fail(fmt::format("request {} of QP {:#x}: {}{}{}", done.wr_id, done.qp_num,
                            explain(done.status), gone_ ? "; " : "", gone_ ? gone_->message : ""),
                ExitCode::failed);
  return take_success(flow_of(done.qp_num), done.wr_id);
}

Result<void> Session::run_bandwidth() {
  if (config_.duration > Duration{}) until_ = start_ + config_.duration;
  for (Flow& flow : flows_)
    if (auto posted = post_more(flow); !posted) return posted;
  const auto busy = [](const Flow& flow) { return flow.in_flight() > 0; };
  while (std::ranges::any_of(flows_, busy)) {
    const auto completed = completions_->poll();
    for (const ibv_wc& each : completed)
      if (auto taken = take(each); !taken) return taken;
    if (!completed.empty()) continue;
    if (auto waited = idle(); !waited) return waited;
    if (until_ || stop_.load(std::memory_order_relaxed))
      for (Flow& flow : flows_)
        if (auto posted = post_more(flow); !posted) return posted;
  }
  finish_bandwidth();
  return {};
}

void Session::finish_bandwidth() {
  sim::BandwidthResult& result = outcome_.bandwidth;
  result.messages = completed_;
  const auto ns = static_cast<double>(result.elapsed.count());
  if (ns > 0) result.average_bps = static_cast<double>(result.bytes) * 8e9 / ns;
  const auto first = static_cast<double>((half_at_ - start_).count());
  const auto second = static_cast<double>((start_ + result.elapsed - half_at_).count());
  // Half of a run of less than four windows is mostly one burst of completions.
  const bool is_short = completed_ < std::uint64_t{4} * params_.depth * flows_.size();
  if (half_at_ == Instant{} || second <= 0 || first <= 0 || is_short) return;
  result.steady_bps = static_cast<double>(result.bytes - half_bytes_) * 8e9 / second;
  result.peak_bps = std::max(result.steady_bps, static_cast<double>(half_bytes_) * 8e9 / first);
}

Duration Session::longest_retry() const noexcept {
  const Duration once = transport::transport_timeout(config_.qp.timeout);
  return std::chrono::seconds(2) + 4 * once * (config_.qp.retry_count + 1);
}

Result<void> Session::idle() {
  completions_->wait(kCheckEvery, -1);
  if (!completions_->has_events() && ++idle_rounds_ % 256 != 0) return {};
  const Instant now = time_now();
  if (now < check_at_) return {};
  check_at_ = now + kCheckEvery;
  if (!gone_) {
    if (auto there = link_->check(); !there) {
      gone_ = there.error();
      gone_at_ = now;
    }
  } else if (now - gone_at_ > longest_retry()) {
    return std::unexpected(*gone_);
  }
  if (now - progressed_ > kAnswerWithin)
    return fail(fmt::format("no message completed for {}: is the path still there?",
                            format_duration(kAnswerWithin)),
                ExitCode::failed);
  return {};
}

Result<void> Session::run_latency() {
  Flow& flow = flows_.front();
  for (std::uint64_t n = 0; n < config_.iterations; ++n) {
    const auto answered = ping(flow);
    if (!answered) return std::unexpected(answered.error());
    if (!*answered) break;  // interrupted
  }
  finish_latency();
  return {};
}

Result<void> Session::post_read_back(Flow& flow, std::uint64_t number) {
  ibv_sge piece = piece_of(inbox_, flow, number);
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {remote_slot(flow, number), flow.remote.r_key};
  return flow.qp.post({&request, 1});
}

/// Sets the last byte of the echo's slot to a value that differs from the echo's. Returns the
/// echo's last byte.
std::byte Session::await_echo(const Flow& flow, std::uint64_t number) {
  const auto echo = slot(inbox_, flow, number);
  flow.received.write(echo, number);
  const std::byte last = echo.back();
  echo.back() = ~last;
  return last;
}

/// Sends one message and waits for the answer. Returns false if interrupted.
Result<bool> Session::ping(Flow& flow) {
  const std::uint64_t number = flow.posted;
  const bool receives = params_.echo && (params_.operation == Operation::send || params_.immediate);
  fill(flow, number);
  const std::byte last = params_.echo ? await_echo(flow, number) : std::byte{};
  if (receives) {
    const ibv_sge into = piece_of(inbox_, flow, number);
    if (auto posted = flow.qp.post_receive(number, into.addr, into.length, into.lkey); !posted)
      return std::unexpected(posted.error());
  }
  ibv_sge piece{};
  ibv_send_wr request = request_of(flow, number, piece, !params_.read_back);
  const Instant posted_at = time_now();
  if (auto posted = flow.qp.post({&request, 1}); !posted) return std::unexpected(posted.error());
  if (params_.read_back)
    if (auto posted = post_read_back(flow, number); !posted) return std::unexpected(posted.error());
  ++flow.posted;
  const auto answered =
      params_.echo ? wait_for_echo(flow, number, last) : wait_for_completion(flow, number);
  if (!answered || !*answered) return answered;
  progressed_ = time_now();
  const bool half = params_.echo || params_.read_back;
  const std::int64_t ns = (progressed_ - posted_at).count() / (half ? 2 : 1);
  const bool good = params_.echo ? !options_.verbs.checked ||
                                       flow.received.holds(slot(inbox_, flow, number), number)
                                 : right(flow, number);
  if (!good) ++outcome_.wrong;
  outcome_.latency.ns.add(ns);
  sum_ += static_cast<double>(ns);
  squares_ += static_cast<double>(ns) * static_cast<double>(ns);
  return true;
}

/// Waits for an echo. With a receive, the echo completes it; a plain WRITE changes the last byte of
/// its slot. The completion of the request itself may come before or after.
Result<bool> Session::wait_for_echo(Flow& flow, std::uint64_t number, std::byte last) {
  const bool plain = params_.operation == Operation::write && !params_.immediate;
  std::byte& byte = slot(inbox_, flow, number).back();
  while (!stop_.load(std::memory_order_relaxed)) {
    const auto completed = completions_->poll();
    for (const ibv_wc& each : completed) {
      if (each.status != IBV_WC_SUCCESS) return std::unexpected(take(each).error());
      if ((each.opcode & IBV_WC_RECV) != 0) ++echoes_;
      if ((each.opcode & IBV_WC_RECV) == 0) ++flow.completed;
    }
    if (plain && std::atomic_ref(byte).load(std::memory_order_acquire) == last) ++echoes_;
    // The send queue must also have room for the next message.
    if (echoes_ > number && flow.in_flight() <= params_.depth) return true;
    if (completed.empty())
      if (auto waited = idle(); !waited) return std::unexpected(waited.error());
  }
  return false;
}

Result<bool> Session::wait_for_completion(Flow& flow, std::uint64_t number) {
  while (flow.completed <= number) {
    if (stop_.load(std::memory_order_relaxed)) return false;
    const auto completed = completions_->poll();
    for (const ibv_wc& each : completed) {
      if (each.status != IBV_WC_SUCCESS) return std::unexpected(take(each).error());
      ++flow.completed;
    }
    if (completed.empty())
      if (auto waited = idle(); !waited) return std::unexpected(waited.error());
  }
  return true;
}

void Session::finish_latency() {
  const auto n = static_cast<double>(outcome_.latency.ns.count());
  if (n == 0) return;
  const double mean = sum_ / n;
  outcome_.latency.deviation_ns = std::sqrt(std::max(0.0, squares_ / n - mean * mean));
}

/// Gets the server's report and adds it to the result.
Result<void> Session::end() {
  Done done;
  for (const Flow& flow : flows_) {
    done.messages.push_back(flow.posted);
    done.bytes += flow.posted * params_.size;
  }
  static const std::atomic<bool> kWait{false};
  const auto report = link_->finish(done, kAnswerWithin, kWait);
  if (!report) return std::unexpected(report.error());
  if (!report->failure.empty())
    return fail(fmt::format("the server: {}", report->failure), ExitCode::failed);
  outcome_.wrong += report->stats.wrong;
  const std::uint64_t sent =
      std::accumulate(done.messages.begin(), done.messages.end(), std::uint64_t{0});
  if (params_.lossy() && report->counted)
    outcome_.lost_messages = sent - std::min(sent, report->messages);
  outcome_.arrivals_unknown = params_.lossy() && !report->counted;
  report::Json counters = report::Json::object();
  for (const auto& [name, value] : report->counters) counters[name] = value;
  outcome_.where["server"] = {{"checked", report->stats.checked}, {"wrong", report->stats.wrong},
                              {"counted", report->counted},       {"messages", report->messages},
                              {"bytes", report->bytes},           {"counters", counters}};
  return {};
}

Result<PerfOutcome> Session::run(bool latency) {
  const VerbsOptions& verbs = options_.verbs;
  outcome_.where = {{"port", device_.name()},  {"peer", options_.connect},
                    {"inline", verbs.inlined}, {"poll", verbs.events ? "event" : "busy"},
                    {"post_list", verbs.list}, {"signal", verbs.periodic ? "periodic" : "all"},
                    {"checked", verbs.checked}};
  if (auto opened = open(); !opened) return std::unexpected(opened.error());
  const double cpu = cpu_seconds();
  start_ = progressed_ = time_now();
  auto ran = latency ? run_latency() : run_bandwidth();
  if (!ran) return std::unexpected(ran.error());
  const double seconds = static_cast<double>((time_now() - start_).count()) * 1e-9;
  outcome_.cpu_share = (cpu_seconds() - cpu) / seconds;
  if (auto ended = end(); !ended) return std::unexpected(ended.error());
  return std::move(outcome_);
}

}  // namespace

Result<Measurement> Measurement::open(const MeasureOptions& options,
                                      const std::atomic<bool>& stop) {
  DeviceOptions wanted = options.device;
  if (wanted.name.empty()) wanted.name = device_towards(handover::host_of(options.connect));
  auto device = Device::open(wanted);
  if (!device) return std::unexpected(device.error());
  return Measurement(std::move(*device), options, stop);
}

Result<PerfOutcome> Measurement::run(const sim::PerfConfig& config, bool latency) {
  sim::PerfConfig own = config;
  if (own.qp.mtu == 0) own.qp.mtu = device_.mtu();
  if (auto fits = device_.check_mtu(own.qp.mtu); !fits) return std::unexpected(fits.error());
  return Session(device_, options_, own, latency, stop_).run(latency);
}

}  // namespace lw::gen::rdma
