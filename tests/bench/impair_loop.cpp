// SPDX-License-Identifier: BSD-3-Clause
// roce-impair's own loop between two real DPDK ports, fed by null ports whose buffers hold real
// RoCE frames: net_null hands a buffer out with its length set and its bytes as they were, so
// every buffer of the pool is filled once, before the start, and is a frame for ever after.
//
//   impair_loop PROFILE SECONDS FRAME_BYTES QPS CORE[,CORE] [LEDGER.lwl | CAPTURE.pcapng]
//
// With two cores each direction has one, as with roce-impair run --cores 2.
//
// One JSON object on standard output: the rate over both directions, and what shows that it was
// the engine that ran: frames that a rule matched, and the frames in flight against rate x delay.
// With a ledger or a capture also how many records, or sights of a frame, went into it and how many
// were skipped because its thread couldn't keep up.
#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "bench/null_feed.h"
#include "impair/datapath/forwarding_loop.h"
#include "impair/record/ledger_file.h"
#include "impair/record/recording.h"
#include "impair/report/report.h"
#include "impair/report/run_verdict.h"

namespace lw::impair {
namespace {

constexpr Duration kWarmUp = std::chrono::milliseconds(500);
constexpr Duration kBetweenLooks = std::chrono::milliseconds(50);

struct Options {
  std::string profile;
  unsigned seconds = 1, frame_bytes = 64, qps = 1;
  int core = 0;
  std::optional<int> second_core;
  std::string written;  // a ledger or a capture; empty: neither
};

/// What is written about the frames by a thread of its own, as in a run.
struct Writing {
  std::unique_ptr<LedgerFile> ledger;
  std::unique_ptr<LedgerThread> thread;
  std::unique_ptr<Recording> recording;
};

Result<Writing> open_writing(const config::ImpairProfile& profile, const Options& options) {
  const bench::OffTheCore off_the_core(options.core);
  Writing writing;
  if (options.written.ends_with(".lwl")) {
    auto file =
        LedgerFile::create(options.written, LedgerFormat::binary, rule_names_of(profile), 0);
    if (!file) return std::unexpected(file.error());
    writing.ledger = std::move(*file);
    writing.thread = std::make_unique<LedgerThread>(*writing.ledger);
  } else if (!options.written.empty()) {
    auto file = RecordingFile::create(options.written, rule_names_of(profile), 0);
    if (!file) return std::unexpected(file.error());
    writing.recording = std::make_unique<Recording>(std::move(*file), 0);
  }
  return writing;
}

/// After the run: `,"written":N,"skipped":N`.
Result<std::string> finish(Writing& writing) {
  const auto words = [](std::uint64_t written, std::uint64_t skipped) {
    return fmt::format(R"(,"written":{},"skipped":{})", written, skipped);
  };
  if (writing.thread) {
    writing.thread->finish();
    if (auto closed = writing.ledger->close(writing.thread->skipped()); !closed)
      return std::unexpected(closed.error());
    return words(writing.ledger->records(), writing.thread->skipped());
  }
  if (!writing.recording) return "";
  if (auto closed = writing.recording->finish(); !closed) return std::unexpected(closed.error());
  const auto captured = writing.recording->report("");
  return words(captured.frames, captured.skipped);
}

/// What a look at the running loop sees, both directions together.
struct Look {
  Instant at;
  std::uint64_t received = 0, untouched = 0, in_flight = 0, no_room = 0;
  double delay_ns = 0;  // that a rule's frames have had on average
  Duration held_up{};   // by this look
};

double jitter_of(const StagesReport& stages, std::uint64_t received) {
  const auto& stats = stages.stats;
  return stats.jitter.mean() +
         static_cast<double>(stats.moved_ns) / static_cast<double>(std::max(received, 1UL));
}

Look look_at(const ForwardingLoop::Statistics& report, Instant at, Duration nominal) {
  Look look{.at = at, .held_up = report.held_up};
  double weighed = 0;
  for (const DirectionReport& direction : report.directions) {
    const emulator::Account& all = direction.accounting.direction;
    look.received += all.received.frames;
    look.in_flight += all.in_flight.frames;
    look.no_room += all.wanting().frames;
    look.untouched += direction.accounting.rules.back().received.frames;
    // The last rule is the one that matches, in all of the benchmark's profiles.
    const StagesReport& stages = direction.stages.back();
    weighed += (static_cast<double>(nominal.count()) + jitter_of(stages, all.received.frames)) *
               static_cast<double>(all.received.frames);
  }
  look.delay_ns = weighed / static_cast<double>(std::max(look.received, 1UL));
  return look;
}

/// Looks now and then until the loop has ended.
std::vector<Look> watch(ForwardingLoop& loop, Duration nominal, const std::stop_token& stop) {
  std::vector<Look> looks;
  std::this_thread::sleep_for(kWarmUp);
  while (!stop.stop_requested()) {
    ForwardingLoop::Statistics statistics;
    if (!loop.snapshot(statistics)) break;
    looks.push_back(look_at(statistics, nic::now(), nominal));
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return looks;
}

Duration median_held_up(const std::vector<Look>& looks) {
  std::vector<Duration> all;
  for (const Look& look : looks) all.push_back(look.held_up);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  return *middle;
}

void print(const std::vector<Look>& looks, const Report& end, double core_seconds,
           const std::string& written) {
  const Look &first = looks.front(), &last = looks.back();
  const double seconds = static_cast<double>((last.at - first.at).count()) * 1e-9;
  const auto frames = static_cast<double>(last.received - first.received);
  double in_flight = 0;
  for (const Look& look : looks) in_flight += static_cast<double>(look.in_flight);
  std::uint64_t all = 0;
  for (const DirectionReport& direction : end.directions)
    all += direction.accounting.direction.received.frames;
  in_flight /= static_cast<double>(looks.size());
  fmt::print(
      R"({{"frames_per_core_s":{:.0f},"frames_per_s":{:.0f},"received":{},"matched":{},"dropped_for_resource":{},)"
      R"("in_flight":{:.0f},"rate_x_delay":{:.0f},"release_error_p50_ns":{},)"
      R"("release_error_p99_ns":{},"look_holds_up_ns":{},"holds":{}{}}})"
      "\n",
      static_cast<double>(all) / core_seconds, frames / seconds, last.received,
      last.received - last.untouched, last.no_room, in_flight,
      frames / seconds * last.delay_ns * 1e-9, end.directions[0].release_error.p50,
      end.directions[0].release_error.p99, median_held_up(looks).count(),
      verdict_of(end).exit() == ExitCode::done, written);
}

int run(const Options& options) {
  auto profile = config::load_impair_profile(options.profile);
  if (!profile) return fmt::print(stderr, "{}\n", profile.error().message), 2;
  RunConfig config;
  config.duration = std::chrono::seconds(options.seconds);
  config.idle = IdleMode::spin;
  config.core = options.core;
  config.second_core = options.second_core;
  config.cores = options.second_core ? 2 : 1;
  const std::atomic<bool> stop{false};
  auto ports = bench::null_feed(*profile, config, options.frame_bytes, options.qps);
  if (!ports) return fmt::print(stderr, "{}\n", ports.error().message), 3;
  auto writing = open_writing(*profile, options);
  if (!writing) return fmt::print(stderr, "{}\n", writing.error().message), 3;
  const auto loop = std::make_unique<ForwardingLoop>(*profile, *ports, writing->thread.get());
  using enum emulator::Direction;
  if (writing->recording)
    loop->record_from_start(
        {&writing->recording->recorder(west_to_east), &writing->recording->recorder(east_to_west)});
  const Duration nominal = profile->rules.back().delay.value_or(Duration{});
  std::vector<Look> looks;
  std::jthread watcher([&](const std::stop_token& token) { looks = watch(*loop, nominal, token); });
  const double before = bench::core_seconds();
  loop->work(config, stop);
  const double worked = bench::core_seconds() - before;
  watcher.request_stop();
  loop->drain([] { return false; });
  watcher.join();
  Report end;
  end.directions = loop->statistics().directions;
  if (looks.size() < 2) return fmt::print(stderr, "too short a run\n"), 1;
  const auto written = finish(*writing);
  if (!written) return fmt::print(stderr, "{}\n", written.error().message), 3;
  print(looks, end, worked, *written);
  return verdict_of(end).exit() == ExitCode::done ? 0 : 1;
}

}  // namespace
}  // namespace lw::impair

int main(int argc, char** argv) {
  using namespace lw::impair;
  if (argc != 6 && argc != 7) {
    fmt::print(
        stderr,
        "usage: {} PROFILE SECONDS FRAME_BYTES QPS CORE[,CORE] [LEDGER.lwl | CAPTURE.pcapng]\n",
        argv[0]);
    return 2;
  }
  using lw::bench::number;
  const std::string cores = argv[5];
  const std::size_t comma = cores.find(',');
  const auto core = [](const std::string& text) { return static_cast<int>(number(text.c_str())); };
  std::optional<int> second;
  if (comma != std::string::npos) second = core(cores.substr(comma + 1));
  return run({argv[1], number(argv[2]), number(argv[3]), number(argv[4]),
              core(cores.substr(0, comma)), second, argc == 7 ? argv[6] : ""});
}
