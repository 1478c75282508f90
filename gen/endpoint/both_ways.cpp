// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/both_ways.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace lw::gen::endpoint {
namespace {

using handover::Done, handover::Hello, handover::Report;

// without an arrival, the wait for messages that were sent ends
constexpr Duration kArriveWithin = std::chrono::seconds(2);

perf::PerfConfig config_of(const Hello& client) {
  perf::PerfConfig config;
  config.operation = client.params.operation;
  config.immediate = client.params.immediate;
  config.size = client.params.size;
  config.qps = static_cast<std::uint32_t>(client.qps.size());
  config.iterations = client.count;
  config.duration = client.duration;
  config.margin = client.margin;
  config.qp.tx_depth = client.params.depth;
  config.qp.mtu = client.mtu;
  config.qp.max_rd_atomic = 128;  // less by the limits of the devices
  config.qp.timeout = client.timeout;
  config.qp.retry_count = client.retries;
  config.qp.rnr_retry = client.rnr_retries;
  return config;
}

std::uint64_t whole(double bps) noexcept { return static_cast<std::uint64_t>(bps); }

/// The client's receiving side.
class Receiver {
 public:
  /// Agrees with the server.
  static Result<Receiver> open(const Device& device, ClientSession& session);

  Result<bool> poll() { return session_->poll(); }
  /// Waits for the last messages, and reports to the server.
  Result<Report> finish(const Done& done, handover::Link& link);

 private:
  explicit Receiver(Region region) : region_(std::make_unique<Region>(std::move(region))) {}

  std::unique_ptr<Region> region_;
  std::unique_ptr<ServerSession> session_;
};

Result<Receiver> Receiver::open(const Device& device, ClientSession& session) {
  static const std::atomic<bool> kGoOn{false};
  handover::Link& link = session.link().link();
  const auto line = link.receive(kAnswerWithin, kGoOn);
  if (!line) return std::unexpected(line.error());
  const auto hello = handover::read_hello(*line);
  if (!hello) return std::unexpected(hello.error());
  const SessionParams& own = session.params();
  const SessionParams& asked = hello->params;
  if (asked.operation != own.operation || asked.size != own.size || asked.slots > own.slots ||
      asked.immediate != own.immediate || asked.lossy() || asked.echo ||
      hello->qps.size() != session.flows().size())
    return fail("the server sends other messages than the client does", ExitCode::failed);
  const auto size = SlotLayout(asked, hello->qps.size()).size();
  if (!size) return fail("the server's messages need more than all memory", ExitCode::failed);
  auto region = Region::map({.size = *size, .file = "", .huge_pages = false});
  if (!region) return std::unexpected(region.error());
  Receiver receiver(std::move(*region));
  ServeOptions options;
  options.most_qps = handover::kMostQps;
  auto opened =
      ServerSession::start(device, *receiver.region_, options, *hello, session.link().local());
  if (!opened) return std::unexpected(opened.error());
  receiver.session_ = std::move(*opened);
  if (auto sent = link.send(line_of(receiver.session_->offer())); !sent)
    return std::unexpected(sent.error());
  return receiver;
}

Result<Report> Receiver::finish(const Done& done, handover::Link& link) {
  Instant until = time_now() + kArriveWithin;
  while (!session_->complete(done) && time_now() < until) {
    const auto polled = poll();
    if (!polled) return std::unexpected(polled.error());
    if (*polled) until = time_now() + kArriveWithin;
  }
  const bool whole_run = session_->complete(done);
  Report report = session_->report(&done);
  session_.reset();  // ends the server's access
  if (!whole_run) report.failure = "messages of the server did not arrive";
  if (auto sent = link.send(line_of(report)); !sent) return std::unexpected(sent.error());
  if (!whole_run) return fail(report.failure, ExitCode::failed);
  return report;
}

/// Adds the server's direction to the client's.
void add_back(const Done& done, const Report& report, const perf::PerfConfig& config,
              PerfOutcome& outcome) {
  perf::BandwidthResult& result = outcome.bandwidth;
  result.messages += std::accumulate(done.messages.begin(), done.messages.end(), std::uint64_t{0});
  result.bytes += done.bytes;
  result.back_bytes = done.bytes;
  result.elapsed = std::max(result.elapsed, Duration(done.elapsed_ns));
  result.average_bps = config.margin > Duration{}
                           ? result.average_bps + static_cast<double>(done.average_bps)
                           : result.bps_of(result.bytes);
  const bool measured = result.steady_bps > 0 && done.steady_bps > 0;
  result.steady_bps = measured ? result.steady_bps + static_cast<double>(done.steady_bps) : 0;
  result.peak_bps = measured ? result.peak_bps + static_cast<double>(done.peak_bps) : 0;
  outcome.wrong += report.stats.wrong;
}

}  // namespace

BackRun::BackRun(const Device& device, const Hello& client, handover::Link& link)
    : link_(link), config_(config_of(client)), session_(device, options_, config_, false, ended_) {
  options_.verbs.checked = client.checked;
  options_.traffic = client.traffic;
  outcome_.device.emplace();
}

Result<std::unique_ptr<BackRun>> BackRun::begin(const Device& device, const Hello& client,
                                                const wire::IpAddress& own, handover::Link& link,
                                                const std::atomic<bool>& stop) {
  std::unique_ptr<BackRun> back(new BackRun(device, client, link));
  if (auto prepared = back->session_.prepare(); !prepared) return std::unexpected(prepared.error());
  const auto gid = device.gid_for(own);
  if (!gid) return std::unexpected(gid.error());
  if (auto sent = link.send(line_of(back->session_.hello(*gid))); !sent)
    return std::unexpected(sent.error());
  const auto line = link.receive(kAnswerWithin, stop);
  if (!line) return std::unexpected(line.error());
  auto offer = handover::read_offer(*line);
  if (!offer) return std::unexpected(offer.error());
  if (offer->qps.size() != client.qps.size())
    return fail(fmt::format("the client's offer: expected {} QPs, found {}", client.qps.size(),
                            offer->qps.size()),
                ExitCode::failed);
  if (auto connected = back->session_.connect(std::move(*offer), *gid); !connected)
    return std::unexpected(connected.error());
  back->run_.emplace(back->session_, back->outcome_);
  if (auto begun = back->run_->begin(); !begun) return std::unexpected(begun.error());
  return back;
}

Result<bool> BackRun::step() {
  if (done_) return false;
  if (run_->busy()) return run_->step();
  run_->finish();
  done_ = true;
  const perf::BandwidthResult& result = outcome_.bandwidth;
  Done done = session_.done();
  done.elapsed_ns = static_cast<std::uint64_t>(result.elapsed.count());
  done.average_bps = whole(result.average_bps);
  done.steady_bps = whole(result.steady_bps);
  done.peak_bps = whole(result.peak_bps);
  if (auto sent = link_.send(line_of(done)); !sent) return std::unexpected(sent.error());
  return true;
}

Result<void> BackRun::take_report(std::string_view line) {
  const auto report = handover::read_report(line);
  if (!report) return std::unexpected(report.error());
  reported_ = true;
  if (report->failure.empty()) return {};
  return fail(fmt::format("the client: {}", report->failure), ExitCode::failed);
}

Result<void> run_both_ways(const Device& device, ClientSession& session, PerfOutcome& outcome) {
  auto receiver = Receiver::open(device, session);
  if (!receiver) return std::unexpected(receiver.error());
  BandwidthRun run(session, outcome);
  if (auto begun = run.begin(); !begun) return begun;
  while (run.busy()) {
    if (auto stepped = run.step(); !stepped) return std::unexpected(stepped.error());
    if (auto polled = receiver->poll(); !polled) return std::unexpected(polled.error());
  }
  run.finish();
  handover::Client& link = session.link();
  if (auto sent = link.link().send(line_of(session.done())); !sent) return sent;
  // The server may still send: receive until it is done.
  std::optional<Done> done;
  for (Instant look_at = time_now(); !done;) {
    const auto polled = receiver->poll();
    if (!polled) return std::unexpected(polled.error());
    if (*polled) session.note_progress(time_now());
    if (auto waited = session.idle(); !waited) return waited;
    if (time_now() < look_at) continue;
    look_at = time_now() + std::chrono::milliseconds(1);
    auto taken = link.take_done();
    if (!taken) return std::unexpected(taken.error());
    done = std::move(*taken);
  }
  const auto received = receiver->finish(*done, link.link());
  if (!received) return std::unexpected(received.error());
  add_back(*done, *received, session.config(), outcome);
  return {};
}

}  // namespace lw::gen::endpoint
