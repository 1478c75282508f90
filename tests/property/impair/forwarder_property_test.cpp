// SPDX-License-Identifier: BSD-3-Clause
// One forwarder, four ways: bursts over ring ports, the same frames one by one, with a recorder
// (which turns batches off), and a replay of a capture. Random profiles and frames must give the
// same frames at the same times, the same ledger and the same counters.
//
// LONGWIRE_SEED and LONGWIRE_PROFILE_COUNT repeat a failure: the seed is printed, and the number of
// the profile in the failure.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "capture/reader.h"
#include "emulator/stages/all.h"
#include "impair/control/replay_runner.h"
#include "impair/datapath/configuration.h"
#include "impair/report/report.h"
#include "property/impair/random_impairment.h"
#include "report/figures/json.h"
#include "support/path_frames.h"
#include "support/ring_ports.h"
#include "support/temporary.h"

namespace lw::impair {
namespace {

namespace fs = std::filesystem;
using emulator::Direction;
using test::Burst;
using test::Impairment;

constexpr std::array kBoth = {Direction::west_to_east, Direction::east_to_west};
constexpr Duration kLongAfter = std::chrono::seconds(10);

enum class Mode { batched, one_by_one, recorded, stored };

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

fs::path folder() {
  return fs::path(lw::test::temporary_folder()) / fmt::format("forwarder.{}", getpid());
}

/// All that can be observed, a line for each thing. Sorted: directions have no order between them,
/// nor have frames that leave at the same instant.
struct Outcome {
  std::vector<std::string> lines;
  std::uint32_t acted = 0, fates = 0;  // which stages acted, and what became of frames; a bit each
  std::uint64_t stored = 0;            // frames that waited in an arena

  void add_frame(Direction direction, Instant at, std::span<const std::byte> bytes) {
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    // Pause frames carry the address of the port that they leave by.
    if (wire::pfc_of(bytes)) text.replace(6, 6, 6, '\0');
    lines.push_back(fmt::format("{} sent at {}: {} B, hash {:x}", name_of(direction), to_ns(at),
                                bytes.size(), std::hash<std::string>{}(text)));
  }
  void add_record(const emulator::LedgerRecord& r) {
    acted |= r.acted.bits();
    fates |= 1U << static_cast<unsigned>(r.disposition);
    lines.push_back(fmt::format(
        "{} frame {:05} copy {}: in {} out {} rule {} stage {} acted {:x} {} event {} {} {} {} {}",
        name_of(r.direction), r.number, r.copy, to_ns(r.in), r.went_out() ? to_ns(r.out) : 0,
        r.rule, name_of(r.stage), r.acted.bits(), name_of(r.disposition),
        r.acted.has(emulator::Stage::event) ? static_cast<int>(r.aimed) : 0, r.roce, r.opcode,
        r.qpn, r.psn));
  }
  void finish(std::vector<DirectionReport> directions) {
    std::ranges::for_each(directions, audit);
    for (DirectionReport& direction : directions) direction.arrivals.reset();  // only of a run
    const Report report{.command = "", .profile = "", .directions = std::move(directions)};
    EXPECT_TRUE(report.accounts_hold());
    EXPECT_TRUE(report.releases_hold());
    lines.push_back("counters " + report::json_of(report).dump());
    std::ranges::sort(lines);
  }
};

LiveProfile::Version version_of(const Impairment& impairment) {
  return LiveProfile::parse(impairment.profile, {"drawn"}).value();
}

emulator::LinkConfig link_of(const Impairment& impairment, const LiveProfile::Version& version) {
  emulator::LinkConfig link = link_config(version.profile);
  link.capacity = std::min(link.capacity, impairment.capacity);
  return link;
}

/// Frames over ring ports, at the times of the impairment.
class PortRun {
 public:
  /// `arena`: where frames of both directions wait in Mode::stored.
  PortRun(test::RingPorts& ports, const Impairment& impairment, Mode mode, nic::FrameArena& arena)
      : ports_(&ports),
        mode_(mode),
        live_(version_of(impairment)),
        forwarder_(live_.now().profile, link_of(impairment, live_.now()),
                   ios(ports, impairment.both, mode == Mode::stored ? &arena : nullptr), &ledger_),
        names_(rule_names_of(live_.now().profile)) {
    schedule_.begin(version_of(impairment).profile.scenario);
    if (mode == Mode::recorded)
      for (std::size_t i = 0; i < (impairment.both ? 2 : 1); ++i)
        forwarder_.record(kBoth[i], &recorders_[i]);
  }

  Outcome run(const std::vector<Burst>& bursts) {
    zero_ = bursts.front().at;
    for (const Burst& burst : bursts) {
      advance(burst.at);
      receive(burst);
    }
    advance(bursts.back().at + kLongAfter, true);
    forwarder_.flush_ledger();
    for (const auto& record : ledger_.records()) outcome_.add_record(record);
    EXPECT_EQ(forwarder_.inside(), 0U);
    outcome_.finish(forwarder_.report(false));
    return std::move(outcome_);
  }

 private:
  static std::vector<PortIo> ios(test::RingPorts& ports, bool both, nic::FrameArena* arena) {
    std::vector<PortIo> all = {
        {Direction::west_to_east, ports[0], ports[1], ports.pool(), test::test_clock, arena}};
    if (both)
      all.emplace_back(Direction::east_to_west, ports[1], ports[0], ports.pool(), test::test_clock,
                       arena);
    return all;
  }
  void poll(Direction direction, bool receiving) {
    if (!forwarder_.forwards(direction)) return;
    forwarder_.poll(direction, receiving);
    ports_->take_all(direction == Direction::west_to_east ? 1 : 0, [&](const rte_mbuf* frame) {
      outcome_.add_frame(direction, test::test_time, bytes_of(frame));
      outcome_.stored += mode_ == Mode::stored && frame->pool != ports_->pool();
    });
  }
  /// The first direction hears the second one's answer in the second round.
  void poll_all() {
    for (int round = 0; round < 2; ++round)
      for (const Direction direction : kBoth) poll(direction, false);
  }
  void receive(const Burst& burst) {
    test::test_time = burst.at;
    const std::size_t most = mode_ == Mode::one_by_one ? 1 : PortIo::kBurst;
    for (auto rest = std::span(burst.frames); !rest.empty();
         rest = rest.subspan(std::min(most, rest.size()))) {
      for (const auto& frame : rest.first(std::min(most, rest.size())))
        ports_->put(burst.direction == Direction::west_to_east ? 0 : 1, frame);
      poll(burst.direction, true);
      poll_all();
    }
  }
  /// At one instant what is due leaves before a step of the scenario is taken. `draining`: a replay
  /// takes no step once all frames have left.
  void advance(Instant until, bool draining = false) {
    while (true) {
      const Schedule::Item* item = schedule_.next(zero_);
      const Instant work = forwarder_.next_work();
      if (item && *item->due(zero_) <= until && *item->due(zero_) < work) {
        if (draining && forwarder_.inside() == 0) return;
        test::test_time = *item->due(zero_);
        take_step(item->step);
        schedule_.pop(zero_);
      } else if (work <= until) {
        test::test_time = std::max(test::test_time, work);
      } else {
        return;
      }
      poll_all();
    }
  }
  void take_step(const config::ScenarioStep& step) {
    if (step.links) forwarder_.set_links(*step.links);
    if (step.edits.empty()) return;
    auto next = live_.stepped(step);
    ASSERT_TRUE(next) << next.error().message;
    PortForwarder::Configuration configuration(next->profile, names_, forwarder_.both());
    names_ = configuration.names();
    forwarder_.replace(configuration);
    live_.keep(std::move(*next));
  }

  test::RingPorts* ports_;
  Mode mode_;
  LiveProfile live_;
  test::Recorder ledger_;
  std::array<Recorder, 2> recorders_{Recorder(Direction::west_to_east, 64, 1 << 16),
                                     Recorder(Direction::east_to_west, 64, 1 << 16)};
  PortForwarder forwarder_;
  RuleNames names_;
  Schedule schedule_;
  Instant zero_;
  Outcome outcome_;
};

void add_ledger(Outcome& outcome, const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto end = binary_ledger::read(
      std::as_bytes(std::span(text)),
      [&](const emulator::LedgerRecord& record, const RuleNames&) { outcome.add_record(record); });
  EXPECT_TRUE(end && *end);
}

void add_frames(Outcome& outcome, const fs::path& file) {
  auto reader = capture::Reader::open(file);
  ASSERT_TRUE(reader) << reader.error().message;
  while (true) {
    const auto record = reader->next();
    if (!record || !*record) return;
    outcome.add_frame(kBoth[(*record)->interface], (*record)->stamp, (*record)->bytes);
  }
}

/// Each audit holds, of the configurations that the scenario ended and of the last one, by bounds
/// that a right run exceeds in one of 10^9 checks.
void expect_audits_hold(const ReplayRunner& runner) {
  Report report{.command = "", .profile = ""};
  runner.report(report);
  std::vector<EndedAudit> audits = report.ended_audits;
  EndedAudits last;
  std::array<const emulator::Pipeline*, 2> pipelines{};
  for (const Direction direction : kBoth)
    if (runner.forwarder().forwards(direction))
      pipelines[static_cast<std::size_t>(direction)] =
          &runner.forwarder().link(direction).pipeline();
  last.add({.at = {}, .zero = Instant{}, .first_frames = {}}, pipelines, {});
  audits.insert(audits.end(), last.audits().begin(), last.audits().end());
  for (const EndedAudit& audit : audits)
    for (const emulator::Check& check : audit.checks)
      EXPECT_TRUE(check.holds()) << audit.rule << ": " << check.what << " " << check.seen
                                 << ", asked " << check.asked << ", " << check.low << " to "
                                 << check.high << " of " << check.frames << " frames";
}

Outcome replay(const Impairment& impairment) {
  // Files of their own, as a file that was read is never an output of the same process.
  static int number = 0;
  const fs::path out = folder() / fmt::format("{}.pcapng", ++number);
  const fs::path ledger_file = folder() / fmt::format("{}.lwl", number);
  const LiveProfile::Version version = version_of(impairment);
  Outcome outcome;
  auto ledger =
      LedgerFile::create(ledger_file, LedgerFormat::binary, rule_names_of(version.profile), 0);
  auto writer = capture::Writer::create(out, capture::Format::pcapng, {{}, {}});
  if (!ledger || !writer) throw std::runtime_error("no files in " + folder().string());
  std::vector<DirectionReport> directions;
  {
    ReplayRunner runner(version, link_of(impairment, version),
                        std::span(kBoth).first(impairment.both ? 2 : 1), ledger->get(), nullptr,
                        std::move(*writer));
    for (const Burst& burst : impairment.bursts)
      for (const auto& frame : burst.frames) {
        const auto length = static_cast<std::uint32_t>(frame.size());
        const capture::Record record{.bytes = frame,
                                     .wire_length = length,
                                     .stamp = burst.at,
                                     .interface = static_cast<std::uint32_t>(burst.direction)};
        const auto replayed = runner.replay({record, roce::LinkType::ethernet, burst.direction});
        EXPECT_TRUE(replayed) << replayed.error().message;
      }
    EXPECT_TRUE(runner.finish());
    directions = runner.forwarder().report(false);
    expect_audits_hold(runner);
  }
  EXPECT_TRUE((*ledger)->close());
  add_ledger(outcome, ledger_file);
  add_frames(outcome, out);
  fs::remove(out);
  fs::remove(ledger_file);
  outcome.finish(std::move(directions));
  return outcome;
}

/// The first lines that differ, of long ones the part around the difference.
std::string first_difference(const Outcome& one, const Outcome& other) {
  const auto [a, b] = std::ranges::mismatch(one.lines, other.lines);
  const std::string first = a == one.lines.end() ? "(end)" : *a;
  const std::string second = b == other.lines.end() ? "(end)" : *b;
  const auto at = std::ranges::mismatch(first, second).in1 - first.begin();
  const std::size_t begin = at > 300 ? static_cast<std::size_t>(at) - 300 : 0;
  return fmt::format("  {}\n  {}", first.substr(std::min(begin, first.size()), 400),
                     second.substr(std::min(begin, second.size()), 400));
}

/// The stages that no frame met, of a set of those that frames met.
std::string unmet(std::uint32_t acted) {
  std::string names;
  emulator::Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(emulator::Hook::number)) {
      if ((acted >> static_cast<unsigned>(S::kNumber) & 1U) == 0)
        names += fmt::format("{} ", name_of(S::kNumber));
    }
  });
  return names;
}

/// Draws on which the ways once disagreed: held frames whose deadlines do not rise; two queues that
/// request a pause in one burst; a class whose dynamic threshold falls within a burst.
constexpr std::uint64_t kOnceFailed[] = {1626233013, 1138825356, 3109158922};

TEST(ForwarderProperty, BatchesSinglesRecordedRunsAndReplaysAgree) {
  const std::uint64_t seed = from_environment("LONGWIRE_SEED", std::random_device{}());
  const std::uint64_t profiles = from_environment("LONGWIRE_PROFILE_COUNT", 300);
  fmt::print("LONGWIRE_SEED={} LONGWIRE_PROFILE_COUNT={}\n", seed, profiles);
  const std::vector<nic::PortSpec> specs = {*nic::parse_port_spec(test::RingPorts::name(0)),
                                            *nic::parse_port_spec(test::RingPorts::name(1))};
  auto eal = nic::Eal::start({.ports = specs, .cores = {}});
  ASSERT_TRUE(eal) << eal.error().message;
  ASSERT_TRUE(MbufAccess::register_transit());
  auto arena = nic::FrameArena::create("arena", 1, false);
  ASSERT_TRUE(arena) << arena.error().message;
  test::RingPorts ports(*eal, {0, 1});
  std::uint64_t stored = 0;
  test::write_profile_files(folder());
  std::uint32_t acted = 0, fates = 0;
  // Once in some hundred seeds 300 profiles are too few for the rarest stage.
  const std::uint64_t most = profiles < 300 ? profiles : 4 * profiles;
  for (std::uint64_t i = 0; i < profiles || (i < most && !unmet(acted).empty()); ++i) {
    const std::uint64_t drawn =
        i < std::size(kOnceFailed) && profiles > 1 ? kOnceFailed[i] : seed + i;
    test::Draw draw(drawn);
    const Impairment impairment = test::draw_impairment(draw, folder());
    const Outcome replayed = replay(impairment);
    for (const auto& [mode, name] :
         {std::pair(Mode::batched, "batched"), std::pair(Mode::one_by_one, "one by one"),
          std::pair(Mode::recorded, "recorded"), std::pair(Mode::stored, "stored")}) {
      const Outcome ran = PortRun(ports, impairment, mode, *arena).run(impairment.bursts);
      stored += ran.stored;
      ASSERT_EQ(ran.lines == replayed.lines, true)
          << "profile " << i << " (LONGWIRE_SEED=" << drawn << " LONGWIRE_PROFILE_COUNT=1), "
          << name << " run, then replay:\n"
          << first_difference(ran, replayed) << "\n"
          << impairment.profile;
    }
    acted |= replayed.acted;
    fates |= replayed.fates;
    ASSERT_EQ(arena->frames(), 0U);
    if (HasFailure()) FAIL() << "profile " << i << ", LONGWIRE_SEED=" << drawn;
  }
  fs::remove_all(folder());
  if (profiles < 300) return;
  EXPECT_GT(stored, 1000U);
  // A stage that no profile brings about is not covered: see random_impairment.cpp.
  EXPECT_EQ(unmet(acted), "") << "stages that no frame met";
  for (const auto disposition : {emulator::Disposition::passed, emulator::Disposition::delayed,
                                 emulator::Disposition::dropped, emulator::Disposition::no_room,
                                 emulator::Disposition::link_down, emulator::Disposition::consumed})
    EXPECT_TRUE(fates >> static_cast<unsigned>(disposition) & 1U)
        << "no frame was " << name_of(disposition);
}

}  // namespace
}  // namespace lw::impair
