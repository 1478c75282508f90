// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/server.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/endpoint/both_ways.h"
#include "gen/endpoint/clock.h"
#include "gen/endpoint/idle_watch.h"

namespace lw::gen::endpoint {
namespace {

using handover::Admitted, handover::Done, handover::Report;
using SteadyClock = std::chrono::steady_clock;

// interval between checks of the TCP connection during a session
constexpr Duration kLook = std::chrono::milliseconds(20);
// after Done: time without an arrival until draining ends
constexpr Duration kDrainFor = std::chrono::seconds(2);

/// A server: the device, the region and the TCP port. Runs one session after the other.
class Server {
 public:
  Server(const ServeOptions& options, const std::atomic<bool>& stop, const ServeEvents& events)
      : options_(options), stop_(stop), events_(events) {}

  Result<void> run();

 private:
  Result<void> open();
  /// Returns false if the client was refused.
  bool run_session(Admitted& client);
  /// Runs until the client reports that it is done. In a run both ways, `back` is what this side
  /// sends. Errors: the reason why the session failed.
  Result<Done> exchange(ServerSession& session, Admitted& client, std::unique_ptr<BackRun>& back);
  /// Takes a line of the client, of which Done comes first.
  static Result<void> take_line(std::string_view line, const Admitted& client, BackRun* back,
                                std::optional<Done>& done);
  Result<void> drain(ServerSession& session, const Done& done);
  /// Clears what a client has left in plain memory, unless the next one may read it.
  void clear_region(std::uint64_t size) noexcept {
    if (!options_.keep && options_.region.file.empty() && !options_.records) region_.clear(size);
  }
  void show_refusals();

  const ServeOptions& options_;
  const std::atomic<bool>& stop_;
  const ServeEvents& events_;
  std::optional<Device> device_;
  Region region_;
  std::optional<handover::ClientListener> listener_;
};

Result<void> Server::open() {
  auto device = Device::open(options_.device);
  if (!device) return std::unexpected(device.error());
  device_.emplace(std::move(*device));
  auto region = Region::map(options_.region);
  if (!region) return std::unexpected(region.error());
  region_ = std::move(*region);
  auto listener = handover::ClientListener::listen(options_.admission);
  if (!listener) return std::unexpected(listener.error());
  listener_.emplace(std::move(*listener));
  events_.ready(listener_->port(), *device_);
  return {};
}

Result<void> Server::run() {
  if (auto opened = open(); !opened) return opened;
  std::uint64_t ended = 0;
  while (!stop_.load(std::memory_order_relaxed) &&
         (options_.sessions == 0 || ended < options_.sessions)) {
    auto client = listener_->poll(std::chrono::milliseconds(200));
    show_refusals();
    if (!client) continue;
    if (run_session(*client)) ++ended;
  }
  return region_.flush();
}

void Server::show_refusals() {
  for (const std::string& each : listener_->take_refusals()) events_.refused(each);
}

bool Server::run_session(Admitted& client) {
  const auto begin = SteadyClock::now();
  const std::clock_t cpu = std::clock();
  auto session = ServerSession::start(*device_, region_, options_, client.hello, client.local);
  if (!session) {
    (void)client.link.send(handover::refusal_line(session.error().message));
    events_.refused(fmt::format("{}: {}", wire::to_string(client.peer), session.error().message));
    return false;
  }
  std::unique_ptr<BackRun> back;
  const auto done = exchange(**session, client, back);
  Report report = (*session)->report(done ? &*done : nullptr);
  if (back) report.stats.wrong += back->wrong();
  if (!done) report.failure = done.error().message;
  std::optional<RingCounts> ring;
  if (const RingCounts* counts = (*session)->ring(); counts != nullptr) ring = *counts;
  std::unique_ptr<SignedMessages> signatures = (*session)->take_signatures();
  const std::uint64_t used = (*session)->offer().size;
  session->reset();  // end the client's access before it gets the report
  clear_region(used);
  (void)client.link.send(line_of(report));
  const std::chrono::duration<double> elapsed = SteadyClock::now() - begin;
  events_.ended(
      {.peer = client.peer,
       .hello = client.hello,
       .report = std::move(report),
       .seconds = elapsed.count(),
       .cpu_share = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC / elapsed.count(),
       .ring = ring,
       .sent_messages = back ? std::optional(back->messages()) : std::nullopt,
       .sent_bytes = back ? std::optional(back->bytes()) : std::nullopt,
       .signatures = std::move(signatures)});
  return true;
}

Result<Done> Server::exchange(ServerSession& session, Admitted& client,
                              std::unique_ptr<BackRun>& back) {
  if (auto sent = client.link.send(line_of(session.offer())); !sent)
    return std::unexpected(sent.error());
  if (client.hello.params.both) {
    auto begun = BackRun::begin(*device_, client.hello, client.local, client.link, stop_);
    if (!begun) return std::unexpected(begun.error());
    back = std::move(*begun);
  }
  std::optional<Done> done;
  const std::string busy =
      fmt::format("a session of {} runs: try again later", wire::to_string(client.peer));
  IdleWatch idle(
      options_.idle_limit, session.sees_messages(), [this] { return device_->counters(); },
      time_now());
  Instant look_at = time_now() + kLook;
  bool active = false;  // since the last look
  while (!stop_.load(std::memory_order_relaxed)) {
    const auto polled = session.poll();
    if (!polled) return std::unexpected(polled.error());
    const auto stepped = back ? back->step() : Result<bool>(false);
    if (!stepped) return std::unexpected(stepped.error());
    active = active || *polled || *stepped;
    if (!*polled && !back) session.wait(kLook, client.link.descriptor());
    const Instant now = time_now();
    if (now < look_at) continue;
    look_at = now + kLook;
    if (std::exchange(active, false)) idle.note_sign(now);
    if (idle.expired(now))
      return fail(fmt::format("the client gave no sign for {}: --idle-limit allows more",
                              format_set_duration(options_.idle_limit)),
                  ExitCode::failed);
    (void)listener_->poll(Duration{}, busy);
    show_refusals();
    const auto line = client.link.poll();
    if (!line) return std::unexpected(line.error());
    if (!*line) continue;
    if (auto taken = take_line(**line, client, back.get(), done); !taken)
      return std::unexpected(taken.error());
    if (back && !back->reported()) continue;
    if (auto drained = drain(session, *done); !drained) return std::unexpected(drained.error());
    return *done;
  }
  return fail("the server was stopped", ExitCode::failed);
}

Result<void> Server::take_line(std::string_view line, const Admitted& client, BackRun* back,
                               std::optional<Done>& done) {
  if (done) return back->take_report(line);
  auto read = handover::read_done(line);
  if (!read) return std::unexpected(read.error());
  if (read->messages.size() != client.hello.qps.size())
    return fail(fmt::format("done: expected the messages of {} QPs, found {}",
                            client.hello.qps.size(), read->messages.size()),
                ExitCode::failed);
  if (back != nullptr && read->stopped) back->end();
  done = std::move(*read);
  return {};
}

/// Takes the last messages, which may arrive after the client's last line. On UC and UD some never
/// arrive. A client that goes on sending has the time of kMostDraining.
Result<void> Server::drain(ServerSession& session, const Done& done) {
  const Instant last = time_now() + kMostDraining;
  Instant until = time_now() + kDrainFor;
  while (!session.complete(done) && time_now() < std::min(until, last)) {
    if (stop_.load(std::memory_order_relaxed))
      return fail("the server was stopped", ExitCode::failed);
    const auto polled = session.poll();
    if (!polled) return std::unexpected(polled.error());
    if (*polled) until = time_now() + kDrainFor;
    if (!*polled) session.wait(kLook, -1);
  }
  return {};
}

}  // namespace

Result<void> serve(const ServeOptions& options, const std::atomic<bool>& stop,
                   const ServeEvents& events) {
  return Server(options, stop, events).run();
}

}  // namespace lw::gen::endpoint
