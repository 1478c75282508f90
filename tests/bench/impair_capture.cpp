// SPDX-License-Identifier: BSD-3-Clause
// A recording while roce-impair forwards at an offered rate, into a real file.
//
//   impair_capture PROFILE SECONDS FRAME_BYTES CORE FRAMES_PER_S FILE.pcapng
//
// FRAMES_PER_S come in, both directions together; 0: as many as the loop takes. Each is recorded
// twice, where it comes in and where it leaves. One JSON object on standard output: how many the
// recording has and how many it skipped, its bytes, also in relation to the CPU time of the thread
// that writes it, and for how long frames came.
#include <filesystem>
#include <optional>

#include "bench/null_feed.h"
#include "impair/datapath/forwarding_loop.h"
#include "impair/record/recording.h"
#include "impair/report/report.h"

namespace lw::impair {
namespace {

using enum emulator::Direction;

struct Options {
  std::string profile;
  unsigned seconds = 1, frame_bytes = 64;
  int core = 0;
  double frames_per_s = 0;
  std::string file;
};

/// Lets frames in at the rate, a burst of one direction and then of the other, and out when due.
void drive(PortForwarder& forwarder, const Options& options) {
  const Duration between{options.frames_per_s > 0 ? static_cast<std::int64_t>(PortIo::kBurst * 1e9 /
                                                                              options.frames_per_s)
                                                  : 0};
  const Instant end = nic::now() + std::chrono::seconds(options.seconds);
  Instant due = nic::now();
  auto direction = west_to_east;
  for (Instant now = due; now < end; now = nic::now()) {
    const bool receiving = now >= due;
    forwarder.poll(direction, receiving);
    if (receiving) due += between;
    direction = direction == west_to_east ? east_to_west : west_to_east;
  }
}

/// CPU time of all threads but this one.
double other_threads_seconds() {
  timespec all;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
  return static_cast<double>(all.tv_sec) + static_cast<double>(all.tv_nsec) * 1e-9 -
         bench::core_seconds();
}

int run(const Options& options) {
  auto profile = config::load_impair_profile(options.profile);
  if (!profile) return fmt::print(stderr, "{}\n", profile.error().message), 2;
  RunConfig config;
  config.core = options.core;
  auto ports = bench::null_feed(*profile, config, options.frame_bytes, 64);
  if (!ports) return fmt::print(stderr, "{}\n", ports.error().message), 3;
  auto file = RecordingFile::create(options.file, rule_names_of(*profile), 0);
  if (!file) return fmt::print(stderr, "{}\n", file.error().message), 3;
  std::optional<Recording> recording;
  {
    const bench::OffTheCore off_the_core(options.core);
    recording.emplace(std::move(*file), 0);
  }
  const std::array ios = {PortIo(west_to_east, ports->west, ports->east, ports->pool.get()),
                          PortIo(east_to_west, ports->east, ports->west, ports->pool.get())};
  PortForwarder forwarder(*profile, link_config(*profile), ios, nullptr);
  for (const auto direction : {west_to_east, east_to_west})
    forwarder.record(direction, &recording->recorder(direction));
  const double others = other_threads_seconds();
  drive(forwarder, options);
  forwarder.abandon();
  if (auto closed = recording->finish(); !closed)
    return fmt::print(stderr, "{}\n", closed.error().message), 3;
  const double writer_seconds = other_threads_seconds() - others;
  const CaptureReport report = recording->report(options.file);
  const auto bytes = std::filesystem::file_size(options.file);
  std::uint64_t received = 0;
  bool holds = true;
  for (const auto direction : {west_to_east, east_to_west}) {
    const emulator::Accounting accounting = forwarder.link(direction).accounting();
    received += accounting.direction.received.frames;
    holds = holds && accounting.holds();
  }
  fmt::print(R"({{"received":{},"written":{},"skipped":{},"lost":{},"bytes":{},"seconds":{},)"
             R"("bytes_per_core_s":{:.0f},"holds":{}}})"
             "\n",
             received, report.frames, report.skipped, report.lost, bytes, options.seconds,
             static_cast<double>(bytes) / writer_seconds, holds);
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace lw::impair

int main(int argc, char** argv) {
  using namespace lw::impair;
  using lw::bench::number;
  if (argc != 7) {
    fmt::print(stderr, "usage: {} PROFILE SECONDS FRAME_BYTES CORE FRAMES_PER_S FILE.pcapng\n",
               argv[0]);
    return 2;
  }
  return run({argv[1], number(argv[2]), number(argv[3]), static_cast<int>(number(argv[4])),
              static_cast<double>(number(argv[5])), argv[6]});
}
